"""App processes of a benchmark: started, given orders over their pipes, and killed at the end. What they do is in `umi_lab.bench.app_worker`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any

from umi.errors import StoreError

Worker = subprocess.Popen[str]


@contextmanager
def started(url: str, count: int) -> Iterator[list[Worker]]:
    """So many app processes, each with a store open and its model warm."""
    command = [sys.executable, "-m", "umi_lab.bench.app_worker", url]
    pipe = subprocess.PIPE
    workers = [subprocess.Popen([*command, str(n)], stdin=pipe, stdout=pipe, text=True) for n in range(count)]
    try:
        for worker in workers:
            _answer(worker)
        yield workers
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()


def ordered(workers: Sequence[Worker], orders: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Give each process its order, all at once, and wait for their answers."""
    for worker, order in zip(workers, orders, strict=True):
        _piped(worker.stdin).write(json.dumps(order) + "\n")
        _piped(worker.stdin).flush()
    return [_answer(worker) for worker in workers]


def _answer(worker: Worker) -> Any:
    line = _piped(worker.stdout).readline()
    if not line:
        raise StoreError("an app process has ended early; what it wrote to standard error says why")
    return json.loads(line)


def _piped(stream: IO[str] | None) -> IO[str]:
    if stream is None:
        raise StoreError("an app process was started without its pipes")
    return stream
