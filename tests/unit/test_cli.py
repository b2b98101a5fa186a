"""The command line on real files: what it prints, what it answers with --json, and its exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from umi.faces.cli.main import app
from umi.limits import TEXT_BYTES_MAX

OK, NOTHING, BAD_INPUT, STORE_TROUBLE, INCOMPLETE = 0, 1, 2, 3, 4
UMI = [sys.executable, "-m", "umi"]
CONFLICT = ["Alice: I love hiking.", "Alice: I hate hiking."]


class Umi:
    """The command in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.db = folder / "umi.db"

    def __call__(self, *arguments: str, code: int = OK, stdin: str | bytes | None = None) -> str:
        """Run a command on this folder's file; what it wrote to stdout and stderr together."""
        done = CliRunner().invoke(app, list(arguments), input=stdin, env={"UMI_DB": str(self.db), "COLUMNS": "100"})
        assert done.exit_code == code, (done.output, done.exception)
        return done.output

    def data(self, *arguments: str, code: int = OK, status: str = "ok", **more: Any) -> Any:
        """Run a command with --json; the envelope's data."""
        envelope = json.loads(self(*arguments, "--json", code=code, **more))
        assert sorted(envelope) == ["data", "status", "took_ms"]
        assert envelope["status"] == status
        assert envelope["took_ms"] > 0
        return envelope["data"]

    def say(self, *lines: str) -> None:
        for line in lines:
            speaker, _, text = line.partition(": ")
            self("remember", text, "--speaker", speaker)


@pytest.fixture
def umi(tmp_path: Path) -> Umi:
    return Umi(tmp_path)


def run(*arguments: str, cwd: Path, **more: Any) -> subprocess.CompletedProcess[Any]:
    """The command as a process of its own."""
    return subprocess.run([*UMI, *arguments], cwd=cwd, capture_output=True, check=False, **more)


