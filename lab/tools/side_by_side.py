"""Umi beside a vector store and a memory product, with the same embedder, on the same machine, in one run.

    python lab/tools/side_by_side.py [--size 2000] [--out side_by_side.json]

The rivals are installed into an environment of their own (build/side-by-side), each product runs in a process of its own on an empty
folder, and all embed with Umi's local model. Products that need a language model to extract anything are asked to keep texts as they are.
What is asked of each: keep one message; keep many; answer a question; answer while eight threads ask; answer first after a restart;
keep what eight threads say at once; and say where somebody works who has changed jobs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
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

RIVALS = ("chromadb==1.5.9", "mem0ai==2.2.1")
PRODUCTS = ("umi", "chroma", "mem0")
WORDS = 26
BATCH = 100
SAMPLES = 200
THREADS = 8
SECONDS = 5.0
CHANGES = 50
LIMIT = 5
ROOT = Path(__file__).resolve().parents[2]


class Product(Protocol):
    """What all of them can do."""

    def keep(self, text: str) -> None: ...
    def keep_many(self, texts: Sequence[str]) -> None: ...
    def ask(self, question: str) -> list[str]: ...
    def close(self) -> None: ...


class Embedder:
    """Umi's local model without asyncio around it; knows how long it took, in all threads together."""

    def __init__(self) -> None:
        from umi.providers.local import LocalEmbedder

        self._inner = LocalEmbedder()
        self._lock = threading.Lock()
        self.spent_s = 0.0

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        start = time.perf_counter()
        windows = asyncio.run(self._inner.embed_many(list(texts)))
        with self._lock:
            self.spent_s += time.perf_counter() - start
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


MAKERS: dict[str, Callable[[Path, Embedder], Product]] = {"umi": Umi, "chroma": Chroma, "mem0": Mem0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=2000, help="messages kept before anything is asked")
    parser.add_argument("--out", type=Path, help="where the figures go as JSON")
    parser.add_argument("--product", choices=PRODUCTS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--again", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.product:
        measured = (
            first_answer(given.product, given.folder)
            if given.again
            else measure(given.product, given.size, given.folder)
        )
        print(json.dumps(measured))
        return
    python = environment()
    rows = {}
    for product in PRODUCTS:
        print(f"{product} ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="side-by-side-") as folder:
            command = [str(python), __file__, "--product", product, "--size", str(given.size), "--folder", folder]
            rows[product] = run(command)
            rows[product]["first answer after a restart, ms"] = run([*command, "--again"])["ms"]
            rows[product]["disk, MB"] = (
                sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()) / 1e6
            )
    if given.out:
        given.out.write_text(json.dumps({"size": given.size, "products": rows}, indent=1), encoding="utf-8")
    print(table(rows))


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


def run(command: Sequence[str]) -> dict[str, Any]:
    """What one product's process prints last."""
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def measure(name: str, size: int, folder: Path) -> dict[str, Any]:
    """Everything but the restart."""
    from umi.bench.texts import question, sentence, turns

    embedder = Embedder()
    embedder(["warm up"])
    product = MAKERS[name](folder, embedder)
    said = [turn.content for turn in turns(1, size, WORDS)]
    start = time.perf_counter()
    product.keep_many(said)
    figures: dict[str, Any] = {"many, messages/s": size / (time.perf_counter() - start)}
    product.ask(question(1, 0))
    asked = [question(2, place) for place in range(SAMPLES)]
    figures |= quantiles("ask", [seconds(lambda text=text: product.ask(text)) for text in asked])
    kept = [sentence(2, place, 14) for place in range(SAMPLES)]
    figures |= quantiles("keep one", [seconds(lambda text=text: product.keep(text)) for text in kept])
    figures["8 threads ask, answers/s"], figures["of these failed"] = ask_at_once(product, asked)
    figures["changed jobs: the new one first, %"], figures["the old one shown as well, %"] = changed_jobs(product)
    figures["8 threads keep 200: not found afterwards"] = lost(product)  # last: it breaks what is not made for threads
    product.close()
    with open("/proc/self/status", encoding="ascii") as status:
        figures["memory, MB"] = next(int(line.split()[1]) / 1e3 for line in status if line.startswith("VmHWM"))
    return figures


def ask_at_once(product: Product, asked: Sequence[str]) -> tuple[float, int]:
    """Answers a second of eight threads, and how many calls failed."""
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
    return sum(answered) / SECONDS, sum(failed)


def lost(product: Product) -> int:
    """Of 200 messages that eight threads keep at once, how many are not found by their own words."""
    texts = [f"The locker code of trainee number {number} is {7919 * number % 9973:04d}." for number in range(200)]

    def one(number: int) -> None:
        for text in texts[number::THREADS]:
            with counted([0] * THREADS, number):
                product.keep(text)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(one, range(THREADS)))
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


def changed_jobs(product: Product) -> tuple[float, float]:
    """People who told of a job and then of another: is the new one what is found first, and is the old one shown beside it?"""
    people = [f"{first} {last}" for first in FIRST for last in LAST][:CHANGES]
    for place, person in enumerate(people):
        product.keep(f"{person} works at {FIRMS[place % len(FIRMS)]}.")
    for place, person in enumerate(people):
        product.keep(f"{person} left {FIRMS[place % len(FIRMS)]} and now works at {FIRMS[(place + 3) % len(FIRMS)]}.")
    first = old = 0
    for place, person in enumerate(people):
        hits = [hit for hit in hits_of(product, f"Where does {person} work?") if person in hit]
        first += bool(hits) and " now works at " in hits[0]
        old += f"{person} works at {FIRMS[place % len(FIRMS)]}." in hits
    return 100 * first / len(people), 100 * old / len(people)


FIRST = ("Ayla", "Bram", "Cleo", "Dov", "Esme", "Finn", "Gita", "Hugo", "Isla", "Joon")
LAST = ("Albrecht", "Bosch", "Carver", "Dahl", "Engel")
FIRMS = ("Northwind", "Tideline", "Papertrail", "Quarry Labs", "Lumen Press", "Harbor Foods", "Oakridge")


def first_answer(name: str, folder: Path) -> dict[str, float]:
    """Opening what is there and asking once, the model's loading included, in milliseconds."""
    from umi.bench.texts import question

    def ask() -> None:
        product = MAKERS[name](folder, Embedder())
        product.ask(question(3, 0))
        product.close()

    return {"ms": seconds(ask) * 1e3}


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def quantiles(name: str, taken: Sequence[float]) -> dict[str, float]:
    """Median and 99th percentile in milliseconds."""
    cuts = statistics.quantiles(taken, n=100)
    return {f"{name}, ms": cuts[49] * 1e3, f"{name}, p99 ms": cuts[98] * 1e3}


def table(rows: dict[str, dict[str, Any]]) -> str:
    """As Markdown."""
    lines = [f"| | {' | '.join(rows)} |", f"|---|{'---|' * len(rows)}"]
    figures = [
        f"| {figure} | {' | '.join(f'{row[figure]:,.4g}' for row in rows.values())} |" for figure in rows[PRODUCTS[0]]
    ]
    return "\n".join([*lines, *figures])


if __name__ == "__main__":
    main()
