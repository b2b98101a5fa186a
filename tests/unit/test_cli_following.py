"""`umi changes`, and `umi recall --also`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from test_cli import BAD_INPUT, NOTHING, UMI, Umi, heed_interrupts


@pytest.fixture
def cli(tmp_path: Path) -> Umi:
    one = Umi(tmp_path)
    one.say("Alice: My dentist appointment is on Tuesday.", "Alice: I like chess.")
    one("remember", "The release of the billing service is on Friday.", "--namespace", "team")
    return one


def test_a_recall_asks_other_namespaces_too_and_says_where_a_hit_is_from(cli: Umi) -> None:
    query = "When is the release of the billing service?"
    shown = cli("recall", query, "--also", "team", "--min-score", "0")
    assert "Friday" in shown
    assert "in team" in shown
    assert "in default" in shown
    found = cli.data("recall", query, "--also", "team", "--also", "nobody")
    assert found["hits"][0]["namespace"] == "team"
    assert {hit["namespace"] for hit in found["hits"]} <= {"team", "default"}
    assert "in default" not in cli("recall", "dentist appointment")
    assert "1..16" in cli("recall", query, *(f"--also=n{n}" for n in range(16)), code=BAD_INPUT)


def test_changes_are_told(cli: Umi) -> None:
    found = cli.data("changes")
    assert [one["kind"] for one in found] == ["remembered", "read"] * 2
    first, last = found[0], found[-1]
    assert first["id"] in cli("changes")
    after = str(found[1]["sequence"])
    assert cli.data("changes", "--after", after) == found[2:]
    assert "no change after" in cli("changes", "--after", str(last["sequence"]), code=NOTHING)
    assert "after" in cli("changes", "--after", "-1", code=BAD_INPUT)
    assert [one["kind"] for one in cli.data("changes", "--namespace", "team")] == ["remembered", "read"]


def test_what_is_left_for_later_is_read_by_who_works(cli: Umi) -> None:
    assert "it waits to be finished" in cli("remember", "I work at Acme.", "--speaker", "Bob", "--later")
    assert "employer" not in cli("facts", "Bob", code=NOTHING)
    assert "1 finished, 0 waiting" in cli("work", "--idle", "0")
    assert "Acme" in cli("facts", "Bob")
    assert cli.data("work", "--idle", "0")["completed"] == 0
    assert "--llm" in cli("reread", code=BAD_INPUT)


def test_following_prints_one_object_a_line_until_it_is_stopped(cli: Umi) -> None:
    seen = cli.data("changes")
    command = [*UMI, "changes", "--after", str(seen[0]["sequence"]), "--follow", "--json"]
    environment = {**os.environ, "UMI_DB": str(cli.db)}
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
        preexec_fn=heed_interrupts,  # noqa: PLW1509 - one thread
    ) as running:
        assert running.stdout is not None
        later = [one for one in seen if one["sequence"] > seen[0]["sequence"]]
        lines = [json.loads(running.stdout.readline()) for _ in later]
        assert lines == later
        cli("remember", "I moved to Porto.", "--speaker", "Alice")
        new = json.loads(running.stdout.readline())
        assert new["kind"] == "remembered"
        assert new["sequence"] > seen[-1]["sequence"]
        running.send_signal(signal.SIGINT)
        rest = running.stdout.read().splitlines()
        assert json.loads(rest[-1])["data"]["error"] == "Interrupted"
    assert running.returncode == 130
