"""Umi beside vector stores and memory products, with the same embedder, on the same machine, in one run.

    python lab/tools/side_by_side.py [--size 2000] [--out side_by_side.json]

The rivals are installed into an environment of their own (build/side-by-side), each product begins with an empty folder, and all embed
with Umi's local model. Products that need a language model to extract anything are asked to keep texts as they are. What is asked of
each: keep one message; keep many; answer a question; answer while eight threads ask; answer first after a restart; keep what eight
threads say at once; say where somebody works who has changed jobs; and still have what was kept when the process is killed.
Each step has a process of its own. A call that fails is counted; a step that crashes has no figures, which the table shows as a dash.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

RIVALS = (
    "chromadb==1.5.9",
    "mem0ai==2.2.1",
    "txtai==9.14.0",
    "torch==2.13.0",  # txtai imports it
    "langmem==0.0.30",
    "langgraph-checkpoint-sqlite==3.1.2",
    "pysqlite3==0.6.1",  # the store loads an extension, for which many Pythons' own sqlite3 is not built
)
PRODUCTS = ("umi", "chroma", "mem0", "txtai", "langmem")
WORDS = 26
BATCH = 100
SAMPLES = 200
THREADS = 8
SECONDS = 5.0
CHANGES = 50
LIMIT = 5
ROOT = Path(__file__).resolve().parents[2]


class Product(Protocol):
    """What all of them can do. A message is to be on disk when `keep` returns, by whatever the product has for that."""

    def keep(self, text: str) -> None: ...
    def keep_many(self, texts: Sequence[str]) -> None: ...
    def ask(self, question: str) -> list[str]: ...
    def close(self) -> None: ...


class Embedder:
    """Umi's local model without asyncio around it."""

    def __init__(self) -> None:
        from umi.providers.local import LocalEmbedder

        self._inner = LocalEmbedder()

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        windows = asyncio.run(self._inner.embed_many(list(texts)))
        return [each[0].tolist() for each in windows]


class Umi:
    """The blocking face, without a language model."""

    def __init__(self, folder: Path, _embedder: Embedder) -> None:
        from umi.blocking import Memory

        self._memory = Memory.open(str(folder / "umi.db"))
        self._memory.__enter__()

    def keep(self, text: str) -> None:
        self._memory.remember(text)

    def keep_many(self, texts: Sequence[str]) -> None:
        self._memory.remember_many(list(texts))

    def ask(self, question: str) -> list[str]:
        return [hit.content for hit in self._memory.recall(question, limit=LIMIT).hits]

    def close(self) -> None:
        self._memory.__exit__(None, None, None)


class Chroma:
    """A persistent collection that compares by cosine."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        import chromadb

        settings = chromadb.Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(str(folder), settings=settings)
        self._kept = client.get_or_create_collection("side", configuration={"hnsw": {"space": "cosine"}})
        self._embed = embedder
        self._count = self._kept.count()
        self._lock = threading.Lock()

    def keep(self, text: str) -> None:
        self.keep_many([text])

    def keep_many(self, texts: Sequence[str]) -> None:
        for start in range(0, len(texts), BATCH):
            some = list(texts[start : start + BATCH])
            with self._lock:
                ids = [f"m{self._count + place}" for place in range(len(some))]
                self._count += len(some)
            self._kept.add(ids=ids, documents=some, embeddings=self._embed(some))

    def ask(self, question: str) -> list[str]:
        found = self._kept.query(query_embeddings=self._embed([question]), n_results=LIMIT, include=["documents"])
        return list(found["documents"][0])

    def close(self) -> None:
        pass


class Mem0:
    """As it comes, with its own local vector store; `infer=False`, since extracting would ask a language model."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=str(folder / "home"), OPENAI_API_KEY="unused")
        from mem0 import Memory
        from mem0.embeddings.base import EmbeddingBase

        class Local(EmbeddingBase):
            def embed(self, text: str, memory_action: str | None = None) -> list[float]:
                return embedder([text])[0]

            def embed_batch(self, texts: Sequence[str], memory_action: str | None = "add") -> list[list[float]]:
                return embedder(texts)

        store = {
            "path": str(folder / "vectors"),
            "on_disk": True,
            "embedding_model_dims": 384,
            "collection_name": "side",
        }
        self._memory = Memory.from_config(
            {"vector_store": {"provider": "qdrant", "config": store}, "history_db_path": str(folder / "history.db")}
        )
        self._memory.embedding_model = Local()

    def keep(self, text: str) -> None:
        self._memory.add(text, user_id="side", infer=False)

    def keep_many(self, texts: Sequence[str]) -> None:
        for text in texts:
            self.keep(text)

    def ask(self, question: str) -> list[str]:
        found = self._memory.search(question, filters={"user_id": "side"}, top_k=LIMIT)
        return [one["memory"] for one in found["results"]]

    def close(self) -> None:
        self._memory.close()


