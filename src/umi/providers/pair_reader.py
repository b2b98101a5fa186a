"""The local reader: one encoder of six layers with a head for pairs of statements and one for questions.

It starts from the local embedder's weights and is fitted by `make reader` to what `data/reader/` lists; words and positions are looked up in
the embedder's own tables. Both texts stand in one input (a cross-encoder: Nogueira and Cho, 2019, "Passage Re-ranking with BERT"), each
token marked with the part that it plays: learned vectors tell a statement from the rest of its message, the older from the newer.
Weights are kept and used in 7 bits, as the embedder's are.
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
from umi.ports.pair_reader import VERDICTS, Compared, Pair, Passage
from umi.providers.minilm import CLS, GIVEN, SEP, Floats, MiniLM, Numbers, layers
from umi.providers.weights import likely, unpacked

WEIGHTS: Final = "pairs.npz"
LAYERS: Final = 6
EARLY_LAYERS: Final = 3  # after these a pair that is surely none is let go, and a question is answered
# The part that a token plays: a row of the table `part`.
APART, OLDER, NEWER_REST, NEWER, BEFORE, QUESTION = range(6)
PARTS_COUNT: Final = 8
GAPS_COUNT: Final = 16
_PASSAGE_TOKENS_MAX: Final = 56
_ANSWER_TOKENS_MAX: Final = 64
_QUESTION_TOKENS_MAX: Final = 48
_BEFORE_TOKENS_MAX: Final = 20
_SPEAKER_TOKENS_MAX: Final = 8
_DAYS: Final = (1 / 48, 0.5, 2, 10, 45, 200)  # borders between the classes of time between two statements
_UNDATED: Final = 7
_SAME_SPEAKER: Final = 8  # added to the class when one person said both
_SAYS_SO: Final = 0.5
_SURELY_NONE: Final = 0.97
_AROUND_CHARACTERS: Final = 600  # of a message on each side of a statement that are looked at
_STATEMENT_CHARACTERS: Final = 1_200  # of a statement; the model takes fewer


@dataclass(frozen=True, slots=True)
class Encoding:
    """Tokens of a text, and the half-open characters of each."""

    ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """What of a message is read: who said it, then tokens around the statement; `focus` are those of the statement."""

    ids: tuple[int, ...]
    focus: tuple[bool, ...]
    offsets: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Input:
    """One input of the encoder: tokens, the part that each plays, and which are the older and the newer statement's own.

    `gap` is the class of the time between the two. `offsets` are characters of the older message, then of the newer; (0, 0) for other tokens.
    """

    ids: tuple[int, ...]
    parts: tuple[int, ...]
    older: tuple[bool, ...]
    newer: tuple[bool, ...]
    gap: int
    offsets: tuple[tuple[int, int], ...] = ()


def gap_of(days: float | None, *, same_speaker: bool) -> int:
    """The class of the time between two statements and of whether one person said both."""
    passed = _UNDATED if days is None else sum(days >= border for border in _DAYS)
    return passed + _SAME_SPEAKER * same_speaker


class Layout:
    """Puts texts into the encoder's input. The fit and the product share it.

    Args:
        tokenizer: The embedder's.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def pair(self, pair: Pair) -> Input:
        """Older [SEP] before [SEP] newer, each by whoever said it."""
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
        """Question [SEP] statement, by whoever said it."""
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
        # Nothing is kept between calls: what was said must not outlive its erasure here.
        encoded = self._tokenizer.encode(text, add_special_tokens=False)
        return Encoding(tuple(encoded.ids), tuple(encoded.offsets))

    def _piece(self, passage: Passage, room: int) -> Piece:
        begun = max(0, passage.span[0] - _AROUND_CHARACTERS)
        ended = min(passage.span[1], passage.span[0] + _STATEMENT_CHARACTERS)
        text = self._encode(passage.text[begun : ended + _AROUND_CHARACTERS])
        start, end = passage.span[0] - begun, passage.span[1] - begun
        focus = tuple(last > start and first < end for first, last in text.offsets)
        begin, stop = 0, len(text.ids)
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
        encoder: Of the local embedder, for its tables of words and positions.
        tokenizer: The embedder's.
        lower: An onnxruntime session of the first `EARLY_LAYERS`.
        upper: One of the others.
        tables: `part` (8, 384), `gap` (16, 384); the heads `verdict` (1152, 7) and `answer` (1152, 1), each also as `early_...` on what the lower
            layers give, and `words` (384, 1), with a bias each.
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
        """Names the weights."""
        return self._version

    def compare(self, pair: Pair) -> Compared:
        """One pair, in this thread."""
        given = self._layout.pair(pair)
        lower = self._run(self._lower, self._start(given))
        early = self._verdict("early_verdict", lower, given)
        if early["none"] >= _SURELY_NONE:
            return Compared(early, pair.older.span, pair.newer.span)
        hidden = self._run(self._upper, lower)
        said = logistic(self._head("words", hidden)[:, 0].astype(np.float64))
        return Compared(
            self._verdict("verdict", hidden, given),
            _words(said, given.older, given.offsets, pair.older.span),
            _words(said, given.newer, given.offsets, pair.newer.span),
        )

    def answers(self, question: str, passage: Passage) -> float:
        """How likely it is that a statement answers a question, in this thread."""
        given = self._layout.question(question, passage)
        lower = self._run(self._lower, self._start(given))
        return float(logistic(self._head("early_answer", self._pooled(lower, given)).astype(np.float64))[0])

    def _start(self, given: Input) -> Floats:
        start = self._encoder.words[list(given.ids)] + self._encoder.places[: len(given.ids)]
        start = start + self._tables["part"][list(given.parts)]
        start[0] += self._tables["gap"][given.gap]
        return np.asarray(start)

    @staticmethod
    def _run(session: Any, given: Floats) -> Floats:
        try:
            found: Floats = session.run(None, {GIVEN: given[None]})[0][0]
        except RuntimeError as error:  # what onnxruntime's own exceptions derive from
            raise EmbeddingError(f"the local reader failed on {len(given)} tokens: {error}") from error
        return found

    def _head(self, name: str, given: Floats) -> Floats:
        return np.asarray(given @ self._tables[name] + self._tables[f"{name}.bias"])

    def _verdict(self, name: str, hidden: Floats, given: Input) -> dict[str, float]:
        return likely(VERDICTS, self._head(name, self._pooled(hidden, given)))

    @staticmethod
    def _pooled(hidden: Floats, given: Input) -> Floats:
        """What stands for the input: its first token, and the mean of each statement's own."""
        return np.concatenate([hidden[0], *(_mean(hidden, np.array(mask)) for mask in (given.older, given.newer))])


