"""Every act of the page, in a real browser, on SQLite and on PostgreSQL: what it did is asked of the library."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import browsing
import live_server
import postgres_server
import pytest
from browsing import Watched
from playwright.sync_api import Browser, FilePayload

import umi

STORES = ("sqlite", "postgres")


@pytest.fixture(scope="module", params=[STORES[0], pytest.param(STORES[1], marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the module's memory."""
    if request.param == "sqlite":
        yield str(tmp_path_factory.mktemp("acts") / "umi.db")
        return
    with postgres_server.database() as url:
        yield url


@pytest.fixture(scope="module")
def live(store: str) -> Iterator[live_server.Live]:
    with live_server.running(store, "--learn", "--rate", "0") as live:
        yield live


@contextmanager
def library(store: str, space: str) -> Iterator[umi.blocking.Memory]:
    with umi.blocking.Memory.open(store, namespace=space, embedder=None) as memory:
        yield memory


def values(store: str, space: str, subject: str = "Alice") -> list[str]:
    with library(store, space) as memory:
        return sorted(fact.value for fact in memory.facts(subject))


def test_remember_keeps_the_words_and_shows_what_was_read(page: Watched, store: str) -> None:
    with library(store, "remember") as memory:
        memory.remember("I work at Acme.", speaker="Alice", at="2026-01-12T10:00Z")
    page.open("remember", "now", "Alice")
    page.role("button", "Remember").click()
    page.page.get_by_label("What was said").fill("I left Acme and joined StartupX.")
    page.page.get_by_label("Who says it").fill("Alice")
    page.page.get_by_label("Conversation").fill("lunch")
    page.page.get_by_role("dialog").get_by_role("button", name="Remember").click()
    page.sees("It is kept word for word")
    page.page.keyboard.press("Escape")
    page.sees("StartupX")
    with library(store, "remember") as memory:
        kept = memory.episodes(order="newest").items[0]
        assert (kept.content, kept.speaker, kept.session) == ("I left Acme and joined StartupX.", "Alice", "lunch")
    assert values(store, "remember") == ["StartupX"]


def test_a_fact_is_corrected_and_the_correction_taken_back(page: Watched, store: str) -> None:
    with library(store, "correct") as memory:
        memory.remember("I live in Berlin.", speaker="Alice", at="2026-01-12T10:00Z")
    page.open("correct", "now", "Alice")
    page.role("button", "Correct").click()
    page.page.get_by_label("What holds").fill("Lisbon")
    page.page.get_by_label("Why").fill("She told me")
    page.page.get_by_role("dialog").get_by_role("button", name="Correct").click()
    page.sees("Corrected. The older value stays in the history.")
    assert values(store, "correct") == ["Lisbon"]
    with library(store, "correct") as memory:
        assert [step.reason for step in memory.history("Alice")][-1] == "She told me"
    # The message about it offers the way back, and says first what that will bring back.
    page.page.get_by_role("status").get_by_role("button", name="Undo").click()
    dialog = page.page.get_by_role("dialog")
    dialog.get_by_text("I live in Berlin.").wait_for()
    dialog.get_by_text("holds").first.wait_for()
    assert values(store, "correct") == ["Lisbon"]
    dialog.get_by_role("button", name="Undo").click()
    page.sees("Taken back.")
    assert values(store, "correct") == ["Berlin"]


def test_an_undo_that_only_moves_the_end_of_a_statement_shows_its_new_time(page: Watched, store: str) -> None:
    with library(store, "moved") as memory:
        for month, place in enumerate(("I live in Berlin.", "I moved to Lisbon.", "I moved to Madrid."), 1):
            memory.remember(place, speaker="Alice", at=f"2026-0{month}-12T10:00Z")
        berlin = next(step.entity for step in memory.history("Alice") if step.entity.value == "Berlin")
    page.open("moved", "why", berlin.id)
    page.role("button", "Undo").first.click()
    dialog = page.page.get_by_role("dialog")
    dialog.get_by_text("will have held Jan 12, 2026 – Mar 12, 2026").wait_for()


