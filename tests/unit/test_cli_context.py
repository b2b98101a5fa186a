"""`umi context` and `umi profile`: what a prompt needs, of the whole memory or of a part of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_cli import BAD_INPUT, NOTHING, Umi


@pytest.fixture
def cli(tmp_path: Path) -> Umi:
    one = Umi(tmp_path)
    one("remember", "I live in Berlin.", "--speaker", "Alice", "--session", "monday")
    one("remember", "I hate tea.", "--speaker", "Alice", "--session", "tuesday")
    return one


def test_a_context_is_text_to_paste_within_its_budget(cli: Umi) -> None:
    shown = cli("context", "Where does Alice live?")
    assert shown.startswith("<memory>")
    assert "lives in: Berlin" in shown
    assert "likes: not tea" in shown
    small = cli.data("context", "Where does Alice live?", "--max-tokens", "80")
    assert small["tokens"] <= 80
    assert small["left_out_count"] > 0
    assert cli.data("context", "quantum chromodynamics lattice", code=NOTHING, status="empty")["text"] == ""
    nothing = cli("context", "quantum chromodynamics lattice", code=NOTHING)
    assert "<memory>" not in nothing
    assert "0 tokens" in nothing


def test_a_filter_bounds_the_context(cli: Umi) -> None:
    tuesday = cli("context", "--where", "session=tuesday")
    assert "likes: not tea" in tuesday
    assert "Berlin" not in tuesday
    assert cli.data("context", "--where", "speaker=Bob", code=NOTHING, status="empty")["items"] == []
    assert "--where" in cli("context", "--where", "tuesday", code=BAD_INPUT)


def test_a_profile_tells_what_holds(cli: Umi) -> None:
    shown = cli("profile", "Alice")
    assert "Berlin" in shown
    assert "not tea" in shown
    cli("profile", "Nobody", code=NOTHING)
