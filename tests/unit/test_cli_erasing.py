"""`umi forget`, `umi erase` and `umi doctor --verify-erasure` on real files."""

from __future__ import annotations

import asyncio
import errno
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import umi
from umi.errors import InvalidInput
from umi.faces.cli import erasing
from umi.faces.cli.filters import where_of
from umi.faces.cli.main import app
from umi.sim import SimClock, SimEmbedder
from umi.sim.rng import DeterministicRng

OK, NOTHING, BAD_INPUT, STORE_TROUBLE, INCOMPLETE = 0, 1, 2, 3, 4


class Umi:
    """The command in one folder, words only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self("remember", "Anneliese has two cats. Bea has a dog.", "--at", "2026-01-01")
        self("remember", "Anneliese has a cold.", "--speaker", "Ben", "--at", "2026-01-02")

    def __call__(self, *arguments: str, code: int = OK, answer: str | None = None) -> str:
        """Run a command; what it wrote, on one line."""
        env = {"UMI_DB": str(self.folder / "umi.db"), "UMI_EMBEDDER": "none", "COLUMNS": "160"}
        done = CliRunner().invoke(app, list(arguments), input=answer, env=env)
        assert done.exit_code == code, (done.output, done.exception)
        return " ".join(done.output.split())

    def data(self, *arguments: str, code: int = OK) -> Any:
        """As called with --json: the envelope's data."""
        return json.loads(self(*arguments, "--json", code=code))["data"]


@pytest.fixture
def cli(tmp_path: Path) -> Umi:
    return Umi(tmp_path)


def _ids(cli: Umi) -> dict[str, str]:
    return {item["entity"]["content"]: item["entity"]["id"] for item in cli.data("list")["items"]}


def test_forget_by_id(cli: Umi) -> None:
    id_ = _ids(cli)["Anneliese has a cold."]
    assert "forgotten" in cli("forget", id_, "--yes")
    assert "Anneliese has a cold." not in _ids(cli)
    assert "not in namespace" in cli("forget", id_, "--yes", code=NOTHING)
    assert cli.data("forget", _ids(cli)["Bea has a dog."], "--yes") == {"forgotten": True}


@pytest.mark.parametrize(
    ("like", "asked", "count"),
    [
        (["--where", "speaker=Ben"], "everything with speaker=Ben", 1),
        (["--where", "metadata.n=1"], "everything with metadata.n=1", 1),
        (["--where", "metadata.n=1", "--where", "metadata.kind=note"], "metadata.n=1, metadata.kind=note", 1),
        (["--where", '{"metadata": {"n": 1}}', "--where", "metadata.kind=letter"], "", 0),
        (["--where", 'metadata.n="1"'], "", 0),
        (["--type", "preference"], "everything with type preference", 0),
        (["--where", "speaker=Bea"], "", 0),
    ],
)
def test_forget_what_is_like_something(
    cli: Umi, monkeypatch: pytest.MonkeyPatch, like: list[str], asked: str, count: int
) -> None:
    monkeypatch.setattr(erasing, "_somebody_is_there", lambda: True)
    cli("remember", "Tea is at four.", "--metadata", '{"n": 1, "kind": "note"}')
    before = len(cli.data("list")["items"])
    shown = cli("forget", *like, answer="y\n", code=OK if count else NOTHING)
    assert asked in shown
    assert (f"forgotten: {count}" in shown) == bool(count)
    assert len(cli.data("list")["items"]) == before - count


