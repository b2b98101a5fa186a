"""`umi mcp` spoken to line by line: what is no message is answered too, and Ctrl-C ends it at once."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from live_server import UMI

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
ASKS = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"recall","arguments":{"question":"%s"}}}'


@contextmanager
def spoken_to(db: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [*UMI, "mcp", "--db", str(db), "--embedder", "none"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=_heeding_ctrl_c,  # noqa: PLW1509 - one thread
    ) as process:
        try:
            hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
            assert asked(process, json.dumps(hello).encode())["id"] == 1
            yield process
        finally:
            process.kill()


def _heeding_ctrl_c() -> None:
    """A run in the background hands down that SIGINT is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def asked(process: subprocess.Popen[bytes], line: bytes) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(line + b"\n")
    process.stdin.flush()
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    return answer


@pytest.mark.timeout(60)
def test_what_is_no_message_is_answered(tmp_path: Path) -> None:
    with spoken_to(tmp_path / "umi.db") as process:
        for line, id_, code in (
            (ASKS % b"half of a sign: \\ud83d", 7, -32700),
            (ASKS % b"two\vlines", 7, -32700),
            (b'{"jsonrpc":"2.0","id":"a","method":"tools/call","params":[]}', "a", -32600),
            (b"{}", None, -32600),
            (b"no JSON", None, -32700),
            (b"[" * 100_000, None, -32700),
        ):
            answer = asked(process, line)
            assert (answer["id"], answer["error"]["code"]) == (id_, code)
        assert asked(process, b'\n\r\n{"jsonrpc":"2.0","id":8,"method":"ping"}\r')["result"] == {}


@pytest.mark.timeout(60)
def test_ctrl_c_ends_it_though_stdin_stays_open(tmp_path: Path) -> None:
    with spoken_to(tmp_path / "umi.db") as process:
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr is not None
        assert b"everything acknowledged so far is stored" in process.stderr.read()


@pytest.mark.timeout(60)
def test_a_long_line_and_one_without_an_end_arrive_whole(tmp_path: Path) -> None:
    with spoken_to(tmp_path / "umi.db") as process:
        long = {"name": "remember", "arguments": {"text": "ü" * 400_000}}
        line = json.dumps({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": long}, ensure_ascii=False)
        assert asked(process, line.encode())["result"]["isError"] is False
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"jsonrpc":"2.0","id":10,"method":"nothing"')
        process.stdin.close()
        assert json.loads(process.stdout.readline())["error"]["code"] == -32700
        assert process.wait(20) == 0
