"""What a short message does, judged by what was learned: by a reader that knows words in their order, or by the words alone.

Where the embedder can read (`umi.ports.text_reader.HasTextReader`), its reader judges. Without one, multinomial linear models over hashed words do, as
they do for questions, with the question's vector where the local embedder made it. `lab/tools/fit_evolution.py` makes their weights from phrases that are
in this repository. Whole numbers are summed, so the same text gets the same scores on any machine.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from umi._reading.short_messages.features import Taking, Token, marks_of, message_features, role_features, situation
from umi.errors import EmbeddingError
from umi.ports import Vector
from umi.ports.text_reader import ACTS, KINDS, ROLES, STATES, Interpretation, Judged, OpenText, TextReader

WEIGHTS: Final = "linear.npz"
EMBEDDER: Final = "6b3538c061f7981e9ad1778dc60ceb5a"  # of the vectors that the head for questions was trained with

Floats = npt.NDArray[np.float64]

log = logging.getLogger(__name__)


class Judge(Protocol):
    """Judges one message."""

    @property
    def by_words(self) -> bool:
        """Whether it knows the words alone."""
        ...

    def kinds(self, tokens: Sequence[Token]) -> dict[str, float]:
        """How likely the message speaks of each kind of fact."""
        ...

    def acts(self, taking: Taking) -> dict[str, float]:
        """How likely it does each thing with the fact that it is taken to speak of."""
        ...

    def roles(self, taking: Taking, places: Sequence[int], act: str) -> list[dict[str, float]]:
        """What part each of some tokens plays in it, if that is what it does."""
        ...


def judge_of(text: str, tokens: Sequence[Token], reader: TextReader | None) -> Judge:
    """What judges a message of these tokens: the reader, where there is one and it can be loaded."""
    if reader is None:
        return ByWords()
    try:
        judge = ByReader(reader.read(text))
        judge.kinds(tokens)
    except EmbeddingError as error:
        log.warning("a message is judged by its words alone: %s", error)
        return ByWords()
    return judge


@dataclass(frozen=True, slots=True)
class ByReader:
    """By a reader that knows the words in their order; each way to take the message is read once."""

    text: OpenText
    by_words: bool = False
    _read: dict[Interpretation, Judged] = field(default_factory=dict)

    def kinds(self, tokens: Sequence[Token]) -> dict[str, float]:
        """See `Judge`."""
        return dict(self._judged(Interpretation(marks_of(tokens))).kinds)

    def acts(self, taking: Taking) -> dict[str, float]:
        """See `Judge`."""
        return dict(self._judged(taken(taking)).acts)

    def roles(self, taking: Taking, places: Sequence[int], act: str) -> list[dict[str, float]]:
        """See `Judge`; what it does was judged with the roles, so `act` adds nothing."""
        del act
        pieces = self._judged(taken(taking)).roles
        return [
            _mean([role for start, end, role in pieces if _overlap(taking.tokens[at], start, end)]) for at in places
        ]

    def _judged(self, take: Interpretation) -> Judged:
        if take not in self._read:
            self._read[take] = self.text.judge(take)
        return self._read[take]


def taken(taking: Taking) -> Interpretation:
    """As `umi.ports.text_reader` has it."""
    state = STATES[0] if not taking.known else STATES[1] if taking.mentions else STATES[2]
    return Interpretation(marks_of(taking.meant), taking.kind, state, taking.start < 0)


def _overlap(token: Token, start: int, end: int) -> bool:
    return start < token.end and token.start < end


def _mean(roles: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {role: sum(one[role] for one in roles) / len(roles) if roles else 0.0 for role in ROLES}


class ByWords:
    """By linear models over the message's words."""

    by_words = True

    def kinds(self, tokens: Sequence[Token]) -> dict[str, float]:
        """See `Judge`."""
        return _judged("kind by words", KINDS, message_features(tokens))

    def acts(self, taking: Taking) -> dict[str, float]:
        """See `Judge`."""
        return _judged("act by words", ACTS, message_features(taking.meant, situation(taking), taking.kind))

    def roles(self, taking: Taking, places: Sequence[int], act: str) -> list[dict[str, float]]:
        """See `Judge`."""
        return [_judged("role", ROLES, role_features(taking.tokens, place, taking.kind, act)) for place in places]


def asks(tokens: Sequence[Token], vector: Vector | None) -> dict[str, float]:
    """How likely a question asks for each kind of fact, and for nothing beside it."""
    return _judged("ask by words" if vector is None else "ask", KINDS, message_features(tokens), vector)


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
    with resources.files("umi._reading.short_messages").joinpath(WEIGHTS).open("rb") as file, np.load(file) as kept:
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


def _judged(
    name: str, classes: Sequence[str], features: Sequence[int], vector: Vector | None = None
) -> dict[str, float]:
    return dict(zip(classes, map(float, _heads()[name].judge(features, vector)), strict=True))