@pytest.mark.parametrize("command", [["forget"], ["erase"]])
def test_a_filter_that_cannot_be_read_deletes_nothing_and_asks_nobody(cli: Umi, command: list[str]) -> None:
    before = _ids(cli)
    assert "must be NAME=VALUE" in cli(*command, "--where", "nonsense", code=BAD_INPUT)
    assert "must be NAME=VALUE" in cli(*command, "--where", "nonsense", "--yes", code=BAD_INPUT)
    assert _ids(cli) == before


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["session=s", "metadata.n=1"], {"session": "s", "metadata": {"n": 1}}),
        (
            ["metadata.a=true", 'metadata.b="1"', "metadata.c=x y", "metadata.d=null"],
            {"metadata": {"a": True, "b": "1", "c": "x y", "d": "null"}},
        ),
        (["metadata.n=1", '{"metadata": {"m": {"gt": 2}}}'], {"metadata": {"n": 1, "m": {"gt": 2}}}),
        (["metadata.n=" + "[" * 100_000], {"metadata": {"n": "[" * 100_000}}),
        ([], None),
    ],
)
def test_filters_are_read(given: list[str], read: object) -> None:
    assert where_of(given) == read


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["metadata.n=1", "metadata.n=2"], "names n twice"),
        (["session=a", "session=b"], "names session twice"),
        (["metadata=5", "metadata.n=1"], "names metadata twice"),
        (["metadata.n=1", '{"metadata": 5}'], "names metadata twice"),
        (['{"session": "a"'], "is no JSON object"),
        (['{"a":' * 20_000 + "1" + "}" * 20_000], "is no JSON object"),
        (["=x"], "must be NAME=VALUE"),
    ],
)
def test_filters_that_cannot_be_read_are_refused(given: list[str], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        where_of(given)


async def _with_another_embedder(path: Path) -> None:
    async with umi.Memory.open(str(path), embedder=SimEmbedder(SimClock(), DeterministicRng(1))) as memory:
        await memory.remember("Anneliese has two cats.")


def test_a_file_of_another_embedder_is_erased_from_without_it(tmp_path: Path) -> None:
    path = tmp_path / "umi.db"
    asyncio.run(_with_another_embedder(path))
    words = ["--db", str(path), "--json"]
    env = {"UMI_EMBEDDER": "", "COLUMNS": "160"}
    done = CliRunner().invoke(app, ["erase", "Anneliese", "--yes", *words], env=env)
    assert (done.exit_code, len(json.loads(done.output)["data"]["deleted"])) == (OK, 1)
    refused = CliRunner().invoke(app, ["stats", *words], env=env | {"UMI_EMBEDDER": "local"})
    assert refused.exit_code == STORE_TROUBLE, refused.output
    assert "umi reembed" in refused.output


def test_nobody_to_ask_is_no_yes(cli: Umi) -> None:
    before = _ids(cli)
    assert "add --yes" in cli("forget", before["Bea has a dog."], code=BAD_INPUT)
    shown = cli("erase", "Anneliese", code=BAD_INPUT)
    assert "goes 1 messages" in shown
    assert "is cut 1 messages" in shown
    assert "Anneliese has a cold." in shown
    assert _ids(cli) == before


@pytest.mark.parametrize(("answer", "code", "left"), [("n\n", BAD_INPUT, 3), ("y\n", OK, 1)])
def test_a_person_is_asked(cli: Umi, monkeypatch: pytest.MonkeyPatch, answer: str, code: int, left: int) -> None:
    monkeypatch.setattr(erasing, "_somebody_is_there", lambda: True)
    output = cli("erase", "Anneliese", answer=answer, code=code)
    assert "Erase all about Anneliese?" in output
    assert ("not confirmed" in output) == (code == BAD_INPUT)
    assert len(_ids(cli)) == left


def test_nothing_is_erased_where_its_receipt_cannot_be_written(cli: Umi, monkeypatch: pytest.MonkeyPatch) -> None:
    before, missing = _ids(cli), cli.folder / "nowhere" / "receipt.json"
    shown = cli("erase", "Anneliese", "--yes", "--receipt", str(missing), code=BAD_INPUT)
    assert "cannot be written, so nothing was erased" in shown
    assert "nothing was erased" in cli("erase-namespace", "default", "--yes", "--receipt", str(missing), code=BAD_INPUT)
    file = cli.folder / "receipt.json"
    monkeypatch.setattr(erasing, "_somebody_is_there", lambda: True)
    cli("erase", "Anneliese", "--receipt", str(file), answer="n\n", code=BAD_INPUT)
    cli("erase", "Nobody", "--yes", "--receipt", str(file), code=NOTHING)
    assert not file.exists()
    assert _ids(cli) == before


def test_a_receipt_that_cannot_be_written_afterwards_is_shown(cli: Umi, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    shown = cli("erase", "Anneliese", "--yes", "--receipt", str(cli.folder / "receipt.json"), code=INCOMPLETE)
    assert "it is erased" in shown
    assert '"deleted"' in shown.replace("\n", "")
    assert list(_ids(cli)) == ["Bea has a dog."]


def test_a_receipt_is_written_and_verified(cli: Umi) -> None:
    file = cli.folder / "receipt.json"
    output = cli("erase", "Anneliese", "--yes", "--receipt", str(file))
    assert "1 messages erased, 1 cut" in output
    assert f"--verify-erasure {file}" in output
    assert "anneliese" not in file.read_text("utf-8").lower()
    assert list(_ids(cli)) == ["Bea has a dog."]
    assert "no byte of it is left" in cli("doctor", "--verify-erasure", str(file))
    assert "is there already" in cli("erase", "Bea", "--yes", "--receipt", str(file), code=BAD_INPUT)

    cli("remember", "Anneliese is back.")
    assert "1 newer messages name the subject" in cli("doctor", "--verify-erasure", str(file))
    old = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps(old | {"at": "2100-01-01T00:00:00+00:00"}), "utf-8")
    assert "still said in" in cli("doctor", "--verify-erasure", str(file), code=STORE_TROUBLE)


def test_the_json_answer_is_a_receipt_too(cli: Umi) -> None:
    file = cli.folder / "answer.json"
    file.write_text(cli("erase", "Anneliese", "--derived", "erase", "--json", "--yes"), "utf-8")
    assert "no byte of it is left" in cli("doctor", "--verify-erasure", str(file))


def test_an_answer_in_json_does_not_say_yes(cli: Umi) -> None:
    before = _ids(cli)
    for command in (["erase", "Anneliese"], ["erase-namespace", "default"], ["forget", before["Bea has a dog."]]):
        assert "add --yes" in cli(*command, "--json", code=BAD_INPUT)
    assert _ids(cli) == before


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"proof": {"salt": "xy", "names": [], "words": []}}'])
def test_what_is_no_receipt_is_said_to_be_none(cli: Umi, text: str) -> None:
    file = cli.folder / "receipt.json"
    file.write_text(text, "utf-8")
    assert "no receipt" in cli("doctor", "--verify-erasure", str(file), code=STORE_TROUBLE)
    assert "cannot be read" in cli("doctor", "--verify-erasure", str(cli.folder / "none"), code=STORE_TROUBLE)


