"""The local answer reader: an encoder of six layers that reads the first hits of a question together.

The question and the statements, the oldest first, stand in one input (a cross-encoder: Nogueira and Cho, 2019, "Passage
Re-ranking with BERT").
Learned vectors mark the part that each token plays, which of the statements it is of, counted from the newest, and how long
before the newest that one was said. One head gives each statement a logit, and one says that none of them answers: a softmax
over both says which one is the answer. Another says which are outdated. Training starts from the local embedder's weights;
`make reader` repeats it on the data listed in `data/reader/`. Words and positions are looked up in the embedder's own
tables, and weights are kept and used in 7 bits like the embedder's. ADR 0017 has the design.
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
from umi.ports.answer_reader import Dated, Passage, Reading
from umi.providers.minilm import CLS, GIVEN, SEP, Floats, MiniLM, layers
from umi.providers.weights import KeptTensors

WEIGHTS: Final = "answers.npz"
LAYERS: Final = 6
# Parts that a token can play: rows of the table `part`.
REST, STATEMENT, QUESTION = range(3)
# Rows of the table `turn`: 0 for the question, 1 for the newest statement, 2 for the one before it, and so on.
TURNS_COUNT: Final = 10
# Bounds between the classes of time before the newest statement, in days: half an hour to 200 days.
_DAYS: Final = (1 / 48, 0.5, 2, 10, 45, 200)
GAPS_COUNT: Final = len(_DAYS) + 1
# Limits of each part of the input; training used the same.
_PASSAGE_TOKENS_MAX: Final = 56
_QUESTION_TOKENS_MAX: Final = 32
_SPEAKER_TOKENS_MAX: Final = 8
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
    """The part of a message that fits: its speaker, then tokens around the statement; `focus` marks the statement's own."""

    ids: tuple[int, ...]
    focus: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Input:
    """One input of the encoder, a value for each token.

    `parts` is the part that it plays; `turns` the statement that it is of, counted from the newest, 0 for the question; `gaps`
    the class of the time before the newest. `spans` are the half-open places of each statement with its speaker, in the
    order given, and `focus` marks the tokens of the statements themselves.
    """

    ids: tuple[int, ...]
    parts: tuple[int, ...]
    turns: tuple[int, ...]
    gaps: tuple[int, ...]
    focus: tuple[bool, ...]
    spans: tuple[tuple[int, int], ...]


def gap_of(days: float) -> int:
    """The row of the table `gap`: the class of the time before the newest statement."""
    return sum(days >= border for border in _DAYS)


class Layout:
    """Builds the encoder's inputs; used by training as well.

    Args:
        tokenizer: The embedder's.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def asked(self, question: str, told: Sequence[Dated]) -> Input:
        """The input of a question and statements: [CLS] question [SEP], then each statement with its speaker and a [SEP].

        Args:
            question: What was asked.
            told: The oldest first.
        """
        return together(self.question(question), [self.piece(one.passage) for one in told], [one.days for one in told])

    def question(self, text: str) -> tuple[int, ...]:
        """As many tokens of a question as fit."""
        return self.encode(text).ids[:_QUESTION_TOKENS_MAX]

    def encode(self, text: str) -> Encoding:
        """The tokens of a text, without [CLS] and [SEP]."""
        # No cache here: a text must not stay in memory after it was erased.
        encoded = self._tokenizer.encode(text, add_special_tokens=False)
        return Encoding(tuple(encoded.ids), tuple(encoded.offsets))

    def piece(self, passage: Passage) -> Piece:
        """The speaker of a statement, and as many tokens around it as fit."""
        # Only the surroundings of the statement are tokenised, so that the cost does not grow with the message.
        begun = max(0, passage.span[0] - _AROUND_CHARACTERS)
        ended = min(passage.span[1], passage.span[0] + _STATEMENT_CHARACTERS)
        text = self.encode(passage.text[begun : ended + _AROUND_CHARACTERS])
        start, end = passage.span[0] - begun, passage.span[1] - begun
        focus = tuple(last > start and first < end for first, last in text.offsets)
        begin, stop = 0, len(text.ids)
        room = _PASSAGE_TOKENS_MAX
        # Too long: keep a window with the statement in its middle, as far as the message's ends allow.
        if stop > room:
            first = focus.index(True) if True in focus else 0
            width = min(sum(focus), room)
            begin = max(0, min(first - (room - width) // 2, stop - room))
            stop = begin + room
        who = self.encode(f"{passage.speaker}:").ids[:_SPEAKER_TOKENS_MAX]
        return Piece((*who, *text.ids[begin:stop]), (*[False] * len(who), *focus[begin:stop]))


def together(question: Sequence[int], pieces: Sequence[Piece], days: Sequence[float]) -> Input:
    """The input of a question's tokens and the pieces of statements, the oldest first, `days` before the newest."""
    ids, parts = [CLS, *question, SEP], [REST, *[QUESTION] * (len(question) + 1)]
    turns, gaps, focus = [0] * len(ids), [0] * len(ids), [False] * len(ids)
    spans = []
    for place, (piece, before) in enumerate(zip(pieces, days, strict=True)):
        count = len(piece.ids) + 1
        spans.append((len(ids), len(ids) + count - 1))
        ids += [*piece.ids, SEP]
        parts += [*(STATEMENT if one else REST for one in piece.focus), REST]
        turns += [min(len(pieces) - place, TURNS_COUNT - 1)] * count
        gaps += [gap_of(before)] * count
        focus += [*piece.focus, False]
    return Input(tuple(ids), tuple(parts), tuple(turns), tuple(gaps), tuple(focus), tuple(spans))