class TestRememberAndRecall:
    def test_a_job_change_is_shown_and_recalled(self, umi: Umi) -> None:
        umi("remember", "Alice works at Acme.", "--at", "2026-01-10")
        shown = umi("remember", "Alice left Acme and joined StartupX.", "--at", "2026-04-10T09:00:00Z")
        assert "replaces" in shown
        assert "Alice works at Acme." in shown
        now = umi("recall", "Where does Alice work?")
        assert "StartupX" in now
        assert "works at Acme" not in now
        assert "Alice works at Acme." in umi("recall", "Where does Alice work?", "--as-of", "2026-03-15")
        both = umi.data("recall", "Where does Alice work?", "--include-superseded")
        assert {hit["state"] for hit in both["hits"]} >= {"current", "superseded"}

    def test_nothing_relevant_is_an_honest_no_with_its_own_exit_code(self, umi: Umi) -> None:
        umi.say("Alice: I live in Berlin.")
        assert "I don't know" in umi("recall", "quantum chromodynamics lattice regularisation", code=NOTHING)
        data = umi.data("recall", "quantum chromodynamics lattice regularisation", code=NOTHING, status="empty")
        assert (data["hits"], data["abstained"]) == ([], True)

    def test_text_from_standard_input(self, umi: Umi) -> None:
        umi("remember", "-", stdin="Der Zug fährt um neun.\nGleis 4.\n")
        assert umi.data("recall", "Zug Gleis", "--min-score", "0")["hits"][0]["content"].startswith("Der Zug")

    @pytest.mark.parametrize(
        ("raw", "says"),
        [(b"a\xffb", "UTF-8"), (b"x" * (TEXT_BYTES_MAX + 1), "umi import"), (b" \n", "blank"), (b"", "blank")],
    )
    def test_bad_standard_input(self, umi: Umi, raw: bytes, says: str) -> None:
        assert says in umi("remember", "-", stdin=raw, code=BAD_INPUT)
        assert umi.data("list", code=OK)["items"] == []

    def test_the_same_key_stores_nothing_and_another_text_is_refused(self, umi: Umi) -> None:
        assert umi.data("remember", "One.", "--key", "k")["replayed"] is False
        assert umi.data("remember", "One.", "--key", "k")["replayed"] is True
        assert "known already" in umi("remember", "One.", "--key", "k")
        assert "k" in umi("remember", "Two.", "--key", "k", code=BAD_INPUT)

    def test_metadata_and_context(self, umi: Umi) -> None:
        data = umi.data("remember", "Tea at four.", "--metadata", '{"source": "diary"}', "--at", "2026-05-01")
        assert umi.data("show", data["episode_ids"][0])["metadata"] == {"source": "diary"}
        assert umi("recall", "tea", "--min-score", "0", "--context").startswith("- 2026-05-01 ")
        for bad in ("[1]", "{"):
            assert "--metadata" in umi("remember", "x", "--metadata", bad, code=BAD_INPUT)

    def test_set_facts_and_show_them(self, umi: Umi) -> None:
        umi("set-fact", "api", "database", "SQLite", "--at", "2026-01-05", "--reason", "one file")
        assert "PostgreSQL" in umi("set-fact", "api", "database", "PostgreSQL", "--at", "2026-03-05")
        assert "known already" in umi("set-fact", "api", "database", "PostgreSQL")
        assert "PostgreSQL" in (shown := umi("facts", "api"))
        assert "SQLite" not in shown
        umi("set-fact", "api", "language", "Python", "--reason", "everybody knows it")
        assert "everybody knows it" in umi("facts", "api")
        assert "PostgreSQL" not in umi("facts", "api", "--attribute", "language")
        assert umi.data("facts", "api", "--attribute", "language")[0]["reason"] == "everybody knows it"
        past = umi("history", "api", "--attribute", "database")
        assert "set because one file" in past
        assert "Python" not in past
        assert "colour" in umi("facts", "api", "--attribute", "colour", code=NOTHING)
        (then,) = umi.data("facts", "api", "--as-of", "2026-02-01")
        assert (then["attribute"], then["value"], then["state"]) == ("database", "SQLite", "current")
        assert "umi list" in umi("facts", "nobody", code=NOTHING)
        assert "--at" in umi("set-fact", "api", "database", "x", "--at", "soon", code=BAD_INPUT)

    def test_a_namespace_is_a_wall(self, umi: Umi) -> None:
        umi("remember", "The code is 4711.", "--namespace", "a")
        umi("remember", "Nothing here.", "--namespace", "b")
        assert "4711" in umi("recall", "the code", "--namespace", "a", "--min-score", "0")
        assert "4711" not in umi("recall", "the code", "--namespace", "b", "--min-score", "0")


class TestScreen:
    def test_user_text_is_never_markup(self, umi: Umi) -> None:
        text = "[red]not red[/red] [/] :smile: [link=x]y[/link]"
        assert text in umi("remember", text)
        assert text in umi("recall", "red smile", "--min-score", "0")
        assert text in umi("list")
        entity = umi.data("list")["items"][0]["entity"]["id"]
        for command in ("show", "why", "history"):
            assert "[red]not red[/red]" in umi(command, entity)
        assert "[/bold]" in umi("history", "[/bold]", code=NOTHING)

    def test_control_characters_cannot_reach_the_terminal(self, umi: Umi) -> None:
        umi("remember", "before \x1b[2J\x1b]0;title\x07 \u202e after", "--speaker", "\x1b[31mEve")
        for command in (
            ["list"],
            ["recall", "before after", "--min-score", "0"],
            ["recall", "before", "--context", "--min-score", "0"],
        ):
            shown = umi(*command)
            assert "after" in shown
            assert not {"\x1b", "\x07", "\u202e"} & set(shown)

    def test_a_terminal_without_unicode_gets_question_marks(self, umi: Umi) -> None:
        umi("remember", "日本語 with English", "--key", "k")
        environment = os.environ | {"PYTHONIOENCODING": "latin-1", "UMI_DB": str(umi.db)}
        plain = run("list", cwd=umi.folder, env=environment)
        assert (plain.returncode, b"??? with English" in plain.stdout) == (0, True), plain
        as_json = run("list", "--json", cwd=umi.folder, env=environment)
        assert "日本語" in json.loads(as_json.stdout)["data"]["items"][0]["entity"]["content"]


