"""The reader of short messages: two layers of its own on the local embedder's lower four.

`lab/tools/fit_reader.py` fits them, starting from the embedder's upper layers, to phrases that are in this repository. What a text names and what is
known of it are added, as learned vectors, to the tokens that name it; what it is taken to speak of is added to the mark that begins
the text. (Marked spans: Soares et al., 2019, "Matching the Blanks".) Weights are kept in 7 bits, as the embedder's are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

import numpy as np

from umi.errors import EmbeddingError
from umi.ports.text_reader import ACTS, KINDS, MARKS, ROLES, STATES, WHICH, Interpretation, Judged
from umi.providers.minilm import GIVEN, UPPER_LAYERS, Floats, MiniLM, Numbers, layers
from umi.providers.weights import likely, unpacked

WEIGHTS: Final = "reader.npz"
WITHOUT_STATE: Final = 2 * len(STATES)  # the row of `state` for a text of which only the kind is asked


@dataclass(frozen=True, slots=True)
class LocalReader:
    """Satisfies `umi.ports.text_reader.TextReader`.

    Shapes: `marks` (11, 384), `kinds` (13, 384) and `states` (7, 384) are added to tokens; `heads` (384, classes) with a bias each.
    """

    encoder: MiniLM
    tokenizer: Any
    upper: Any
    tables: dict[str, Floats]

    def read(self, text: str) -> LocalText:
        """A text; see `umi.ports.text_reader.TextReader`."""
        encoded = self.tokenizer.encode(text, add_special_tokens=False)
        try:
            return LocalText(self, encoded.offsets, self.encoder.states(encoded.ids))
        except RuntimeError as error:  # what onnxruntime's own exceptions derive from
            raise EmbeddingError(f"the reader of messages failed on {len(text)} characters: {error}") from error

    def asked(self, take: Interpretation) -> Floats:
        """What is added to the mark that begins the text."""
        kind = len(KINDS) if take.kind == WHICH else KINDS.index(take.kind)
        state = WITHOUT_STATE if take.kind == WHICH else 2 * STATES.index(take.state) + take.own
        return np.asarray(self.tables["kind"][kind] + self.tables["state"][state])

    def head(self, name: str, hidden: Floats) -> Floats:
        """Logits by class."""
        return np.asarray(hidden @ self.tables[f"{name}.head"] + self.tables[f"{name}.bias"])


@dataclass(frozen=True, slots=True)
class LocalText:
    """Satisfies `umi.ports.text_reader.OpenText`: characters of each token, and what the lower layers made of them, shape (tokens + 2, 384)."""

    reader: LocalReader
    offsets: Sequence[tuple[int, int]]
    states: Floats

    def judge(self, take: Interpretation) -> Judged:
        """The text, taken one way; see `umi.ports.text_reader.OpenText`."""
        states = self.states.copy()
        states[0] += self.reader.asked(take)
        states[1:-1] += self.reader.tables["mark"][marked(self.offsets, take)]
        try:
            hidden: Floats = self.reader.upper.run(None, {GIVEN: states[None]})[0][0]
        except RuntimeError as error:
            raise EmbeddingError(f"the reader of messages failed on {len(states)} tokens: {error}") from error
        roles = [likely(ROLES, row) for row in self.reader.head("role", hidden[1:-1])] if take.kind != WHICH else []
        return Judged(
            likely(KINDS, self.reader.head("kind", hidden[0])),
            likely(ACTS, self.reader.head("act", hidden[0])),
            [(start, end, role) for (start, end), role in zip(self.offsets, roles, strict=False)],
        )


def load(encoder: MiniLM, tokenizer: Any, open_session: Any) -> LocalReader:
    """The reader on a loaded embedder, whose sessions are opened alike."""
    with resources.files("umi.providers").joinpath(WEIGHTS).open("rb") as file, np.load(file) as kept:
        tables = {name: kept[name].astype(np.float32) for name in kept.files}
    session = open_session(layers(Numbers(unpacked(tables, range(UPPER_LAYERS))), UPPER_LAYERS))
    small = {name: values for name, values in tables.items() if not name[0].isdigit()}
    return LocalReader(encoder, tokenizer, session, small)


def marked(offsets: Sequence[tuple[int, int]], take: Interpretation) -> list[int]:
    """The row of `mark` for each token; 0 adds nothing."""
    return [
        next((MARKS.index(mark) + 1 for first, last, mark in take.marks if start < last and first < end), 0)
        for start, end in offsets
    ]
