"""The trained reader of short messages: linear models over hashed features and, where the local embedder made it, the message's vector.

`scripts/fit_evolution.py` makes the weights from phrases that are in this repository. Whole numbers are summed, so the same text
gets the same scores on any machine; the vector's part is used only with vectors of the embedder that it was fitted to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

import numpy as np
import numpy.typing as npt

from umi.pipelines.gist.marks import BUCKETS, Token, message_features, role_features
from umi.ports import Vector

WEIGHTS: Final = "reader.npz"
EMBEDDER: Final = "6b3538c061f7981e9ad1778dc60ceb5a"  # of the vectors it was trained with
KINDS: Final = (
    "job", "home", "price", "plan", "assignee", "setting", "lead", "choice", "hobby", "language", "tool", "none",
)  # fmt: skip
ACTS: Final = ("state", "detail", "add", "update", "correct", "retract", "forget", "claim", "none")
ROLES: Final = ("0", "S", "V", "O", "R")  # nothing, whose fact it is, what holds, what held, who is quoted

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Head:
    """One multinomial model: `hashed` (BUCKETS, classes) of whole numbers times `scale`, plus `bias` and a vector's part."""

    hashed: npt.NDArray[np.int8]
    scale: float
    bias: Floats
    dense: Floats | None = None

    def judge(self, features: Sequence[int], vector: Vector | None) -> Floats:
        """Probabilities by class."""
        counted = self.hashed[list(features)].sum(axis=0, dtype=np.int64)
        logits: Floats = counted * self.scale + self.bias
        if self.dense is not None and vector is not None:
            logits = logits + np.asarray(vector, dtype=np.float64) @ self.dense
        raised = np.exp(logits - logits.max())
        return np.asarray(raised / raised.sum(), dtype=np.float64)


@cache
def _heads() -> dict[str, _Head]:
    with resources.files("umi.pipelines.gist").joinpath(WEIGHTS).open("rb") as file, np.load(file) as kept:
        names = sorted({name.partition(".")[0] for name in kept.files})
        return {
            name: _Head(
                kept[f"{name}.hashed"],
                float(kept[f"{name}.scale"]),
                kept[f"{name}.bias"].astype(np.float64),
                kept[f"{name}.dense"].astype(np.float64) if f"{name}.dense" in kept.files else None,
            )
            for name in names
        }


def kinds(tokens: Sequence[Token], vector: Vector | None) -> dict[str, float]:
    """How likely a message speaks of each kind of fact."""
    return _judged("kind", KINDS, message_features(tokens), vector)


def acts(tokens: Sequence[Token], met: Sequence[str], kind: str, vector: Vector | None) -> dict[str, float]:
    """How likely it does each thing with a fact of that kind.

    Args:
        tokens: With known values, and whose fact it is taken to be, marked.
        met: The situation.
        kind: Of fact.
        vector: Of the message.
    """
    return _judged("act", ACTS, message_features(tokens, met, kind), vector)


def asks(tokens: Sequence[Token], vector: Vector | None) -> dict[str, float]:
    """How likely a question asks for each kind of fact, and for nothing beside it."""
    return _judged("ask", KINDS, message_features(tokens), vector)


def roles(tokens: Sequence[Token], places: Sequence[int], kind: str, act: str) -> list[dict[str, float]]:
    """What part each of some tokens plays in a message of that kind."""
    head = _heads()["role"]
    found = [head.judge(role_features(tokens, place, kind, act), None) for place in places]
    return [dict(zip(ROLES, map(float, one), strict=True)) for one in found]


def _judged(name: str, classes: Sequence[str], features: Sequence[int], vector: Vector | None) -> dict[str, float]:
    head = _heads()[name if vector is not None else f"{name} by words"]
    return dict(zip(classes, map(float, head.judge(features, vector)), strict=True))


__all__ = ["ACTS", "BUCKETS", "KINDS", "ROLES", "WEIGHTS", "acts", "asks", "kinds", "roles"]
