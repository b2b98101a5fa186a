"""Who reports to `umi learn run`: files and folders under the name of their full path, or all under one name."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from umi import IntelligenceLoader, ProviderQualityWeights, QualitySignal, SignalError
from umi.limits import NAME_BYTES_MAX
from umi.signals import FileSignalProvider, JUnitSignalProvider, PullRequestSignalProvider

KEY_VARIABLE = "UMI_SIGNAL_KEY"

_Reader = FileSignalProvider | JUnitSignalProvider | PullRequestSignalProvider


@dataclass(frozen=True, slots=True)
class Sources:
    """What a run reads, and the name under which it reports; None names each source by its kind and full path."""

    signals: Sequence[Path]
    junit: Sequence[Path]
    pulls: Sequence[Path]
    provider: str | None = None


def loader(sources: Sources) -> IntelligenceLoader:
    """The providers of a run.

    Raises:
        InvalidInput: When a name or the key is no valid one, or there are too many sources.
    """
    readers = list(_readers(sources, os.environ.get(KEY_VARIABLE, "").encode() or None))
    if sources.provider is not None:
        return IntelligenceLoader([_Together(sources.provider, readers)])
    return IntelligenceLoader(readers)


def _readers(sources: Sources, key: bytes | None) -> Iterator[_Reader]:
    # Resolved: however a path is spelled, it is the same reporter, and what it says counts once.
    for path in _resolved(sources.signals):
        yield FileSignalProvider(path, name=_name("files", path), key=key)
    for path in _resolved(sources.junit):
        yield JUnitSignalProvider(path, name=_name("junit", path), key=key)
    for path in _resolved(sources.pulls):
        yield PullRequestSignalProvider(path, name=_name("pull-requests", path), key=key)
    if not (sources.signals or sources.junit or sources.pulls):
        yield FileSignalProvider(key=key)


def _name(kind: str, path: Path) -> str:
    name = f"{kind}:{path}"
    packed = os.fsencode(name)
    # A path may be longer than a name; its hash is as good a name for the reporter.
    return name if len(packed) <= NAME_BYTES_MAX else f"{kind}:{hashlib.sha256(packed).hexdigest()}"


def _resolved(paths: Sequence[Path]) -> list[Path]:
    return list(dict.fromkeys(path.resolve() for path in paths))


class _Together:
    """Several sources that report under one name. One that fails costs its own signals."""

    def __init__(self, name: str, readers: Sequence[_Reader]) -> None:
        self._name, self._readers = name, readers
        self._failed: list[tuple[str, str]] = []

    @property
    def name(self) -> str:
        return self._name

    @property
    def quarantined(self) -> Sequence[tuple[str, str]]:
        return [*self._failed, *(one for reader in self._readers for one in reader.quarantined)]

    def load_signals(self) -> list[QualitySignal]:
        self._failed = []
        found: list[QualitySignal] = []
        for reader in self._readers:
            try:
                found += reader.load_signals()
            except SignalError as error:
                self._failed.append((reader.name, str(error)))
        return found

    def quality_weights(self) -> ProviderQualityWeights | None:
        return None
