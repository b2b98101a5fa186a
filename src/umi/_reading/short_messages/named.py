"""A message is read as it is embedded, behind its speaker's name, so that the reader and the embedder share their lower layers."""

from __future__ import annotations

from dataclasses import dataclass

from umi._core.text import indexed_line
from umi.ports.text_reader import OpenText, TextReader
from umi.types import Episode


@dataclass(frozen=True, slots=True)
class _Named:
    """Reads what one speaker said. Satisfies `umi.ports.text_reader.TextReader`."""

    reader: TextReader
    name: str

    def read(self, text: str, before: str = "") -> OpenText:
        return self.reader.read(text, self.name + before)


def reader_of(episode: Episode, reader: TextReader | None) -> TextReader | None:
    """The reader for what this episode says; None without one."""
    name = indexed_line("", episode.speaker)
    return _Named(reader, name) if reader is not None and name else reader