def load(encoder: MiniLM, tokenizer: Any, open_session: Callable[[bytes], Any]) -> LocalPairReader:
    """The reader beside a loaded embedder, whose sessions are opened alike."""
    with resources.files("umi.providers").joinpath(WEIGHTS).open("rb") as file, np.load(file) as kept:
        tables = {name: kept[name] for name in kept.files}
    version = str(tables.pop("version"))
    numbers = Numbers(unpacked(tables, range(1, LAYERS + 1), ("0.gain", "0.shift")))
    lower = open_session(layers(numbers, EARLY_LAYERS, begins=True))
    upper = open_session(layers(numbers, LAYERS - EARLY_LAYERS))
    heads = {name: np.asarray(values, dtype=np.float32) for name, values in tables.items() if not name[0].isdigit()}
    return LocalPairReader(encoder, tokenizer, lower, upper, heads, version)


def _mean(hidden: Floats, mask: npt.NDArray[np.bool_]) -> Floats:
    return np.asarray(hidden[mask].mean(axis=0) if mask.any() else np.zeros_like(hidden[0]))


def _words(
    said: npt.NDArray[np.float64], mask: Sequence[bool], offsets: Sequence[tuple[int, int]], span: tuple[int, int]
) -> tuple[int, int]:
    """The characters from the first to the last token that the verdict is about; all of the statement where none is."""
    chosen = [place for place, inside in enumerate(mask) if inside and said[place] >= _SAYS_SO]
    if not chosen:
        return span
    return max(offsets[chosen[0]][0], span[0]), min(offsets[chosen[-1]][1], span[1])