def test_a_contradiction_is_decided_by_keyboard_and_the_decision_taken_back(page: Watched, store: str) -> None:
    with library(store, "review") as memory:
        for thing in ("hiking", "tea"):
            memory.remember(f"I love {thing}.", speaker="Alice", at="2026-01-12T10:00Z")
            memory.remember(f"I hate {thing}.", speaker="Alice", at="2026-06-30T10:00Z")
    page.open("review", "review")
    page.sees("I hate tea.")
    page.page.keyboard.press("ArrowDown")  # from nowhere to the first
    page.page.keyboard.press("j")
    page.page.keyboard.press("k")
    page.page.keyboard.press("1")  # tea: the newer holds
    page.sees("Decided: the newer holds")
    page.page.get_by_text("I hate tea.").first.wait_for(state="detached")
    with library(store, "review") as memory:
        assert [one.newer.value for one in memory.undecided().items] == ["hiking"]
    page.page.locator(":focus").press("2")  # hiking: the older holds; the focus is on what follows
    page.sees("Nothing waits for a decision")
    with library(store, "review") as memory:
        states = {step.entity.content: str(step.state) for step in memory.history("Alice")}
        assert states == {
            "I love hiking.": "current",
            "I hate hiking.": "superseded",
            "I love tea.": "superseded",
            "I hate tea.": "current",
        }


def test_why_leads_from_a_conclusion_to_its_source_and_back(page: Watched, store: str) -> None:
    with library(store, "why") as memory:
        first = memory.remember("Hello! I work at Acme. The weather is fine.", speaker="Alice", at="2026-01-12T10:00Z")
        work = next(one for one in first.entities if one.value == "Acme")
        memory.remember("Alice takes the tram to Acme.", role="assistant", derived_from=[work.id])
        done = memory.remember("I left Acme and joined StartupX.", speaker="Alice", at="2026-04-08T10:00Z")
    page.open("why", "why", work.id)
    page.sees("What rests on it")
    assert page.page.locator("mark").first.inner_text() == "I work at Acme."
    page.sees("noticed by Umi’s rules")
    page.page.get_by_role("link", name="Alice takes the tram").click()
    page.sees("A ground has fallen:")
    page.page.go_back()
    page.sees("What rests on it")
    # Undo from the chain.
    page.page.get_by_role("button", name="Undo").first.click()
    page.page.get_by_role("dialog").get_by_role("button", name="Undo").click()
    page.sees("Taken back.")
    with library(store, "why") as memory:
        assert any(one.undone_at for one in memory.why(done.entities[0].id).evolutions) or any(
            one.undone_at for one in memory.why(work.id).evolutions
        )


def test_a_statement_is_forgotten_only_after_its_word_is_typed(page: Watched, store: str) -> None:
    with library(store, "forget") as memory:
        told = memory.remember("I work at Acme. Bob lives in Paris.", speaker="Alice", at="2026-01-12T10:00Z")
        work = next(one for one in told.entities if one.value == "Acme")
    page.open("forget", "why", work.id)
    page.refusals.add(404)  # the page may look once more for what is gone
    page.role("button", "Forget").click()
    dialog = page.page.get_by_role("dialog")
    dialog.get_by_text("This is left of the message").wait_for()
    dialog.get_by_text("Bob lives in Paris.").wait_for()
    assert dialog.get_by_role("button", name="Forget").is_disabled()
    dialog.get_by_label("This cannot be taken back").fill("forget")
    dialog.get_by_role("button", name="Forget").click()
    page.sees("Forgotten, with its bytes in the file.")
    with library(store, "forget") as memory:
        assert memory.episodes().items[0].content.split() == ["Bob", "lives", "in", "Paris."]


