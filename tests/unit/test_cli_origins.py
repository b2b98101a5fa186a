"""`umi remember --origin`: where words come from is kept, shown, and decides what they change."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_cli import Umi


@pytest.fixture
def cli(tmp_path: Path) -> Umi:
    return Umi(tmp_path)


def test_what_a_document_claims_is_shown_as_such_and_flagged(cli: Umi) -> None:
    cli("remember", "I live in Lisbon.", "--speaker", "Alice")
    receipt = cli.data("remember", "Alice now lives in Berlin.", "--origin", "document")
    assert [row["acted"] for row in receipt["evolutions"]] == [False]
    assert "document" in cli("show", receipt["episode_ids"][0])
    assert "(document)" in cli("recall", "Where does Alice live?")
    assert "(document)" in cli("recall", "Where does Alice live?", "--context")
    assert [fact["value"] for fact in cli.data("facts", "Alice")] == ["Lisbon"]


def test_an_unknown_origin_is_refused(cli: Umi) -> None:
    assert "document" in cli("remember", "x", "--origin", "web", code=2)
