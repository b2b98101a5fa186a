"""The local pair reader: an encoder of six layers that compares two statements, or a question with a statement.

Both texts stand in one input (a cross-encoder: Nogueira and Cho, 2019, "Passage Re-ranking with BERT"). Learned vectors
mark the part that each token plays: a statement or the rest of its message, older or newer. One head gives the verdict
on a pair, one says whether a statement answers a question, one marks the words concerned. Training starts from the
local embedder's weights; `make reader` repeats it on the data listed in `data/reader/`. Words and positions are looked
up in the embedder's own tables, and weights are kept and used in 7 bits like the embedder's. ADR 0017 has the design.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from umi._core.ranking import logistic
from umi.errors import EmbeddingError
from umi.ports.pair_reader import CHANGES, VERDICTS, Compared, Pair, Passage
from umi.providers.minilm import CLS, GIVEN, SEP, Floats, MiniLM, Numbers, layers
from umi.providers.weights import likely, unpacked

WEIGHTS: Final = "pairs.npz"
LAYERS: Final = 6
EARLY_LAYERS: Final = 3  # after these a pair that is almost surely unrelated is decided, and a question is answered
# Parts that a token can play: rows of the table `part`.
APART, OLDER, NEWER_REST, NEWER, BEFORE, QUESTION = range(6)
PARTS_COUNT: Final = 8  # rows of the table `part`, of which two are unused
GAPS_COUNT: Final = 16
# Limits of each part of the input; training used the same.
_PASSAGE_TOKENS_MAX: Final = 56
_ANSWER_TOKENS_MAX: Final = 64
_QUESTION_TOKENS_MAX: Final = 48
_BEFORE_TOKENS_MAX: Final = 20
_SPEAKER_TOKENS_MAX: Final = 8
# Bounds between the classes of time between two statements: half an hour to 200 days.
_DAYS: Final = (1 / 48, 0.5, 2, 10, 45, 200)
_UNDATED: Final = 7  # class when the time is not known
_SAME_SPEAKER: Final = 8  # added to the class when the same person made both statements
_SAYS_SO: Final = 0.5  # probability from which a word is one that the verdict is about
_SURELY_NONE: Final = 0.97  # probability of "none" after the lower layers from which the upper ones are skipped
# Probability of a change after the lower layers below which the upper ones find none: of 1,287 pairs of four authors whom the
# reader was not fitted to no change is missed below .12.
_SURELY_KEPT: Final = 0.08
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
    class of the time between them. `offsets` are characters of the older message, then of the newer; (0, 0) for other
    tokens.
    """

    ids: tuple[int, ...]
    parts: tuple[int, ...]
    older: tuple[bool, ...]
    newer: tuple[bool, ...]
    gap: int
    offsets: tuple[tuple[int, int], ...] = ()


def gap_of(days: float | None, *, same_speaker: bool) -> int:
    """The row of the table `gap`: the class of the time between two statements, and whether one person made both."""
    passed = _UNDATED if days is None else sum(days >= border for border in _DAYS)
    return passed + _SAME_SPEAKER * same_speaker


