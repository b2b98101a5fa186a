"""Names that a model read in one message, after another one that it gave the same name is gone."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from conftest import HandClock
from scripted import Scripted, states
from test_forget import found

import umi

NAME = "ledger-api replicas"


class Namer:
    """A model that reads each text as one statement of one name, and lets each update the first older one that it is shown."""

    def __init__(self, name: str = NAME) -> None:
        self.name = name

    async def complete(self, request: umi.CompletionRequest) -> umi.Completion:
        if request.task == "extract":
            text = re.findall(r"<data>(.*?)</data>", request.prompt, re.DOTALL)[-1]
            one = {"content": text, "name": self.name, "also": ["ledger-api"], "type": "note", "confidence": 0.9}
            return umi.Completion(json.dumps({"entities": [one], "relations": []}))
        update = {"new_id": "n1", "type": "update", "reason": "more", "related_id": "m1", "confidence": 0.9}
        return umi.Completion(json.dumps({"relations": [update] if '"m1"' in request.prompt else []}))


def _open(path: Path | str, clock: HandClock | None = None, model: Namer | None = None) -> umi.Memory:
    config = umi.Config(learn=True)
    return umi.Memory.open(str(path), embedder=None, llm=model or Namer(), config=config, clock=clock)


async def _first(memory: umi.Memory) -> umi.Entity:
    return (await memory.list()).items[0].entity


@pytest.mark.parametrize("how", ["forget", "expiry"])
async def test_what_a_model_read_before_stays_with_what_was_learned(how: str) -> None:
    clock = HandClock()
    async with _open(":memory:", clock) as memory:
        await memory.remember("We run 3 of them.", speaker="Ann")
        shown = await memory.recall("How many do we run?", min_score=0)
        await memory.feedback(shown.id, outcome="success", quality_score=1.0)
        before = await _first(memory)
        later = await memory.remember("Make it 5.", speaker="Ann", ttl=3600 if how == "expiry" else None)
        if how == "forget":
            await memory.forget(later.episode_ids[0])
        else:
            clock.seconds = 86_400
            await memory.maintain()
        after = await _first(memory)
        assert (after.id, after.name, after.subject, after.also) == (before.id, NAME, NAME, ("ledger-api",))
        assert after.valid_to is None
        assert (await memory.learning.explain(after.id)).evidence["feedback"][0] > 0
        assert [step.entity.id for step in await memory.history(NAME)] == [before.id]


@pytest.mark.parametrize("gone", ["Run the ledger-api 3 times.", "Its replicas are 3."])
async def test_a_name_whose_words_the_forgotten_message_says_goes(tmp_path: Path, gone: str) -> None:
    path = tmp_path / "umi.db"
    async with _open(path) as memory:
        told = await memory.remember(gone)
        await memory.remember("Make it 5.")
        await memory.forget(told.episode_ids[0])
        left = await _first(memory)
        assert (left.content, left.name, left.subject, left.also) == ("Make it 5.", "user", "", ())
    assert found(path, "ledger", "replica") == []


@pytest.mark.parametrize("first", ["Run the ledger-api.", "Davon haben wir 3."])  # which says the name, or may mean it
async def test_a_name_goes_with_one_of_two_statements_of_a_message(tmp_path: Path, first: str) -> None:
    path, text = tmp_path / "umi.db", f"{first} Make it 5."
    model = Scripted({text: [states(first, "ledger-api"), states("Make it 5.", "ledger-api")]})
    async with umi.Memory.open(str(path), embedder=None, llm=model) as memory:
        told = await memory.remember(text)
        await memory.forget(next(one.id for one in told.entities if one.content == first))
        left = await _first(memory)
        assert (left.content, left.name, left.subject) == ("Make it 5.", "user", "")
    assert found(path, "ledger") == []


async def test_of_words_that_are_no_statement_by_rules_a_note_is_left(tmp_path: Path) -> None:
    """A note of the rules has both sentences."""
    path, model = tmp_path / "umi.db", Scripted({"Run the ledger-api.": [states("Run the ledger-api.", "ledger-api")]})
    model.texts["Make it 5. Fine."] = [states("Make it 5.", "ledger-api", "ledger")]
    model.pairs = {("Make it 5.", "Run the ledger-api."): "extend"}
    async with umi.Memory.open(str(path), embedder=None, llm=model) as memory:
        told = await memory.remember("Run the ledger-api.", speaker="Ann")
        await memory.remember("Make it 5. Fine.", speaker="Ann")
        await memory.forget(told.episode_ids[0])
        left = await _first(memory)
        assert (left.content, left.span, left.entity_type) == ("Make it 5.", (0, 10), "note")
        assert (left.name, left.subject, left.also) == ("Ann", "", ())
    assert found(path, "ledger") == []


async def test_a_name_that_a_model_made_of_the_forgotten_message_goes(tmp_path: Path) -> None:
    """None of its words stands there, but nobody had the name before."""
    path = tmp_path / "umi.db"
    async with _open(path) as memory:
        told = await memory.remember("Davon haben wir 3.")
        await memory.remember("Make it 5.")
        await memory.forget(told.episode_ids[0])
        assert (await _first(memory)).subject == ""
    assert found(path, "ledger", "replica") == []


async def test_a_name_learned_of_a_later_message_goes_with_it(tmp_path: Path) -> None:
    """The earlier one was read anew when the later one was known."""
    path, model = tmp_path / "umi.db", Namer("of these")
    async with _open(path, model=model) as memory:
        await memory.remember("We run 3 of them.")
        later = await memory.remember("Run the ledger-api replicas 5 times.")
        model.name = NAME
        await memory.reread()
        assert {step.entity.name for step in await memory.history(NAME)} == {NAME}
        await memory.forget(later.episode_ids[0])
        left = await _first(memory)
        assert (left.content, left.subject) == ("We run 3 of them.", "")
    assert found(path, "ledger", "replica") == []


async def test_a_name_that_a_message_before_says_stays() -> None:
    async with _open(":memory:") as memory:
        await memory.remember("The ledger-api has 3 replicas.")
        middle = await memory.remember("Set the ledger-api replicas to 4.")
        await memory.remember("Make it 5.")
        await memory.forget(middle.episode_ids[0])
        left = [(step.entity.content, step.entity.name) for step in await memory.history(NAME)]
        assert sorted(left) == [("Make it 5.", NAME), ("The ledger-api has 3 replicas.", NAME)]


async def test_no_id_of_a_signal_and_no_kind_of_a_decision_names_who_was_erased(tmp_path: Path) -> None:
    file, said = tmp_path / "umi.db", tmp_path / "signals.jsonl"
    one = {"id": "review by Zacharina", "task_description": "restart", "outcome": "failure", "quality_score": 0.0}
    said.write_text(json.dumps({**one, "task_id": "t", "completed_at": datetime.now(UTC).isoformat()}) + "\n")
    loader = umi.IntelligenceLoader([umi.FileSignalProvider(said, name="ci")])
    async with umi.Router.open({"fast": "x", "strong": "y"}, str(file), embedder=None) as router:
        route = await router.choose("Write a letter", kind="letters to Zacharina")
    async with umi.Memory.open(str(file), embedder=None, intelligence=loader) as memory:
        await memory.remember("Zacharina uses the green printer.", speaker="Cleo")
        await memory.remember("The blue printer is old.", speaker="Cleo")
        await memory.recall("Which printer is old?", task_id="t")
        assert (await memory.learning.run()).new == 1
        receipt = await memory.erase("Zacharina")
        assert (await memory.verify_erasure(receipt)).ok
        ids = [
            row.id
            for step in (await memory.list()).items
            for row in (await memory.learning.explain(step.entity.id)).signals
        ]
        assert [id_.startswith("gone:") for id_ in ids] == [True]
        run = await memory.learning.run()  # the provider still has it: it counts once
        assert (run.new, run.known) == (0, 1)
        async with umi.Router.open({"fast": "x", "strong": "y"}, str(file), embedder=None) as router:
            assert (await router.status()).decisions == 1
            await router.feedback(route.id, "success")
    assert b"zacharina" not in b"".join(path.read_bytes().lower() for path in tmp_path.glob("umi.db*"))