class TestListAndShow:
    def test_pages_follow_one_another(self, umi: Umi) -> None:
        umi.say(*(f"Alice: Note number {number}." for number in range(5)))
        first = umi.data("list", "--limit", "3")
        second = umi.data("list", "--limit", "3", "--after", first["next"])
        contents = [item["entity"]["content"] for page in (first, second) for item in page["items"]]
        assert contents == [f"Note number {number}." for number in range(5)]
        assert second["next"] is None
        assert f"--after {first['next']}" in umi("list", "--limit", "3")

    def test_unknown_ids_and_subjects_are_nothing_found(self, umi: Umi) -> None:
        umi.say("Alice: I live in Berlin.")
        for command in ("show", "why", "history"):
            assert "nobody" in umi(command, "nobody", code=NOTHING)
        assert umi.data("show", "nobody", code=NOTHING, status="error")["error"] == "NotFound"


class TestChanging:
    def test_history_is_a_timeline_with_reasons(self, umi: Umi) -> None:
        umi("remember", "I live in Berlin.", "--speaker", "Alice", "--at", "2026-01-10")
        umi("remember", "I moved to Lisbon.", "--speaker", "Alice", "--at", "2026-05-10")
        shown = umi("history", "Alice")
        assert shown.index("2026-01-10") < shown.index("2026-05-10")
        assert "2026-01-10   2026-05-10" in shown
        assert "2026-05-10   now" in shown
        assert shown.count("because") == 1  # said once, below the one that it happened to
        assert "replaces" in shown
        assert "→" in shown

    def test_a_contradiction_is_disputed_until_resolved_and_undo_takes_it_back(self, umi: Umi) -> None:
        umi.say(*CONFLICT)
        steps = umi.data("history", "Alice")
        assert {step["state"] for step in steps if step["evolutions"]} == {"disputed"}
        (relation,) = {row["id"]: row for step in steps for row in step["evolutions"]}.values()
        assert relation["evolution_type"] == "contradict"
        assert "resolved" in umi("resolve", relation["id"], "--keep", "new")
        states = {step["entity"]["content"]: step["state"] for step in umi.data("history", "Alice")}
        assert states == {"I love hiking.": "superseded", "I hate hiking.": "current"}
        assert "undone" in umi("undo", relation["id"])
        assert {step["state"] for step in umi.data("history", "Alice")} == {"current"}

    def test_a_conclusion_goes_stale(self, umi: Umi) -> None:
        source = umi.data("remember", "Alice works at Acme.")["entities"][0]["id"]
        drawn = umi.data("remember", "Alice takes tram 9 in the morning.", "--derived-from", source)["entities"][0][
            "id"
        ]
        umi("remember", "Alice left Acme and joined StartupX.")
        assert "stale because" in umi("why", drawn)
        assert umi.data("why", drawn)["state"] == "stale"

    def test_relate_by_hand(self, umi: Umi) -> None:
        old = umi.data("remember", "The plan is A.")["entities"][0]["id"]
        new = umi.data("remember", "Plan B it is.")["entities"][0]["id"]
        assert "we changed our minds" in umi("relate", old, new, "update", "we changed our minds")
        assert umi.data("why", old)["state"] == "superseded"
        umi("relate", old, new, "guess", "x", code=BAD_INPUT)
        umi("relate", old, old, "update", "x", code=BAD_INPUT)
        umi("relate", old, "ent_none", "update", "x", code=NOTHING)


