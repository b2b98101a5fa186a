"""A real server for tests: `umi serve` in a process of its own, on a free port of loopback."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
from typer.testing import CliRunner

from umi.faces.cli.main import app

UMI = [sys.executable, "-m", "umi"]
STOP_S = 60.0


def umi(*words: str) -> tuple[int, str]:
    """Run a command: its exit code and what it prints."""
    # In a thread of its own: a test may have an event loop already.
    with ThreadPoolExecutor(1) as pool:
        run = partial(CliRunner().invoke, app, list(words), prog_name="umi", env={"COLUMNS": "200"})
        done = pool.submit(run).result()
    return done.exit_code, done.output


def make_key(db: Path, *grants: str, **more: str) -> str:
    """A key, made as an operator makes it."""
    words = [word for grant in grants for word in ("--grant", grant)]
    words += [word for name, value in more.items() for word in (f"--{name}", value)]
    code, said = umi("keys", "create", "--db", str(db), "--json", *words)
    assert code == 0, said
    token: str = json.loads(said)["data"]["token"]
    return token


@dataclass
class Live:
    """A server that answers."""

    process: subprocess.Popen[str]
    url: str

    def client(self, key: str | None = None, timeout_s: float = 30.0) -> httpx.Client:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return httpx.Client(
            base_url=self.url, headers=headers, timeout=timeout_s, verify=False
        )  # loading certificates takes long

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(STOP_S)
        self._close()
        return code

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(STOP_S)
        self._close()

    def _close(self) -> None:
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


def start(db: Path | str, *options: str, port: int = 0) -> Live:
    """Start a server and wait until it answers."""
    words = ["serve", "--db", str(db), "--port", str(port), "--embedder", "none", *options]
    process = subprocess.Popen([*UMI, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        _, said = process.communicate(timeout=STOP_S)
        raise AssertionError(f"the server did not start: {said}")
    return Live(process, line.split()[-1])


@contextmanager
def running(db: Path | str, *options: str) -> Iterator[Live]:
    """A server, stopped at the end; it must end well."""
    live = start(db, *options)
    try:
        yield live
        assert live.stop() == 0
    finally:
        if live.process.poll() is None:
            live.kill()
