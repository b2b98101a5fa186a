"""Reading signal files: finding them, limiting their size and, when a key is given, verifying their seal.

The seal of `signals.json` is the file `signals.json.hmac` beside it: the hexadecimal HMAC-SHA256 (RFC 2104) of the
file's name, a zero byte and its content. With a key, a file without a valid seal is not read, so that write access to
the folder is not enough to influence learning.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Final

from umi._core import validate
from umi.errors import InvalidInput, SignalError
from umi.limits import SIGNAL_FILE_BYTES_MAX, SIGNALS_PER_PROVIDER_COUNT_MAX
from umi.types import ProviderQualityWeights, QualitySignal, weights_fault

SEAL_SUFFIX: Final = ".hmac"
# Bytes of a key at least: 128 bits cannot be guessed.
_KEY_BYTES_MIN: Final = 16


def seal(path: str | Path, key: bytes) -> Path:
    """Write the seal of a file beside it. The author of the file does this after writing it.

    Args:
        path: The file to seal.
        key: Secret shared with the provider that reads it; at least 16 bytes.

    Returns:
        The path of the seal.

    Raises:
        InvalidInput: When the key is shorter than 16 bytes, or the path is none.
        SignalError: When the file cannot be read, or its seal cannot be written.
    """
    file, sound = _path(path), _sound(key)
    beside = file.with_name(file.name + SEAL_SUFFIX)
    try:
        content = file.read_bytes()
    except OSError as error:
        raise SignalError(f"{file} cannot be read: {error.strerror}") from error
    try:
        beside.write_text(_seal_of(file.name, content, sound) + "\n", "ascii")
    except OSError as error:
        raise SignalError(f"{beside} cannot be written: {error.strerror}") from error
    return beside


@dataclass(frozen=True, slots=True)
class Source:
    """One file, read as a whole."""

    path: Path
    content: bytes

    def text(self) -> str:
        """The content as text; a byte order mark is removed.

        Raises:
            SignalError: When it is not UTF-8.
        """
        try:
            return self.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise SignalError(f"{self.path} is not UTF-8: {error}") from None


class SourceProvider:
    """Base class of providers that read files.

    Invalid records, and files of a folder that cannot be read, go to `quarantined`, each with the reason.

    Args:
        path: A file, or a folder whose files with the right suffix are read in order of name.
        name: Name of the provider.
        key: When given, files without a valid seal are refused; at least 16 bytes.
        weights: How quality factors are weighed; None uses the defaults.

    Raises:
        InvalidInput: When the key is shorter than 16 bytes, the path or the name is none, or a weight is out of its range.
    """

    suffixes: tuple[str, ...] = (".json",)

    def __init__(
        self,
        path: str | Path | None,
        *,
        name: str,
        key: bytes | None = None,
        weights: ProviderQualityWeights | None = None,
    ) -> None:
        self._paths: tuple[Path, ...] = () if path is None else (_path(path),)
        self._name = validate.name(name, "name")
        if weights is not None and (wrong := weights_fault(weights)) is not None:
            raise InvalidInput(wrong)
        self._key = None if key is None else _sound(key)
        self._weights = weights
        self._quarantined: list[tuple[str, str]] = []

    @property
    def name(self) -> str:
        """The name of the provider."""
        return self._name

    @property
    def quarantined(self) -> Sequence[tuple[str, str]]:
        """Records, and whole files of a folder, that the last load set aside, each with the reason."""
        return tuple(self._quarantined)

    def quality_weights(self) -> ProviderQualityWeights | None:
        """The weights given at construction, or None for the defaults."""
        return self._weights

    def load_signals(self) -> list[QualitySignal]:
        """All valid signals of the files; empty when there is no file.

        A file of a folder that is unreadable, too large, without a valid seal or of another format is set aside.

        Raises:
            SignalError: When that is so of the one file that was named, or when there are too many signals.
        """
        self._quarantined = []
        found: list[QualitySignal] = []
        read = 0
        for file, in_folder in self._files():
            try:
                source = self._source(file)
                records = list(self.records(source))
            except SignalError as error:
                if not in_folder:
                    raise
                # One bad file must not cost the others of its folder: it is set aside and reported.
                self._quarantined.append((file.name, str(error)))
                continue
            read += len(records)
            if read > SIGNALS_PER_PROVIDER_COUNT_MAX:
                raise SignalError(
                    f"{file} brings more than {SIGNALS_PER_PROVIDER_COUNT_MAX:,} signals; load them in several runs"
                )
            for number, record in enumerate(records):
                try:
                    signal = self.signal(source, record)
                except InvalidInput as error:
                    # One bad record must not cost the others: it is set aside and reported.
                    self._quarantined.append((f"{file.name} record {number + 1}", str(error)))
                else:
                    found += [] if signal is None else [signal]
        return found

    def records(self, source: Source) -> Iterator[object]:
        """The records of a file, one at a time. Implemented by subclasses.

        Raises:
            SignalError: When the file as a whole cannot be read.
        """
        raise NotImplementedError

    def signal(self, source: Source, record: object) -> QualitySignal | None:
        """The signal that a record stands for; None when it gives none yet. Implemented by subclasses.

        Raises:
            InvalidInput: When the record is invalid.
        """
        raise NotImplementedError

    def _files(self) -> Iterator[tuple[Path, bool]]:
        """The files to read, and whether each was found in a folder."""
        for path in self._paths:
            try:
                # In order of name, so that the same folder always gives the same order of signals.
                found = sorted(path.iterdir()) if path.is_dir() else []
                files = [(each, True) for each in found if each.suffix in self.suffixes and each.is_file()]
                yield from files or ([(path, False)] if path.is_file() else [])
            except OSError as error:  # a name that is too long, a folder that may not be read
                raise SignalError(f"{path} cannot be read: {error.strerror or error}") from error

    def _source(self, file: Path) -> Source:
        content = _bounded(file)
        # Verified before anything is parsed.
        if self._key is not None:
            _require_seal(file, content, self._key)
        return Source(file, content)


def _bounded(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            # One byte past the limit tells that the file is too large, however large it is.
            content = stream.read(SIGNAL_FILE_BYTES_MAX + 1)
    except OSError as error:
        raise SignalError(f"{file} cannot be read: {error.strerror}") from error
    if len(content) > SIGNAL_FILE_BYTES_MAX:
        raise SignalError(f"{file} has more than {SIGNAL_FILE_BYTES_MAX:,} bytes, the limit; split it")
    return content


def _require_seal(file: Path, content: bytes, key: bytes) -> None:
    beside = file.with_name(file.name + SEAL_SUFFIX)
    try:
        # A seal has 64 characters; the rest of a longer file is ignored.
        written = beside.read_bytes()[:256].strip()
    except OSError:
        raise SignalError(
            f"{file} has no seal: {beside.name} is missing, and this provider reads only sealed files"
        ) from None
    # Constant time: how long a comparison takes must not tell how much of a forged seal is right.
    if not hmac.compare_digest(written.lower(), _seal_of(file.name, content, key).encode("ascii")):
        raise SignalError(f"{file} is not what was sealed: it was changed, or sealed with another key")


def _seal_of(name: str, content: bytes, key: bytes) -> str:
    return hmac.new(key, name.encode() + b"\0" + content, hashlib.sha256).hexdigest()


def _sound(key: object) -> bytes:
    if not isinstance(key, bytes) or len(key) < _KEY_BYTES_MIN:
        raise InvalidInput(f"a key is at least {_KEY_BYTES_MIN} bytes")
    return key


def _path(path: object) -> Path:
    if not isinstance(path, str | PathLike) or not isinstance(name := fspath(path), str):
        raise InvalidInput(f"path must be a str or a Path, got {type(path).__name__}")
    if not name or "\0" in name:
        raise InvalidInput(f"path must name a file or a folder, got {name!r:.80}")
    return Path(name)
