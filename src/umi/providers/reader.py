"""The reader of short messages: two fitted transformer layers on top of the local embedder's four lower ones.

`lab/tools/fit_reader.py` fits them to phrases in this repository, starting from the embedder's upper layers. Besides
the text, the input states an interpretation: learned vectors are added to the tokens of marked spans, and to [CLS] for
the kind of fact and what is known of it. (Marked spans: Soares et al., 2019, "Matching the Blanks".) Weights are kept
and used in 7 bits, like the embedder's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

import numpy as np

from umi.errors import EmbeddingError
from umi.ports.text_reader import ACTS, KINDS, MARKS, ROLES, STATES, WHICH, Interpretation, Judged
from umi.providers.minilm import GIVEN, UPPER_LAYERS, Floats, MiniLM, layers
from umi.providers.weights import KeptTensors, likely, likely_rows

WEIGHTS: Final = "reader.npz"
WITHOUT_STATE: Final = 2 * len(STATES)  # row of the table `state` when only the kind is asked


@dataclass(frozen=True, slots=True)
class LocalReader:
    """Satisfies `umi.ports.text_reader.TextReader`.

    Shapes of `tables`: `mark` (11, 384), `kind` (13, 384) and `state` (7, 384) are added to token vectors; `role.head`,
    `kind.head` and `act.head` (384, classes), each with a bias.
    """

    encoder: MiniLM
    tokenizer: Any
    upper: Any
    tables: dict[str, Floats]

    def line(self, text: str) -> LocalLine:
        """Run the lower layers on a line, as the embedder does.

        Raises:
            EmbeddingError: When onnxruntime fails.
        """
        # The lower layers do not depend on the interpretation, so they run once per line.
        encoded = self.tokenizer.encode(text, add_special_tokens=False)
        try:
            return LocalLine(encoded.offsets, self.encoder.states(encoded.ids))
        except RuntimeError as error:  # base class of onnxruntime's exceptions
            raise EmbeddingError(f"the reader of messages failed on {len(text)} characters: {error}") from error

    def text(self, line: LocalLine, start: int) -> LocalText:
        """The text that begins at a character of a line, to be judged. The upper layers do not see what stands before it."""
        before = sum(1 for first, _ in line.offsets if first < start)
        offsets = [(first - start, end - start) for first, end in line.offsets[before:]]
        return LocalText(self, line, offsets, np.concatenate([line.states[:1], line.states[1 + before :]]))

    def asked(self, take: Interpretation) -> Floats:
        """The vector that is added to [CLS] for an interpretation."""
        # The last row of each table stands for "which kind?"; then nothing is stated about the fact.
        kind = len(KINDS) if take.kind == WHICH else KINDS.index(take.kind)
        state = WITHOUT_STATE if take.kind == WHICH else 2 * STATES.index(take.state) + take.own
        return np.asarray(self.tables["kind"][kind] + self.tables["state"][state])

    def head(self, name: str, hidden: Floats) -> Floats:
        """The logits of a head, by class."""
        return np.asarray(hidden @ self.tables[f"{name}.head"] + self.tables[f"{name}.bias"])


@dataclass(frozen=True, slots=True, weakref_slot=True)
class LocalLine:
    """A line after the lower layers.

    `offsets` are the characters of each token, `states` the lower layers' output, shape (tokens + 2, 384).
    """

    offsets: Sequence[tuple[int, int]]
    states: Floats


@dataclass(frozen=True, slots=True)
class LocalText:
    """A text in a line that is open. Satisfies `umi.ports.text_reader.OpenText`.

    `offsets` and `states` as of `LocalLine`, of the text alone.
    """

    reader: LocalReader
    line: LocalLine  # held, so that whoever embeds the line finds it open
    offsets: Sequence[tuple[int, int]]
    states: Floats

    def judge(self, take: Interpretation) -> Judged:
        """Judge the text under one interpretation; see `umi.ports.text_reader.OpenText`.

        Raises:
            EmbeddingError: When onnxruntime fails.
        """
        states = self.states.copy()  # the same text may be judged under several interpretations
        states[0] += self.reader.asked(take)
        states[1:-1] += self.reader.tables["mark"][marked(self.offsets, take)]
        try:
            hidden: Floats = self.reader.upper.run(None, {GIVEN: states[None]})[0][0]
        except RuntimeError as error:
            raise EmbeddingError(f"the reader of messages failed on {len(states)} tokens: {error}") from error
        roles = [] if take.kind == WHICH else likely_rows(ROLES, self.reader.head("role", hidden[1:-1]))
        # `roles` is empty when only the kind was asked, so `zip` may not be strict.
        return Judged(
            likely(KINDS, self.reader.head("kind", hidden[0])),
            likely(ACTS, self.reader.head("act", hidden[0])),
            [(start, end, role) for (start, end), role in zip(self.offsets, roles, strict=False)],
        )


def load(encoder: MiniLM, tokenizer: Any, open_session: Any) -> LocalReader:
    """Load the reader on top of a loaded embedder.

    Args:
        encoder: The embedder.
        tokenizer: Its tokenizer.
        open_session: Creates an onnxruntime session from a graph's bytes.
    """
    with resources.files("umi.providers").joinpath(WEIGHTS).open("rb") as file, np.load(file) as kept:
        tables = {name: kept[name] for name in kept.files}
    session = open_session(layers(KeptTensors(tables, range(UPPER_LAYERS)), UPPER_LAYERS))
    small = {name: values.astype(np.float32) for name, values in tables.items() if not name[0].isdigit()}
    return LocalReader(encoder, tokenizer, session, small)


def marked(offsets: Sequence[tuple[int, int]], take: Interpretation) -> list[int]:
    """The row of the table `mark` for each token; row 0 for tokens without a mark."""
    return [
        next((MARKS.index(mark) + 1 for first, last, mark in take.marks if start < last and first < end), 0)
        for start, end in offsets
    ]
