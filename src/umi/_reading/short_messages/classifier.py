"""Classification of short messages: by a trained reader that sees word order, or by linear models over words.

Where the embedder brings a reader (`umi.ports.text_reader.HasTextReader`), it judges. Otherwise multinomial linear
models over hashed features do; questions are always classified by linear models, with the question's vector where the
local embedder made it. `lab/tools/fit_evolution.py` fits them to phrases in this repository. Their weights are integers
and are summed exactly, so that a text gets the same scores on every machine.
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
EMBEDDER: Final = "6b3538c061f7981e9ad1778dc60ceb5a"  # identity of the vectors that the question model was fitted with

Floats = npt.NDArray[np.float64]

log = logging.getLogger(__name__)


class Judge(Protocol):
    """Classifies one message."""

    @property
    def by_words(self) -> bool:
        """Whether it sees words without their order."""
        ...

    def kinds(self, tokens: Sequence[Token]) -> dict[str, float]:
        """The probability that the message is about each kind of fact."""
        ...

    def acts(self, taking: Taking) -> dict[str, float]:
        """The probability of each act (`umi.ports.text_reader.ACTS`) under an interpretation."""
        ...

    def roles(self, taking: Taking, places: Sequence[int], act: str) -> list[dict[str, float]]:
        """The probability of each role (`umi.ports.text_reader.ROLES`) for the tokens at `places`, given the act."""
        ...


def judge_of(text: str, tokens: Sequence[Token], reader: TextReader | None) -> Judge:
    """The judge of a message: the reader where there is one that loads, else the linear models."""
    if reader is None:
        return ByWords()
    try:
        judge = ByReader(reader.read(text))
        judge.kinds(tokens)  # loads the model now, so that a failure is caught here
    except EmbeddingError as error:
        log.warning("a message is judged by its words alone: %s", error)
        return ByWords()
    return judge


@dataclass(frozen=True, slots=True)
class ByReader:
    """Judges with the trained reader; each interpretation is computed once."""

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
        """See `Judge`. The reader judges act and roles at once, so `act` is not used."""
        del act  # part of the protocol
        # The reader's pieces are smaller than tokens ("Halden & Pike" is one token): their roles are averaged.
        pieces = self._judged(taken(taking)).roles
        return [
            _mean([role for start, end, role in pieces if _overlap(taking.tokens[at], start, end)]) for at in places
        ]

    def _judged(self, take: Interpretation) -> Judged:
        if take not in self._read:
            self._read[take] = self.text.judge(take)
        return self._read[take]


def taken(taking: Taking) -> Interpretation:
    """An interpretation in the form of the port."""
    # STATES: nothing known, known and mentioned, known and not mentioned.
    state = STATES[0] if not taking.known else STATES[1] if taking.mentions else STATES[2]
    return Interpretation(marks_of(taking.meant), taking.kind, state, taking.start < 0)


def _overlap(token: Token, start: int, end: int) -> bool:
    return start < token.end and token.start < end


def _mean(roles: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean probabilities of several pieces of a token."""
    return {role: sum(one[role] for one in roles) / len(roles) if roles else 0.0 for role in ROLES}


class ByWords:
    """Judges with linear models over the message's words."""

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
    """The probability that a question asks for each kind of fact."""
    return _judged("ask by words" if vector is None else "ask", KINDS, message_features(tokens), vector)


@dataclass(frozen=True, slots=True)
class _Head:
    """A multinomial linear model: `hashed` (BUCKETS, classes), integers times `scale`; `bias`; `dense` for a vector."""

    hashed: npt.NDArray[np.int8]
    scale: float
    bias: Floats
    dense: Floats | None

    def judge(self, features: Sequence[int], vector: Vector | None) -> Floats:
        """The probability of each class."""
        # An exact sum of integers: the order of the features does not matter, unlike with floats.
        counted = self.hashed[list(features)].sum(axis=0, dtype=np.int64)
        logits: Floats = counted * self.scale + self.bias
        if self.dense is not None and vector is not None:
            logits = logits + np.asarray(vector, dtype=np.float64) @ self.dense
        raised = np.exp(logits - logits.max())
        return np.asarray(raised / raised.sum(), dtype=np.float64)


@cache
def _heads() -> dict[str, _Head]:
    with resources.files("umi._reading.short_messages").joinpath(WEIGHTS).open("rb") as file, np.load(file) as kept:
        # Tables are named "<model>.<part>".
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
    """The probabilities of one model by the names of its classes."""
    return dict(zip(classes, map(float, _heads()[name].judge(features, vector)), strict=True))
