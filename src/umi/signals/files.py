"""Quality signals from JSON files: an array per file, or one object per line (seed 003)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from umi.errors import InvalidInput, SignalError
from umi.signals.reading import Source, SourceProvider
from umi.types import ProviderQualityWeights, QualitySignal, signal_from

DEFAULT_FOLDERS: Final = (Path(".claude/intelligence/data"), Path(".umi/intelligence"))


class FileSignalProvider(SourceProvider):
    """Reads `*.json` (an array of signals) and `*.jsonl` (one signal per line).

    Args:
        path: A file or a folder; None reads the default folders `.claude/intelligence/data/` (seed 003) and
            `.umi/intelligence/`.
        name: Name of the provider.
        key: When given, files without a valid seal are refused; see `umi.signals.seal`.
        weights: How quality factors are weighed; None uses the defaults.

    Raises:
        InvalidInput: When the key is shorter than 16 bytes, the path or the name is none, or a weight is out of its range.
    """

    suffixes = (".json", ".jsonl")

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        name: str = "files",
        key: bytes | None = None,
        weights: ProviderQualityWeights | None = None,
    ) -> None:
        super().__init__(path, name=name, key=key, weights=weights)
        # Both default folders are read; the base class takes one path.
        if path is None:
            self._paths = DEFAULT_FOLDERS

    def records(self, source: Source) -> Iterator[object]:
        """The entries of a JSON array, or the non-blank lines of a JSON Lines file.

        Raises:
            SignalError: When a `.json` file is not an array.
        """
        if source.path.suffix == ".jsonl":
            # Lines are parsed one by one in `signal`, so that a bad line costs only itself.
            return iter([line for line in source.text().split("\n") if line.strip()])
        return json_array(source)

    def signal(self, source: Source, record: object) -> QualitySignal:
        """Parse one record: an object, or a line that holds one.

        Raises:
            InvalidInput: When the record is not a valid signal; the message says why.
        """
        if source.path.suffix == ".jsonl":
            try:
                record = json.loads(str(record))
            except (ValueError, RecursionError) as error:
                # RecursionError: input from others may be nested deeper than the parser's stack.
                raise InvalidInput(f"not JSON: {error}") from None
        return signal_from(record)


def json_array(source: Source) -> Iterator[object]:
    """The entries of a file that is one JSON array.

    Raises:
        SignalError: When it is not.
    """
    try:
        found = json.loads(source.text())
    except (ValueError, RecursionError) as error:
        raise SignalError(f"{source.path} is not JSON: {error}") from None
    if not isinstance(found, list):
        raise SignalError(f"{source.path} must be an array, and is a {type(found).__name__}")
    return iter(found)