class Txtai:
    """With content and keywords beside the vectors.

    Nothing is on disk before `save`, so keeping saves, as txtai's own server does. Its documentation asks to synchronize writes and
    calls reads safe for threads, so there is a lock around the former only.
    """

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        from txtai import Embeddings

        def transform(texts: Sequence[str]) -> list[list[float]]:  # has to be a function
            return embedder(texts)

        self._path = str(folder / "index")
        self._kept = Embeddings({"method": "external", "transform": transform, "content": True, "hybrid": True})
        if self._kept.exists(self._path):
            self._kept.load(self._path, config={"transform": transform})
        self._lock = threading.Lock()

    def keep(self, text: str) -> None:
        self.keep_many([text])

    def keep_many(self, texts: Sequence[str]) -> None:
        with self._lock:
            self._kept.upsert(list(texts))
            self._kept.save(self._path)

    def keep_unsaved(self, text: str) -> None:
        with self._lock:
            self._kept.upsert([text])

    def ask(self, question: str) -> list[str]:
        return [hit["text"] for hit in self._kept.search(question, LIMIT)]

    def close(self) -> None:
        self._kept.close()


class Langmem:
    """Its two tools, called as an agent would call them, on LangGraph's store in SQLite."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        os.environ.update(LANGSMITH_TRACING="false", LANGCHAIN_TRACING_V2="false")
        import pysqlite3
        from langgraph.store.sqlite import SqliteStore
        from langmem import create_manage_memory_tool, create_search_memory_tool

        # As SqliteStore.from_conn_string connects. Without the field the text's JSON would be embedded.
        self._file = pysqlite3.connect(str(folder / "store.db"), check_same_thread=False, isolation_level=None)
        store = SqliteStore(self._file, index={"dims": 384, "embed": embedder, "text_fields": ["content"]})
        store.setup()
        self._manage = create_manage_memory_tool(("memories",), store=store)
        self._search = create_search_memory_tool(("memories",), store=store)

    def keep(self, text: str) -> None:
        self._manage.invoke({"content": text})

    def keep_many(self, texts: Sequence[str]) -> None:
        for text in texts:
            self.keep(text)

    def ask(self, question: str) -> list[str]:
        found = json.loads(self._search.invoke({"query": question, "limit": LIMIT}))
        return [one["value"]["content"] for one in found]

    def close(self) -> None:
        self._file.close()


Maker = Callable[[Path, Embedder], Product]
MAKERS: dict[str, Maker] = {"umi": Umi, "chroma": Chroma, "mem0": Mem0, "txtai": Txtai, "langmem": Langmem}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=2000, help="messages kept before anything is asked")
    parser.add_argument("--out", type=Path, help="where the figures go as JSON")
    parser.add_argument("--product", choices=PRODUCTS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step:
        figures = STEPS[given.step](MAKERS[given.product], given.folder, given.size)
        print(json.dumps(figures | {"memory, MB": peak_mb()}))
        return
    python = environment()
    rows = {product: in_steps(product, given.size, python) for product in PRODUCTS}
    if given.out:
        given.out.write_text(json.dumps({"size": given.size, "products": rows}, indent=1), encoding="utf-8")
    print(table(rows))


def in_steps(product: str, size: int, python: Path) -> dict[str, Any]:
    """All figures of one product."""
    print(f"{product} ...", file=sys.stderr, flush=True)
    found: list[dict[str, Any] | None] = []
    with tempfile.TemporaryDirectory(prefix="side-by-side-") as folder:
        found += [
            run(python, product, step, folder, size)
            for step in ("one thread", "ask at once", "keep at once", "restart")
        ]
        disk = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()) / 1e6
    with tempfile.TemporaryDirectory(prefix="side-by-side-") as folder:
        found.append(run(python, product, "be killed", folder, size))
        if found[-1] is not None:
            found.append(run(python, product, "look", folder, size))
    figures = {name: figure for step in found if step for name, figure in step.items()}
    memory = max((step["memory, MB"] for step in found if step and "memory, MB" in step), default=None)
    return figures | {"memory, MB": memory, "disk, MB": disk, "steps that crashed": found.count(None)}


def environment() -> Path:
    """An environment with the rivals and this Umi; made once, anew when the rivals' versions change."""
    folder = ROOT / "build" / "side-by-side"
    python, stamp = folder / "bin" / "python", folder / "installed.txt"
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != "\n".join(RIVALS):
        print("installing the rivals ...", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *RIVALS, "--editable", str(ROOT)], check=True)
        stamp.write_text("\n".join(RIVALS), encoding="utf-8")
    return python