def test_somebody_is_erased_with_preview_receipt_and_verification(page: Watched, store: str) -> None:
    with library(store, "erase") as memory:
        memory.remember("I live in Ouagadougou.", speaker="Zebulon", at="2026-01-12T10:00Z")
        memory.remember("Bob lives in Paris.", speaker="Bob", at="2026-01-13T10:00Z")
    page.open("erase", "now", "Zebulon")
    page.role("button", "Erase…").click()
    dialog = page.page.get_by_role("dialog")
    dialog.get_by_role("button", name="Show what goes").click()
    dialog.get_by_text("I live in Ouagadougou.").wait_for()
    assert dialog.get_by_text("Bob lives in Paris.").count() == 0
    dialog.get_by_label("This cannot be taken back").fill("Zebulo")
    assert dialog.get_by_role("button", name="Erase for good").is_disabled()
    dialog.get_by_label("This cannot be taken back").fill("Zebulon")
    dialog.get_by_role("button", name="Erase for good").click()
    with page.page.expect_download() as saved:
        dialog.get_by_role("button", name="Save the receipt").click()
    receipt = json.loads(Path(saved.value.path()).read_text("utf-8"))
    assert (receipt["selection"], len(receipt["deleted"]), receipt["known"]) == ("subject", 1, True)
    dialog.get_by_role("button", name="Verify that it is gone").click()
    dialog.get_by_text("Gone: nothing of it was found.").wait_for()
    with library(store, "erase") as memory:
        assert [one.speaker for one in memory.episodes().items] == ["Bob"]
        assert memory.history("Zebulon") == ()


def test_the_list_of_namespaces_counts_anew_when_something_was_written(page: Watched, store: str) -> None:
    with library(store, "counted") as memory:
        memory.remember("I live in Rome.", speaker="Alice")
        page.open("counted", "admin")
        row = page.page.get_by_role("row").filter(has_text="counted")
        row.get_by_role("cell", name="1", exact=True).first.wait_for()
        memory.remember("I like tea.", speaker="Alice")
        row.get_by_role("cell", name="2", exact=True).first.wait_for()


def test_a_namespace_that_changed_since_the_preview_is_not_erased(page: Watched, store: str) -> None:
    with library(store, "whole") as memory:
        memory.remember("I live in Berlin.", speaker="Alice")
    page.open("whole", "admin")
    page.role("button", "Erase…").click()
    dialog = page.page.get_by_role("dialog")
    dialog.get_by_label("What").select_option("everything")
    dialog.get_by_role("button", name="Show what goes").click()
    dialog.get_by_text("I live in Berlin.").wait_for()
    with library(store, "whole") as memory:
        memory.remember("I like tea.", speaker="Alice")
    dialog.get_by_label("This cannot be taken back").fill("whole")
    page.refusals.add(409)
    dialog.get_by_role("button", name="Erase for good").click()
    dialog.get_by_text("Something changed since you looked").wait_for()
    with library(store, "whole") as memory:
        assert len(memory.episodes().items) == 2
    dialog.get_by_role("button", name="Show what goes").click()
    dialog.get_by_text("I like tea.").wait_for()
    dialog.get_by_role("button", name="Erase for good").click()
    dialog.get_by_role("button", name="Save the receipt").wait_for()
    dialog.get_by_text("Messages: 2", exact=True).wait_for()
    assert dialog.get_by_text("Messages deleted").count() == 0
    with library(store, "whole") as memory:
        assert memory.episodes().items == ()


def test_a_dropped_file_is_imported_and_an_export_is_brought_back(page: Watched, store: str, tmp_path: Path) -> None:
    chat = [
        {"role": "user", "speaker": "Alice", "content": "I work at Acme.", "at": "2026-01-10T09:00Z", "id": "m1"},
        {"role": "user", "speaker": "Alice", "content": "I joined StartupX.", "at": "2026-04-10T09:00Z", "id": "m2"},
    ]
    text = "\n".join(map(json.dumps, chat))
    page.open("import", "admin")
    page.role("heading", "Admin").wait_for()
    page.page.evaluate(
        """([name, text]) => {
          const carried = new DataTransfer();
          carried.items.add(new File([text], name));
          dispatchEvent(new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true }));
        }""",
        ["chat.jsonl", text],
    )
    dialog = page.page.get_by_role("dialog")
    dialog.get_by_role("button", name="Import").click()
    dialog.get_by_role("button", name="See it on the timeline").wait_for()
    dialog.get_by_text("2 messages").wait_for()
    with library(store, "import") as memory:
        assert [one.message_id for one in memory.episodes().items] == ["m1", "m2"]
    page.page.keyboard.press("Escape")
    with page.page.expect_download() as saved:
        page.role("button", "Export").click()
    file = tmp_path / "export.jsonl"
    saved.value.save_as(file)
    page.open("restored", "admin")
    page.role("button", "Import files").click()
    page.page.get_by_label("Files", exact=True).set_input_files(file)
    page.page.get_by_role("dialog").get_by_role("button", name="Import").click()
    page.role("button", "See it on the timeline").wait_for()
    with library(store, "restored") as memory:
        assert [one.content for one in memory.episodes().items] == ["I work at Acme.", "I joined StartupX."]


