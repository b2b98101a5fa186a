"""The check of integrity compares all that a search index tells with one made anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from store_files import episode_row, opened
from test_sqlite_cache import index

NAMES = ("Ada", "Bo", "Cy", "Dan")


@pytest.mark.parametrize(
    "part",
    [
        "_words", "_traits", "_at", "_lengths", "_around", "_previous", "_next", "_session", "_speaker",
        "_total_length", "_total_around",
    ],
)  # fmt: skip
async def test_an_index_of_which_one_column_or_sum_is_off_is_reported(tmp_path: Path, part: str) -> None:
    async with opened(tmp_path / "umi.db") as store:
        space = store.namespace("a")
        rows = [episode_row(number, f"cat {name}") for number, name in enumerate(NAMES)]
        said = [
            replace(row, episode=replace(row.episode, session="s" if number < 3 else "t", speaker=NAMES[number]))
            for number, row in enumerate(rows)
        ]
        await space.write(lambda tx: tx.add_episodes(said))
        await space.read(lambda s: s.text_candidates(["cat"]))
        assert await store.check_integrity() == []
        kept = getattr(index(store), part)
        if part.startswith("_total"):
            setattr(index(store), part, kept + 1)
        else:
            kept.rows[1] = kept.rows[3] if part in {"_session", "_speaker"} else kept.rows[1] + 1
        findings = await store.check_integrity()
        assert findings
        assert all("finds other texts" in finding for finding in findings)