class Layout:
    """Builds the encoder's inputs; used by training as well.

    Args:
        tokenizer: The embedder's.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def pair(self, pair: Pair) -> Input:
        """The input of a pair: [CLS] older [SEP] message before [SEP] newer [SEP], each with its speaker."""
        old, new = (self._piece(one, _PASSAGE_TOKENS_MAX) for one in (pair.older, pair.newer))
        before = self._encode(pair.before).ids[-_BEFORE_TOKENS_MAX:] if pair.before else ()
        between = (*before, SEP) if before else ()
        head, middle = len(old.ids) + 2, len(between)
        nothing = (0, 0)
        return Input(
            ids=(CLS, *old.ids, SEP, *between, *new.ids, SEP),
            parts=(
                APART,
                *(OLDER if one else APART for one in old.focus),
                APART,
                *[BEFORE] * middle,
                *(NEWER if one else NEWER_REST for one in new.focus),
                NEWER_REST,
            ),
            older=(False, *old.focus, *[False] * (1 + middle + len(new.ids) + 1)),
            newer=(*[False] * (head + middle), *new.focus, False),
            gap=gap_of(pair.days, same_speaker=pair.older.speaker == pair.newer.speaker),
            offsets=(nothing, *old.offsets, *[nothing] * (1 + middle), *new.offsets, nothing),
        )

    def question(self, question: str, passage: Passage) -> Input:
        """The input of a question: [CLS] question [SEP] statement [SEP], the statement with its speaker."""
        asked = self._encode(question).ids[:_QUESTION_TOKENS_MAX]
        said = self._piece(passage, _ANSWER_TOKENS_MAX)
        head = len(asked) + 2
        return Input(
            ids=(CLS, *asked, SEP, *said.ids, SEP),
            parts=(*[QUESTION] * head, *(OLDER if one else APART for one in said.focus), APART),
            older=(*[False] * head, *said.focus, False),
            newer=(False, *[True] * len(asked), *[False] * (len(said.ids) + 2)),
            gap=_UNDATED,
        )

    def _encode(self, text: str) -> Encoding:
        # No cache here: a text must not stay in memory after it was erased.
        encoded = self._tokenizer.encode(text, add_special_tokens=False)
        return Encoding(tuple(encoded.ids), tuple(encoded.offsets))

    def _piece(self, passage: Passage, room: int) -> Piece:
        # Only the surroundings of the statement are tokenised, so that the cost does not grow with the message.
        begun = max(0, passage.span[0] - _AROUND_CHARACTERS)
        ended = min(passage.span[1], passage.span[0] + _STATEMENT_CHARACTERS)
        text = self._encode(passage.text[begun : ended + _AROUND_CHARACTERS])
        start, end = passage.span[0] - begun, passage.span[1] - begun
        focus = tuple(last > start and first < end for first, last in text.offsets)
        begin, stop = 0, len(text.ids)
        # Too long: keep a window with the statement in its middle, as far as the message's ends allow.
        if stop > room:
            first = focus.index(True) if True in focus else 0
            width = min(sum(focus), room)
            begin = max(0, min(first - (room - width) // 2, stop - room))
            stop = begin + room
        who = self._encode(f"{passage.speaker}:").ids[:_SPEAKER_TOKENS_MAX]
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
        tables: `part` (8, 384), `gap` (16, 384); the heads `verdict` (1152, 7) and `answer` (1152, 1), each also as
            `early_...` for the output of the lower layers, and `words` (384, 1); each head with a bias.
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

    def compare(self, pair: Pair) -> Compared:
        """Judge one pair, in the calling thread.

        Raises:
            EmbeddingError: When onnxruntime fails.
        """
        given, lower, early = self._begun(pair)
        # Most pairs are unrelated; for those the upper half of the work is saved.
        if early["none"] >= _SURELY_NONE:
            return Compared(early, pair.older.span, pair.newer.span)
        hidden = self._run(self._upper, lower)
        said = logistic(self._head("words", hidden)[:, 0].astype(np.float64))
        return Compared(
            self._verdict("verdict", hidden, given),
            _words(said, given.older, given.offsets, pair.older.span),
            _words(said, given.newer, given.offsets, pair.newer.span),
        )

    def changes(self, pair: Pair) -> float:
        """The probability that the older statement of a pair holds no longer, computed in the calling thread.

        Raises:
            EmbeddingError: When onnxruntime fails.
        """
        given, lower, early = self._begun(pair)
        changed = sum(early[name] for name in CHANGES)
        if changed < _SURELY_KEPT or early["none"] >= _SURELY_NONE:
            return changed
        later = self._verdict("verdict", self._run(self._upper, lower), given)
        return sum(later[name] for name in CHANGES)

    def answers(self, question: str, passage: Passage) -> float:
        """The probability that a statement answers a question, computed in the calling thread.

        Raises:
            EmbeddingError: When onnxruntime fails.
        """
        given = self._layout.question(question, passage)
        lower = self._run(self._lower, self._start(given))
        return float(logistic(self._head("early_answer", self._pooled(lower, given)).astype(np.float64))[0])

    def _begun(self, pair: Pair) -> tuple[Input, Floats, dict[str, float]]:
        """A pair's input, the output of the lower layers, and the verdict after them."""
        given = self._layout.pair(pair)
        lower = self._run(self._lower, self._start(given))
        return given, lower, self._verdict("early_verdict", lower, given)

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

    def _head(self, name: str, given: Floats) -> Floats:
        return np.asarray(given @ self._tables[name] + self._tables[f"{name}.bias"])

    def _verdict(self, name: str, hidden: Floats, given: Input) -> dict[str, float]:
        return likely(VERDICTS, self._head(name, self._pooled(hidden, given)))

    @staticmethod
    def _pooled(hidden: Floats, given: Input) -> Floats:
        """The input of a head, shape (1152,): the output of [CLS], and the mean over each statement's tokens."""
        return np.concatenate([hidden[0], *(_mean(hidden, np.array(mask)) for mask in (given.older, given.newer))])


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


def _mean(hidden: Floats, mask: npt.NDArray[np.bool_]) -> Floats:
    return np.asarray(hidden[mask].mean(axis=0) if mask.any() else np.zeros_like(hidden[0]))


def _words(
    said: npt.NDArray[np.float64], mask: Sequence[bool], offsets: Sequence[tuple[int, int]], span: tuple[int, int]
) -> tuple[int, int]:
    """The characters from the first to the last word that the verdict is about; else the whole statement."""
    chosen = [place for place, inside in enumerate(mask) if inside and said[place] >= _SAYS_SO]
    if not chosen:
        return span
    return max(offsets[chosen[0]][0], span[0]), min(offsets[chosen[-1]][1], span[1])
