"""A model that does not count its tokens: Umi says about how many there were, four bytes each, rounded up."""

from __future__ import annotations

from math import ceil
from pathlib import Path
from typing import Any

import pytest

import umi
from umi import Completion, CompletionRequest

EMPTY = '{"entities": [], "relations": []}'


class Mute:
    def __init__(self, usage: Any) -> None:
        self.sent: list[int] = []
        self.usage = usage

    async def complete(self, request: CompletionRequest) -> Completion:
        self.sent.append(len(request.prompt.encode()))
        return Completion(EMPTY, self.usage)


@pytest.mark.parametrize(
    ("text", "usage"),
    [
        ("Zed flies a zeppelin.", umi.Usage(1)),
        ("Zoë trinkt Tee in 東京.", umi.Usage(1)),
        ("It rained.", None),
        ("It rained.", umi.Usage(1, "12", None)),  # type: ignore[arg-type]
        ("It rained.", umi.Usage(1, -5, float("nan"))),  # type: ignore[arg-type]
        ("It rained.", umi.Usage(1, 10**400, 10**400)),
    ],
)
async def test_usage_is_estimated_from_bytes(tmp_path: Path, text: str, usage: Any) -> None:
    model = Mute(usage)
    config = umi.Config(money_budget=1.0, price_per_million=(1.0, 2.0))
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None, llm=model, config=config) as memory:
        receipt = await memory.remember(text)
    assert receipt.deferred == ()
    assert model.sent
    assert receipt.usage.input_tokens == sum(ceil(size / 4) for size in model.sent)
    assert receipt.usage.output_tokens == len(model.sent) * ceil(len(EMPTY) / 4)