class TestTrouble:
    def test_reading_makes_no_file(self, umi: Umi) -> None:
        for command in (["recall", "x"], ["list"], ["stats"], ["history", "x"]):
            assert "umi remember" in umi(*command, code=STORE_TROUBLE)
        assert not umi.db.exists()

    def test_a_folder_and_a_text_file_are_no_memory(self, umi: Umi) -> None:
        umi.db.mkdir()
        assert "umi: " in umi("remember", "x", code=STORE_TROUBLE)
        text = umi.folder / "notes.db"
        text.write_text("These are notes and no database at all. " * 100)
        before = text.read_bytes()
        assert "umi: " in umi("remember", "x", "--db", str(text), code=STORE_TROUBLE)
        assert (
            umi.data("remember", "x", "--db", str(text), code=STORE_TROUBLE, status="error")["error"]
            == "StoreUnavailable"
        )
        assert text.read_bytes() == before

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["recall", "x", "--as-of", "yesterday"], "2026-03-15"),
            (["recall", "x", "--from", "2026-01-01"], "--to"),
            (["recall", "x", "--limit", "0"], "limit"),
            (["recall", ""], "query"),
            (["remember", "x", "--at", "2026-99-01"], "--at"),
            (["bench", "speed", "--sizes", "many"], "1k,10k"),
        ],
    )
    def test_bad_values_are_one_line_that_helps(self, umi: Umi, arguments: list[str], says: str) -> None:
        umi("remember", "Something.")
        shown = umi(*arguments, code=BAD_INPUT)
        assert shown.startswith("umi: ")
        assert says in shown
        assert "Traceback" not in shown

    def test_unknown_options_and_commands(self, umi: Umi) -> None:
        assert "No such option" in umi("recall", "x", "--colour", code=BAD_INPUT)
        assert "No such command" in umi("recal", "x", code=BAD_INPUT)

    def test_help_tells_the_exit_codes(self, umi: Umi) -> None:
        shown = " ".join(umi("--help").split())
        assert "1 nothing found" in shown
        assert "3 store trouble" in shown
        assert umi("--version").startswith("umi ")

    def test_errors_go_to_stderr_and_json_to_stdout(self, tmp_path: Path) -> None:
        shown = run("recall", "x", cwd=tmp_path)
        assert (shown.returncode, shown.stdout) == (STORE_TROUBLE, b"")
        assert shown.stderr.startswith(b"umi: ")
        as_json = run("recall", "x", "--json", cwd=tmp_path)
        assert (as_json.returncode, as_json.stderr) == (STORE_TROUBLE, b"")
        assert json.loads(as_json.stdout)["status"] == "error"

    def test_ctrl_c_while_it_starts_ends_it_without_a_word(self) -> None:
        pressed = (
            "import sys\n"
            "class Pressed:\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            "        if name == 'umi.memory': raise KeyboardInterrupt\n"
            "sys.meta_path.insert(0, Pressed())\n"
            "from umi.__main__ import main; main()"
        )
        done = subprocess.run([sys.executable, "-c", pressed, "stats"], capture_output=True, timeout=60, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


class TestImport:
    def test_text_twice_is_stored_once(self, umi: Umi) -> None:
        notes = umi.folder / "notes.txt"
        notes.write_text("Ana lives in Porto.\n\nAna has a boat called Dora.\n")
        (first,) = umi.data("import", str(notes))["namespaces"]
        assert (first["messages"], first["known_already"]) == (2, 0)
        (second,) = umi.data("import", str(notes))["namespaces"]
        assert (second["messages"], second["known_already"]) == (2, 2)
        assert umi.data("stats")["stats"]["episodes"] == 2
        assert "Porto" in umi("recall", "Where does Ana live?")

    def test_bad_records_are_listed_and_the_rest_is_kept(self, umi: Umi) -> None:
        chat = umi.folder / "chat.jsonl"
        chat.write_text('{"content": "good"}\n{oops\n{"content": ""}\n{"content": "fine", "id": "7"}\n')
        data = umi.data("import", str(chat), code=INCOMPLETE, status="incomplete")
        assert data["namespaces"][0]["messages"] == 2
        assert [one["line"] for one in data["rejected"]] == [2, 3]
        shown = umi("import", str(chat), code=INCOMPLETE)
        assert "2 records were left out" in shown
        assert "not JSON" in shown

    def test_an_id_with_other_content_is_left_out_alone(self, umi: Umi) -> None:
        chat = umi.folder / "chat.jsonl"
        chat.write_text('{"content": "one", "id": "1"}\n')
        umi("import", str(chat))
        chat.write_text(
            '{"content": "zero", "id": "0"}\n{"content": "ONE", "id": "1"}\n{"content": "two", "id": "2"}\n'
        )
        data = umi.data("import", str(chat), code=INCOMPLETE, status="incomplete")
        assert [one["line"] for one in data["rejected"]] == [2]
        assert data["namespaces"][0]["messages"] == 2
        assert umi.data("stats")["stats"]["episodes"] == 3

    def test_locomo_has_a_namespace_per_conversation(self, umi: Umi) -> None:
        turn = {"speaker": "Ann", "dia_id": "D1:1", "text": "My sister plays the cello."}
        talk = {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": [turn]}
        file = umi.folder / "locomo.json"
        file.write_text(json.dumps([{"sample_id": f"conv-{n}", "conversation": talk} for n in (1, 2)]))
        data = umi.data("import", str(file), "--prefix", "lo/")
        assert [one["namespace"] for one in data["namespaces"]] == ["lo/conv-1", "lo/conv-2"]
        (hit,) = umi.data("recall", "Who plays the cello?", "-n", "lo/conv-2", "--min-score", "0")["hits"]
        assert hit["message_ids"] == ["conv-2:D1:1"]
        assert hit["episode"]["at"].startswith("2023-05-08T13:56")
        umi("import", str(file), "--no-split", "-n", "all")
        assert umi.data("stats", "-n", "all")["stats"]["episodes"] == 2

    def test_a_time_zone_and_times_of_the_line(self, umi: Umi) -> None:
        chat = umi.folder / "chat.jsonl"
        chat.write_text('{"content": "hello", "at": "2026-03-01T10:00:00", "speaker": "Bo"}\n')
        umi("import", str(chat), "--timezone", "+09:00")
        (hit,) = umi.data("recall", "hello", "--min-score", "0")["hits"]
        assert hit["episode"]["at"].startswith("2026-03-01T01:00")
        assert "Europe/Berlin" in umi("import", str(chat), "--timezone", "Mars/Olympus", code=BAD_INPUT)

    def test_missing_and_unknown_files(self, umi: Umi) -> None:
        umi("import", str(umi.folder / "none.txt"), code=BAD_INPUT)
        umi("import", str(umi.folder), code=BAD_INPUT)
        other = umi.folder / "other.json"
        other.write_text('[{"a": 1}]')
        assert "JSON object per line" in umi("import", str(other), code=BAD_INPUT)

    def test_a_killed_import_is_resumed_by_running_it_again(self, umi: Umi) -> None:
        chat = umi.folder / "chat.jsonl"
        count = 700
        with chat.open("w") as file:
            for number in range(count):
                said = f"Remark {number} about the {number % 97} ferries in the harbour and their timetables."
                file.write(json.dumps({"content": said, "id": str(number)}) + "\n")
        command = [*UMI, "import", str(chat), "--db", str(umi.db)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None and not self._stored(umi):
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        stored = self._stored(umi)
        assert 0 < stored < count, "killed too early or too late to show anything"
        (after,) = umi.data("import", str(chat))["namespaces"]
        assert after["messages"] == count
        assert after["known_already"] >= stored
        assert umi.data("maintain")["waiting"] == []
        stats = umi.data("stats")["stats"]
        assert (stats["episodes"], stats["waiting"], stats["vectors"]) == (count, 0, count)

    @pytest.mark.parametrize("more", [[], ["--json"]])
    def test_an_answer_that_nobody_reads_is_not_nothing_found(self, umi: Umi, more: list[str]) -> None:
        umi.say("Alice: I live in Berlin.")
        command = [*UMI, "list", "--db", str(umi.db), *more]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.close()
            assert process.stderr.read() == ""
            assert process.wait(60) == 130

    def test_an_interrupted_import_says_how_to_go_on(self, umi: Umi) -> None:
        chat = umi.folder / "chat.jsonl"
        chat.write_text(
            "".join(f'{{"content": "Remark {n} about the harbour and the ferries."}}\n' for n in range(4_000))
        )
        command = [*UMI, "import", str(chat), "--db", str(umi.db)]
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=heed_interrupts,  # noqa: PLW1509 - one thread
        )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None and not self._stored(umi):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        shown, error = process.communicate(timeout=60)
        assert (process.returncode, shown) == (130, "")
        assert "Run the same command again" in error
        assert "Traceback" not in error
        assert umi.data("doctor")["ok"] is True

    @staticmethod
    def _stored(umi: Umi) -> int:
        if not umi.db.exists():
            return 0
        done = CliRunner().invoke(app, ["stats", "--json", "--db", str(umi.db)])
        return json.loads(done.output)["data"]["stats"]["episodes"] if done.exit_code == OK else 0

    def test_no_progress_bar_with_json(self, umi: Umi) -> None:
        notes = umi.folder / "notes.txt"
        notes.write_text("One.\n\nTwo.\n")
        done = run("import", str(notes), "--json", cwd=umi.folder)
        assert (done.returncode, done.stderr) == (0, b"")
        json.loads(done.stdout)


def heed_interrupts() -> None:
    """A run in the background hands down that SIGINT is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class TestUpkeep:
    def test_stats_count_and_name_the_namespaces(self, umi: Umi) -> None:
        umi.say(*CONFLICT)
        umi("remember", "x y z", "-n", "other")
        data = umi.data("stats")
        assert data["stats"]["episodes"] == 2
        assert data["stats"]["evolutions"]["contradict"] == 1
        assert [one["name"] for one in data["namespaces"]] == ["default", "other"]
        assert "disputed" in umi("stats")

    def test_the_doctor_finds_a_healthy_memory_healthy(self, umi: Umi) -> None:
        assert umi.data("doctor")["ok"] is True
        umi.say("Alice: I live in Berlin.")
        findings = {one["what"]: one for one in umi.data("doctor")["findings"]}
        assert all(one["ok"] for one in findings.values())
        assert "384 dimensions" in findings["embedder"]["detail"]
        assert findings["integrity"]["ok"]

    def test_the_doctor_finds_a_broken_file_broken(self, umi: Umi) -> None:
        umi.db.write_bytes(b"no database " * 1000)
        data = umi.data("doctor", code=STORE_TROUBLE, status="error")
        assert [one["what"] for one in data["findings"] if not one["ok"]] == ["file"]

    def test_the_doctor_finds_a_damaged_page(self, umi: Umi) -> None:
        umi.say(*(f"Alice: Remark {number} about the harbour." for number in range(40)))
        raw = bytearray(umi.db.read_bytes())
        middle = len(raw) // 2 // 4096 * 4096
        raw[middle : middle + 4096] = b"\xff" * 4096
        umi.db.write_bytes(raw)
        assert umi.data("doctor", code=STORE_TROUBLE, status="error")["ok"] is False

    @pytest.mark.parametrize(
        ("words", "what", "told"),
        [
            (["--llm", "nonsense"], "model", "'nonsense' is not known"),
            (["--llm", "http://127.0.0.1:9/v1#m"], "model", "127.0.0.1:9"),
            (["--embedder", "nonsense"], "embedder", "'nonsense' is not known"),
        ],
    )
    def test_the_doctor_names_a_part_that_does_not_answer(
        self, umi: Umi, words: list[str], what: str, told: str
    ) -> None:
        umi("remember", "Tea is at four.", "--embedder", "none")
        more = [] if "--embedder" in words else ["--embedder", "none"]
        data = umi.data("doctor", *words, *more, code=STORE_TROUBLE, status="error")
        (wrong,) = [one for one in data["findings"] if not one["ok"]]
        assert (wrong["what"], told in wrong["detail"]) == (what, True)

    def test_maintain_with_nothing_to_do(self, umi: Umi) -> None:
        umi.say("Alice: I live in Berlin.")
        assert umi.data("maintain")["completed"] == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("command", [["list"], ["recall", "Where does Nora live?", "--json"], ["export", "-"]])
def test_an_answer_that_finds_no_room_is_no_bug(umi: Umi, command: list[str]) -> None:
    umi.say("Nora: I live in Graz.")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*UMI, *command], cwd=umi.folder, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, "bug" in done.stderr) == (STORE_TROUBLE, False)
    assert "No space left on device: make room and run it again" in " ".join(done.stderr.split())


def test_no_embedder_makes_no_vectors(umi: Umi) -> None:
    umi.say("Nora: I live in Graz.")
    told = umi("reembed", "--embedder", "none", code=BAD_INPUT)
    assert "vectors need an embedder: name one" in " ".join(told.split())