def run(python: Path, product: str, step: str, folder: str, size: int) -> dict[str, Any] | None:
    """What a step's process prints last; None if it crashed."""
    command = [str(python), __file__, "--product", product, "--step", step, "--folder", folder, "--size", str(size)]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode != (-signal.SIGKILL if step == "be killed" else 0):
        print(f"{product}, {step}: ended with {done.returncode}", file=sys.stderr, flush=True)
        return None
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def one_thread(make: Maker, folder: Path, size: int) -> dict[str, Any]:
    """Keeping and asking one after the other."""
    from umi.bench.texts import question, sentence, turns

    product = opened(make, folder)
    failed = [0]
    said = [turn.content for turn in turns(1, size, WORDS)]
    many = timed(product.keep_many, [said], failed)
    timed(product.ask, [question(1, 0)], failed)
    asking = timed(product.ask, [question(2, place) for place in range(SAMPLES)], failed)
    keeping = timed(product.keep, [sentence(2, place, 14) for place in range(SAMPLES)], failed)
    figures: dict[str, Any] = {"many, messages/s": size / many[0] if many else None}
    figures |= quantiles("ask", asking) | quantiles("keep one", keeping)
    first, old = changed_jobs(product, failed)
    figures |= {"changed jobs: the new one first, %": first, "the old one shown as well, %": old}
    unsaved = getattr(product, "keep_unsaved", None)  # last: closing forgets it
    texts = [sentence(3, place, 14) for place in range(SAMPLES)] if unsaved else []
    figures |= quantiles("keep one and save later", timed(unsaved or product.keep, texts, failed))
    figures["one thread: calls that failed"] = failed[0]
    product.close()
    return figures


def ask_at_once(make: Maker, folder: Path, _size: int) -> dict[str, Any]:
    """Answers a second of eight threads, and how many calls failed."""
    from umi.bench.texts import question

    product = opened(make, folder)
    asked = [question(2, place) for place in range(SAMPLES)]
    hits_of(product, asked[0])
    answered, failed, until = [0] * THREADS, [0] * THREADS, time.perf_counter() + SECONDS

    def one(number: int) -> None:
        place = number * 17
        while time.perf_counter() < until:
            place += 1
            with counted(failed, number):
                product.ask(asked[place % len(asked)])
                answered[number] += 1

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(one, range(THREADS)))
    product.close()
    return {"8 threads ask, answers/s": sum(answered) / SECONDS, "of these failed": sum(failed)}


def keep_at_once(make: Maker, folder: Path, _size: int) -> dict[str, Any]:
    """Eight threads keep 200 messages; after the other steps, since it breaks what is not made for threads."""
    product = opened(make, folder)
    texts = codes()
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda number: timed(product.keep, texts[number::THREADS], [0]), range(THREADS)))
    figures = {"8 threads keep 200: not found afterwards": missing(product, texts)}
    product.close()
    return figures


def first_answer(make: Maker, folder: Path, _size: int) -> dict[str, Any]:
    """Opening what is there and asking once, the model's loading included."""
    from umi.bench.texts import question

    start = time.perf_counter()
    product = make(folder, Embedder())
    product.ask(question(3, 0))
    product.close()
    return {"first answer after a restart, ms": (time.perf_counter() - start) * 1e3}


