"""The local pair reader: an encoder of six layers that compares two statements in view of a question.

The question and both statements stand in one input (a cross-encoder: Nogueira and Cho, 2019, "Passage Re-ranking with
BERT"). Learned vectors mark the part that each token plays: the question, a statement or the rest of its message, older
or newer; and how much time lies between. Two heads say whether the newer statement makes the older one outdated as an
answer, and whether it is the better answer of the two. Training starts from the local embedder's weights; `make reader`
repeats it on the data listed in `data/reader/`. Words and positions are looked up in the embedder's own tables, and
weights are kept and used in 7 bits like the embedder's. ADR 0017 has the design.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from umi._core.ranking import logistic
from umi.errors import EmbeddingError
from umi.ports.pair_reader import Compared, Pair, Passage
from umi.providers.minilm import CLS, GIVEN, SEP, Floats, MiniLM, Numbers, layers
from umi.providers.weights import unpacked

WEIGHTS: Final = "pairs.npz"
LAYERS: Final = 6
EARLY_LAYERS: Final = 3  # after these a pair that surely is no change is decided
# Parts that a token can play: rows of the table `part`.
APART, OLDER, NEWER_REST, NEWER, BEFORE, QUESTION = range(6)
PARTS_COUNT: Final = 8  # rows of the table `part`; `BEFORE` is for training's first passes, two are unused
GAPS_COUNT: Final = 16
# Limits of each part of the input; training used the same.
_PASSAGE_TOKENS_MAX: Final = 56
_QUESTION_TOKENS_MAX: Final = 32
_SPEAKER_TOKENS_MAX: Final = 8
# Bounds between the classes of time between two statements: half an hour to 200 days.
_DAYS: Final = (1 / 48, 0.5, 2, 10, 45, 200)
UNDATED: Final = 7  # class when the time is not known
_SAME_SPEAKER: Final = 8  # added to the class when the same person made both statements
# The upper layers are asked where a probability after the lower ones is between this and 1 less this.
_UNSURE: Final = 0.2
# Of a message that are tokenised on each side of a statement; far more than fit in the input.
_AROUND_CHARACTERS: Final = 600
_STATEMENT_CHARACTERS: Final = 1_200  # of a statement that are tokenised; far more than fit in the input


@dataclass(frozen=True, slots=True)
class Encoding:
    """The tokens of a text, and the half-open range of characters of each."""

    ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """The part of a message that fits: its speaker, then tokens around the statement; `focus` marks its own."""

    ids: tuple[int, ...]
    focus: tuple[bool, ...]
    offsets: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Input:
    """One input of the encoder.

    `parts` is the part that each token plays; `older` and `newer` mark the tokens of the two statements; `gap` is the
    class of the time between them.
    """

    ids: tuple[int, ...]
    parts: tuple[int, ...]
    older: tuple[bool, ...]
    newer: tuple[bool, ...]
    gap: int


def gap_of(days: float | None, *, same_speaker: bool) -> int:
    """The row of the table `gap`: the class of the time between two statements, and whether one person made both."""
    passed = UNDATED if days is None else sum(days >= border for border in _DAYS)
    return passed + _SAME_SPEAKER * same_speaker


class Layout:
    """Builds the encoder's inputs; used by training as well.

    Args:
        tokenizer: The embedder's.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def asked(self, question: str, pair: Pair) -> Input:
        """The input of a question and a pair: [CLS] question [SEP] older [SEP] newer [SEP], each statement with its speaker."""
        asked = self.encode(question).ids[:_QUESTION_TOKENS_MAX]
        old, new = (self.piece(one, _PASSAGE_TOKENS_MAX) for one in (pair.older, pair.newer))
        before_old = [False] * (len(asked) + 2)
        before_new = [False] * (len(before_old) + len(old.ids) + 1)
        return Input(
            ids=(CLS, *asked, SEP, *old.ids, SEP, *new.ids, SEP),
            parts=(
                APART,
                *[QUESTION] * (len(asked) + 1),
                *(OLDER if one else APART for one in old.focus),
                APART,
                *(NEWER if one else NEWER_REST for one in new.focus),
                NEWER_REST,
            ),
            older=(*before_old, *old.focus, *[False] * (len(new.ids) + 2)),
            newer=(*before_new, *new.focus, False),
            gap=gap_of(pair.days, same_speaker=pair.older.speaker == pair.newer.speaker),
        )

    def encode(self, text: str) -> Encoding:
        """The tokens of a text, without [CLS] and [SEP]."""
        # No cache here: a text must not stay in memory after it was erased.
        encoded = self._tokenizer.encode(text, add_special_tokens=False)
        return Encoding(tuple(encoded.ids), tuple(encoded.offsets))

    def piece(self, passage: Passage, room: int) -> Piece:
        """The speaker, and as many tokens around the statement as there is room for."""
        # Only the surroundings of the statement are tokenised, so that the cost does not grow with the message.
        begun = max(0, passage.span[0] - _AROUND_CHARACTERS)
        ended = min(passage.span[1], passage.span[0] + _STATEMENT_CHARACTERS)
        text = self.encode(passage.text[begun : ended + _AROUND_CHARACTERS])
        start, end = passage.span[0] - begun, passage.span[1] - begun
        focus = tuple(last > start and first < end for first, last in text.offsets)
        begin, stop = 0, len(text.ids)
        # Too long: keep a window with the statement in its middle, as far as the message's ends allow.
        if stop > room:
            first = focus.index(True) if True in focus else 0
            width = min(sum(focus), room)
            begin = max(0, min(first - (room - width) // 2, stop - room))
            stop = begin + room
        who = self.encode(f"{passage.speaker}:").ids[:_SPEAKER_TOKENS_MAX]
        return Piece(
            (*who, *text.ids[begin:stop]),
            (*[False] * len(who), *focus[begin:stop]),
            (*[(0, 0)] * len(who), *((begun + first, begun + last) for first, last in text.offsets[begin:stop])),
        )


class LocalPairReader:
    """The encoder with its heads.

    Args:
        encoder: The local embedder, for its tables of words and positions.
        tokenizer: The embedder's.
        lower: An onnxruntime session of the first `EARLY_LAYERS`.
        upper: One of the remaining layers.
        tables: `part` (8, 384), `gap` (16, 384), and two heads for the output of each layer: `outdated` and `better`,
            each (6, 1152), and `outdated.bias` and `better.bias`, each (6,).
        version: Names the weights.
    """

    def __init__(
        self, encoder: MiniLM, tokenizer: Any, lower: Any, upper: Any, tables: dict[str, Floats], version: str
    ) -> None:
        self._encoder = encoder
        self._layout = Layout(tokenizer)
        self._lower = lower
        self._upper = upper
        self._tables = tables
        self._version = version

    @property
    def version(self) -> str:
        """Name of the weights."""
        return self._version

    def compare(self, question: str, pair: Pair) -> Compared:
        """Compare a pair in view of a question, in the calling thread.

        Raises:
            EmbeddingError: When onnxruntime fails.
        """
        given = self._layout.asked(question, pair)
        hidden = self._run(self._lower, self._start(given))
        early = self._compared(hidden, given, EARLY_LAYERS)
        # Most pairs are soon told apart; for those the upper half of the work is saved.
        if all(not _UNSURE < likely < 1 - _UNSURE for likely in (early.outdated, early.better)):
            return early
        return self._compared(self._run(self._upper, hidden), given, LAYERS)

    def _start(self, given: Input) -> Floats:
        start = self._encoder.words[list(given.ids)] + self._encoder.places[: len(given.ids)]
        start = start + self._tables["part"][list(given.parts)]
        start[0] += self._tables["gap"][given.gap]  # on [CLS], whose output is part of every verdict
        return np.asarray(start)

    @staticmethod
    def _run(session: Any, given: Floats) -> Floats:
        try:
            found: Floats = session.run(None, {GIVEN: given[None]})[0][0]
        except RuntimeError as error:  # base class of onnxruntime's exceptions
            raise EmbeddingError(f"the local reader failed on {len(given)} tokens: {error}") from error
        return found

    def _compared(self, hidden: Floats, given: Input, layer: int) -> Compared:
        """What the output of a layer says."""
        pooled, place = _pooled(hidden, given), layer - 1
        outdated, better = (
            pooled @ self._tables[name][place] + self._tables[f"{name}.bias"][place] for name in ("outdated", "better")
        )
        return Compared(float(logistic(np.float64(outdated))), float(logistic(np.float64(better))))


def load(encoder: MiniLM, tokenizer: Any, open_session: Callable[[bytes], Any]) -> LocalPairReader:
    """Load the pair reader beside a loaded embedder.

    Args:
        encoder: The embedder.
        tokenizer: Its tokenizer.
        open_session: Creates an onnxruntime session from a graph's bytes.
    """
    with resources.files("umi.providers").joinpath(WEIGHTS).open("rb") as file, np.load(file) as kept:
        tables = {name: kept[name] for name in kept.files}
    version = str(tables.pop("version"))
    numbers = Numbers(unpacked(tables, range(1, LAYERS + 1), ("0.gain", "0.shift")))
    lower = open_session(layers(numbers, EARLY_LAYERS, begins=True))
    upper = open_session(layers(numbers, LAYERS - EARLY_LAYERS))
    # Tables whose names begin with a digit belong to a layer and are in the sessions already.
    heads = {name: np.asarray(values, dtype=np.float32) for name, values in tables.items() if not name[0].isdigit()}
    return LocalPairReader(encoder, tokenizer, lower, upper, heads, version)


def _pooled(hidden: Floats, given: Input) -> Floats:
    """The input of a head, shape (1152,): the output of [CLS], and the mean over each statement's tokens."""
    return np.concatenate([hidden[0], *(_mean(hidden, np.array(mask)) for mask in (given.older, given.newer))])


def _mean(hidden: Floats, mask: npt.NDArray[np.bool_]) -> Floats:
    return np.asarray(hidden[mask].mean(axis=0) if mask.any() else np.zeros_like(hidden[0]))
