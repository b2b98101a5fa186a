"""The command line on PostgreSQL: the same commands, a copy from a file and back, and no password in what it prints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest
from postgres_server import database
from test_cli import STORE_TROUBLE, Umi, run


@pytest.fixture
def umi(tmp_path: Path) -> Umi:
    return Umi(tmp_path)


@pytest.fixture
def url() -> Iterator[str]:
    with database() as address:
        yield address


def test_a_change_is_noticed_and_explained(umi: Umi, url: str) -> None:
    umi("remember", "I live in Berlin.", "--speaker", "Alice", "--db", url)
    umi("remember", "I moved to Lisbon.", "--speaker", "Alice", "--db", url)
    shown = umi("recall", "Where does Alice live?", "--db", url)
    assert "Lisbon" in shown
    assert "Berlin" not in shown
    assert "pg_dump" in umi("backup", "copy.db", "--db", url, code=STORE_TROUBLE)


def test_a_memory_goes_to_postgresql_and_back_as_the_same_bytes(umi: Umi, url: str) -> None:
    umi.say("Alice: I live in Berlin.", "Alice: I moved to Lisbon.")
    umi("remember", "I live in Rome.", "--speaker", "Bob", "--namespace", "bob")
    assert "3 messages" in umi("copy", str(umi.db), url)
    back = str(umi.folder / "back.db")
    assert umi.data("copy", url, back)["episodes"] == 3
    files = [run("export", "-", "--all", "--db", db, cwd=umi.folder).stdout for db in (str(umi.db), url, back)]
    assert files[0]
    assert files[0] == files[1] == files[2]
    assert "Lisbon" in umi("recall", "Where does Alice live?", "--db", back)


def test_a_copy_into_what_is_not_empty_is_refused(umi: Umi, url: str) -> None:
    umi.say("Alice: I live in Berlin.")
    umi("remember", "I live in Rome.", "--speaker", "Bob", "--db", url)
    assert "not empty" in umi("copy", str(umi.db), url, code=STORE_TROUBLE)
    assert "no memory at" in umi("copy", "nowhere.db", url, code=STORE_TROUBLE)


def test_no_password_is_printed(umi: Umi, url: str) -> None:
    parts = urlsplit(url)
    told = urlunsplit(parts._replace(netloc="postgres:hunter2@"))
    umi("remember", "I live in Rome.", "--speaker", "Bob", "--db", told)
    shown = umi("doctor", "--db", told)
    assert "every check passed" in shown
    assert "hunter2" not in shown
    gone = "postgresql://umi:hunter2@127.0.0.1:1/nowhere"
    assert "hunter2" not in umi("recall", "What?", "--db", gone, code=STORE_TROUBLE)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://umi:hunt#hunter2@127.0.0.1:1/nowhere",
        "postgresql://umi:hunt?hunter2@127.0.0.1:1/nowhere",
        "postgresql://umi:hunt@hunter2@127.0.0.1:1/nowhere",
        "postgresql://umi:hunt/hunter2@127.0.0.1:1/nowhere",
        "postgresql://umi:hunter2%zz@127.0.0.1:1/nowhere",
        "postgresql://umi:hunter2@[bad",
        "postgresql://umi@127.0.0.1:1/nowhere?passwor%64=hunter2",
        "postgresql://umi@127.0.0.1:1/nowhere?password=a#hunter2",
        "postgresql://umi@127.0.0.1:1/nowhere?oauth_client_secret=hunter2",
    ],
)
@pytest.mark.parametrize("command", ["stats", "doctor"])
def test_no_password_with_unusual_signs_is_printed(umi: Umi, command: str, address: str) -> None:
    assert "hunter2" not in umi(command, "--db", address, code=STORE_TROUBLE)


def test_the_rest_of_an_address_is_printed(umi: Umi) -> None:
    gone = "postgresql://127.0.0.1:1,127.0.0.1:2/nowhere?user=me@home"
    assert gone in umi("stats", "--db", gone, code=STORE_TROUBLE)
    wrong = umi("stats", "--db", "postgresql://127.0.0.1:1/nowhere?sslmod=none", code=STORE_TROUBLE)
    assert 'no address of PostgreSQL (invalid URI query parameter: "sslmod")' in wrong