def be_killed(make: Maker, folder: Path, _size: int) -> dict[str, Any]:
    """Keeps 200 messages one after the other; the process is killed as soon as the last call has returned."""
    product = opened(make, folder)
    timed(product.keep, codes(), [0])
    print("{}", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def look(make: Maker, folder: Path, _size: int) -> dict[str, Any]:
    """What is there of the messages of a process that was killed."""
    product = opened(make, folder)
    figures = {"200 kept, then killed: not found afterwards": missing(product, codes())}
    product.close()
    return figures


STEPS: dict[str, Callable[[Maker, Path, int], dict[str, Any]]] = {
    "one thread": one_thread,
    "ask at once": ask_at_once,
    "keep at once": keep_at_once,
    "restart": first_answer,
    "be killed": be_killed,
    "look": look,
}


def opened(make: Maker, folder: Path) -> Product:
    """With a model that is loaded already."""
    embedder = Embedder()
    embedder(["warm up"])
    return make(folder, embedder)


def peak_mb() -> float:
    """The most memory that this process had."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) / 1e3 for line in status if line.startswith("VmHWM"))


def codes() -> list[str]:
    """200 messages that differ in two numbers."""
    return [f"The locker code of trainee number {number} is {7919 * number % 9973:04d}." for number in range(200)]


def missing(product: Product, texts: Sequence[str]) -> int:
    """How many are not found by their own words."""
    return sum(text not in hits_of(product, text) for text in texts)


def hits_of(product: Product, question: str) -> list[str]:
    """What is found; nothing when the call fails, as it may after eight threads wrote."""
    with counted([0], 0):
        return product.ask(question)
    return []


@contextmanager
def counted(failed: list[int], number: int) -> Iterator[None]:
    """Whatever a product raises is counted, not raised: the figure is the point."""
    try:
        yield
    except Exception:
        failed[number] += 1


def changed_jobs(product: Product, failed: list[int]) -> tuple[float, float]:
    """People who told of a job and then of another: is the new one what is found first, and is the old one shown beside it?"""
    people = [f"{first} {last}" for first in FIRST for last in LAST][:CHANGES]
    firms = [(FIRMS[place % len(FIRMS)], FIRMS[(place + 3) % len(FIRMS)]) for place in range(len(people))]
    pairs = list(zip(people, firms, strict=True))
    timed(product.keep, [f"{person} works at {before}." for person, (before, _) in pairs], failed)
    timed(product.keep, [f"{person} left {before} and now works at {now}." for person, (before, now) in pairs], failed)
    first = old = 0
    for person, (before, _) in pairs:
        hits = [hit for hit in hits_of(product, f"Where does {person} work?") if person in hit]
        first += bool(hits) and " now works at " in hits[0]
        old += f"{person} works at {before}." in hits
    return 100 * first / len(people), 100 * old / len(people)


FIRST = ("Ayla", "Bram", "Cleo", "Dov", "Esme", "Finn", "Gita", "Hugo", "Isla", "Joon")
LAST = ("Albrecht", "Bosch", "Carver", "Dahl", "Engel")
FIRMS = ("Northwind", "Tideline", "Papertrail", "Quarry Labs", "Lumen Press", "Harbor Foods", "Oakridge")


def timed(work: Callable[[Any], object], given: Sequence[Any], failed: list[int]) -> list[float]:
    """How long each call took that did not fail."""
    taken = []
    for each in given:
        with counted(failed, 0):
            start = time.perf_counter()
            work(each)
            taken.append(time.perf_counter() - start)
    return taken


def quantiles(name: str, taken: Sequence[float]) -> dict[str, float | None]:
    """Median and 99th percentile in milliseconds; None where there are no calls to take them from."""
    if len(taken) < 2:
        return {f"{name}, ms": None, f"{name}, p99 ms": None}
    cuts = statistics.quantiles(taken, n=100)
    return {f"{name}, ms": cuts[49] * 1e3, f"{name}, p99 ms": cuts[98] * 1e3}


def table(rows: dict[str, dict[str, Any]]) -> str:
    """As Markdown."""
    lines = [f"| | {' | '.join(rows)} |", f"|---|{'---|' * len(rows)}"]
    names = dict.fromkeys(name for row in rows.values() for name in row)
    figures = [f"| {name} | {' | '.join(shown(row.get(name)) for row in rows.values())} |" for name in names]
    return "\n".join([*lines, *figures])


def shown(figure: float | None) -> str:
    """A figure in the table; a dash where there is none."""
    return "–" if figure is None else f"{figure:,.4g}"


if __name__ == "__main__":
    main()
