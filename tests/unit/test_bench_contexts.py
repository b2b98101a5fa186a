"""`umi bench context`, in small."""

from __future__ import annotations

from pathlib import Path

from umi_lab.bench import contexts

RECORDED = Path(__file__).resolve().parents[1] / "data" / "recorded_histories.jsonl"


async def test_budgets_answers_and_lines_of_two_histories() -> None:
    rows = contexts.read_histories([RECORDED])[:2]
    report, lines = await contexts.measure(rows, cases=40, lines=5)
    over, other, broken, kept, tight = report.figures
    assert (over.value, other.value, broken.value) == (0, 0, 0)
    assert kept.detail["of"] > 0
    assert kept.value >= tight.value
    assert kept.ok
    assert 0 < len(lines) <= 5
    text = contexts.as_text(lines)
    assert all(line.line in text and line.source in text for line in lines)