class LocalAnswerReader:
    """The encoder with its heads.

    Args:
        encoder: The local embedder, for its tables of words and positions.
        tokenizer: The embedder's.
        session: An onnxruntime session of the layers.
        tables: `part` (3, 384), `turn` (10, 384), `gap` (7, 384), and the heads `answers` and `outdated`, each (1152,), and
            `nothing` (384,), with `answers.bias`, `outdated.bias` and `nothing.bias`, each (1,).
        version: Names the weights.
    """

    def __init__(self, encoder: MiniLM, tokenizer: Any, session: Any, tables: dict[str, Floats], version: str) -> None:
        self._encoder = encoder
        self._layout = Layout(tokenizer)
        self._session = session
        self._tables = tables
        self._version = version

    @property
    def version(self) -> str:
        """Name of the weights."""
        return self._version

    def read(self, question: str, told: Sequence[Dated]) -> list[Reading]:
        """Read statements in view of a question, in the calling thread; see `umi.ports.answer_reader.AnswerReader`.

        Raises:
            EmbeddingError: When onnxruntime fails.
        """
        if not told:
            return []
        given = self._layout.asked(question, told)
        hidden = self._run(self._start(given))
        pooled = np.stack([_pooled(hidden, given, span) for span in given.spans])
        logits = np.append(self._head("answers", pooled), self._head("nothing", hidden[0]))
        # Subtracting the largest logit avoids overflow.
        raised = np.exp(logits - logits.max())
        answers, outdated = raised[:-1] / raised.sum(), logistic(self._head("outdated", pooled))
        return [Reading(float(one), float(other)) for one, other in zip(answers, outdated, strict=True)]

    def _start(self, given: Input) -> Floats:
        ids, tables = list(given.ids), self._tables
        start = self._encoder.words[ids] + self._encoder.places[: len(ids)]
        start = start + tables["part"][list(given.parts)] + tables["turn"][list(given.turns)]
        begin = given.spans[0][0]  # no time is told of the question
        start[begin:] += tables["gap"][list(given.gaps[begin:])]
        return np.asarray(start)

    def _run(self, given: Floats) -> Floats:
        try:
            found: Floats = self._session.run(None, {GIVEN: given[None]})[0][0]
        except RuntimeError as error:  # base class of onnxruntime's exceptions
            raise EmbeddingError(f"the local reader failed on {len(given)} tokens: {error}") from error
        return found

    def _head(self, name: str, pooled: Floats) -> npt.NDArray[np.float64]:
        """The logits of a head, in double precision."""
        return np.asarray(pooled @ self._tables[name] + self._tables[f"{name}.bias"], dtype=np.float64)


def load(encoder: MiniLM, tokenizer: Any, open_session: Callable[[bytes], Any]) -> LocalAnswerReader:
    """Load the answer reader beside a loaded embedder.

    Args:
        encoder: The embedder.
        tokenizer: Its tokenizer.
        open_session: Creates an onnxruntime session from a graph's bytes.
    """
    with resources.files("umi.providers").joinpath(WEIGHTS).open("rb") as file, np.load(file) as kept:
        tables = {name: kept[name] for name in kept.files}
    version = str(tables.pop("version"))
    numbers = KeptTensors(tables, range(1, LAYERS + 1), ("0.gain", "0.shift"))
    session = open_session(layers(numbers, LAYERS, begins=True))
    # Tables whose names begin with a digit belong to a layer and are in the session already.
    heads = {name: np.asarray(values, dtype=np.float32) for name, values in tables.items() if not name[0].isdigit()}
    return LocalAnswerReader(encoder, tokenizer, session, heads, version)


def _pooled(hidden: Floats, given: Input, span: tuple[int, int]) -> Floats:
    """The input of a head for one statement, shape (1152,): [CLS], the mean over the statement, the mean over its piece."""
    inside = slice(*span)
    return np.concatenate([hidden[0], _mean(hidden[inside], given.focus[inside]), _mean(hidden[inside])])


def _mean(hidden: Floats, mask: Sequence[bool] | None = None) -> Floats:
    some = hidden if mask is None else hidden[np.array(mask, dtype=np.bool_)]
    return np.asarray(some.mean(axis=0) if len(some) else np.zeros(hidden.shape[1:], dtype=np.float32))