def test_an_import_says_what_stopped_it(browser: Browser, tmp_path: Path) -> None:
    db, export = str(tmp_path / "umi.db"), tmp_path / "export.jsonl"
    with library(db, "stopped") as memory:
        memory.remember("I live in Berlin.", speaker="Alice")
        memory.export(export)
    notes = "".join(f"# {at}\n\nThe number is {at}.\n\n" for at in range(20_000))
    server = live_server.start(db, "--rate", "0")
    try:
        with browsing.watched(browser, server.url) as page:
            page.refusals |= {400, 409}
            page.open("stopped", "admin")
            page.role("button", "Import files").click()
            dialog = page.page.get_by_role("dialog")

            def chosen(name: str, words: bytes) -> None:
                file: FilePayload = {"name": name, "mimeType": "text/plain", "buffer": words}
                dialog.get_by_label("Files", exact=True).set_input_files(file)
                dialog.get_by_role("button", name="Import").click()

            for name, words, told in (
                ("a.json", b"{}", "none of the known shapes"),
                ("b.jsonl", export.read_bytes(), "with nothing in it"),
            ):
                chosen(name, words)
                dialog.get_by_role("alert").get_by_text(told).wait_for()
                assert dialog.get_by_text("goes on from there").or_(dialog.get_by_text("Sending")).count() == 0
            chosen("notes.md", notes.encode())
            dialog.get_by_text(re.compile(r"% · .* statements")).wait_for()
            server.kill()
            dialog.get_by_text("The server does not answer").wait_for()
            dialog.get_by_text("goes on from there").wait_for()
            page.problems.clear()  # of the server that went
    finally:
        if server.process.poll() is None:
            server.kill()


def test_feedback_counts_for_what_was_recalled(page: Watched, store: str) -> None:
    with library(store, "feedback") as memory:
        memory.remember("I live in Berlin.", speaker="Alice")
    page.open("feedback", "ask", q="Where does Alice live?")
    page.page.get_by_role("button", name="Yes").click()
    page.sees("Noted.")
    learning = umi.Config(learn=True)
    with umi.blocking.Memory.open(store, namespace="feedback", embedder=None, config=learning) as memory:
        (signal,) = memory.learning.explain(memory.list().items[0].entity.id).signals
        assert (signal.outcome, signal.matched) == ("success", "recall")


def test_what_an_agent_would_get_is_shown(page: Watched, store: str) -> None:
    with library(store, "context") as memory:
        memory.remember("I live in Berlin.", speaker="Alice")
        expected = memory.context("Where does Alice live?", max_tokens=800).text
    page.open("context", "ask", q="Where does Alice live?")
    page.page.get_by_text("What an agent would get").click()
    shown = page.page.locator("pre")
    shown.wait_for()
    assert shown.inner_text().strip() == expected.strip()


def test_a_dialog_gives_the_focus_back(browser: Browser, live: live_server.Live) -> None:
    with browsing.watched(browser, live.url) as page:
        page.open("focus", "admin")
        button = page.role("button", "Remember")
        button.focus()
        page.page.keyboard.press("Enter")
        page.page.get_by_role("dialog").wait_for()
        page.page.keyboard.press("Escape")
        page.page.get_by_role("dialog").wait_for(state="detached")
        assert page.page.evaluate("document.activeElement.textContent").strip() == "Remember"