# Sessions and namespaces.


@pytest.fixture
def sessions(cli: Umi) -> Umi:
    cli("remember", "Bea met a quokka.", "--session", "monday", "--speaker", "Ben")
    cli("remember", "Bea met a gull.", "--session", "tuesday")
    cli("remember", "Carl lives in Graz.", "--namespace", "acme")
    return cli


def test_sessions_are_listed(sessions: Umi) -> None:
    shown = sessions("sessions")
    assert "monday" in shown
    assert "Ben" in shown
    first = sessions.data("sessions", "--limit", "1")
    assert ([one["name"] for one in first["items"]], first["next"]) == (["monday"], "monday")
    assert "more: --after monday" in sessions("sessions", "--limit", "1")
    assert [one["name"] for one in sessions.data("sessions", "--after", "monday")["items"]] == ["tuesday"]
    assert "no session" in sessions("sessions", "--namespace", "acme", code=NOTHING)


def test_a_session_is_erased_and_verified(sessions: Umi) -> None:
    file = sessions.folder / "monday.json"
    assert "1 messages erased" in sessions("erase", "--session", "monday", "--yes", "--receipt", str(file))
    assert "quokka" not in " ".join(_ids(sessions))
    verified = sessions("doctor", "--verify-erasure", str(file))
    assert "no byte of it is left: no trace of" in verified
    assert "runs of words" in verified
    assert "there is no session" in sessions("erase", "--session", "monday", "--yes", code=NOTHING)
    assert "got none" in sessions("erase", "--yes", code=BAD_INPUT)
    assert "subject and session" in sessions("erase", "Bea", "--session", "tuesday", "--yes", code=BAD_INPUT)


def test_a_misspelled_name_is_no_success(cli: Umi) -> None:
    before, file = _ids(cli), cli.folder / "receipt.json"
    for more in (["--yes"], ["--json"], []):
        shown = cli("erase", "Annelise", "--receipt", str(file), *more, code=NOTHING)
        assert "nothing was erased" in shown
    assert not file.exists(), "no receipt of what was not done"
    assert _ids(cli) == before
    assert "no namespace" in cli("erase-namespace", "acmee", "--yes", code=NOTHING)


@pytest.mark.parametrize(("answer", "code", "left"), [("default\n", BAD_INPUT, 1), ("acme\n", OK, 0)])
def test_a_namespace_goes_when_its_name_is_typed(
    sessions: Umi, monkeypatch: pytest.MonkeyPatch, answer: str, code: int, left: int
) -> None:
    assert "add --yes" in sessions("erase-namespace", "acme", code=BAD_INPUT)
    monkeypatch.setattr(erasing, "_somebody_is_there", lambda: True)
    file = sessions.folder / "acme.json"
    shown = sessions("erase-namespace", "acme", "--receipt", str(file), answer=answer, code=code)
    assert "goes 1 messages" in shown
    assert "Carl lives in Graz." in shown
    assert ("not confirmed" in shown) == (code == BAD_INPUT)
    assert len(_ids(sessions)) == 5, "the namespace that --namespace or UMI_NAMESPACE names is another"
    names = [info["name"] for info in sessions.data("stats")["namespaces"]]
    assert names == ["acme", "default"][1 - left :]
    assert file.exists() == (code == OK)
    if code == OK:
        assert "graz" not in file.read_text("utf-8").lower()
        assert "no byte of it is left" in sessions("doctor", "--verify-erasure", str(file))


def test_a_preview_names_what_would_stay(cli: Umi) -> None:
    cli("remember", "Anneliese Meier has a boat.")
    cli("remember", "Meier was here.")
    shown = cli("erase", "Anneliese Meier", code=BAD_INPUT)
    assert "stays 3 messages with a part of the name" in shown
    assert "Meier was here." in shown


def test_what_was_taken_back_stays_so_and_says_why_once_the_other_is_forgotten(cli: Umi) -> None:
    older = cli.data("set-fact", "api", "database", "Oracle", "--at", "2026-01-01")["entities"][0]["id"]
    taken = cli.data("set-fact", "api", "database", "Redis", "--at", "2026-02-01")["evolutions"][0]["id"]
    cli("undo", taken)
    cli("forget", older, "--yes")
    shown = cli("history", "api")
    assert "superseded" in shown
    assert "contradicts what was forgotten" in shown
    cli("facts", "api", code=NOTHING)
