"""The process of a server: socket, signals, and a stop that finishes what was begun."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn

from umi import limits
from umi.errors import InvalidInput
from umi.memory import Memory
from umi.ports import Clock
from umi.server.app import make_app
from umi.server.audit import Audit
from umi.server.connections import Connection
from umi.server.credentials import Credentials
from umi.server.files import FileReader
from umi.server.mcp_http import McpHttp
from umi.server.service import Service
from umi.server.settings import Settings

_BACKLOG_COUNT = 512  # connections that wait to be accepted


class _Server(uvicorn.Server):
    """Uvicorn, except that signals are ours: it would end the process before the memory is closed."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(
    memory: Memory,
    settings: Settings,
    clock: Clock,
    started: Callable[[str], None],
    read_file: FileReader | None = None,
) -> None:
    """Answer requests on an open memory until SIGTERM or SIGINT; then finish what is under way, within 30 s.

    Args:
        memory: Any namespace of the store.
        settings: See `Settings`.
        clock: The source of time.
        started: Called with the server's URL once it answers.
        read_file: Reads files of other programs for `POST files`; None refuses them.

    Raises:
        InvalidInput: When the address cannot be used, or is not loopback's and there is neither a key nor an issuer.
        StoreUnavailable: When the file of keys cannot be opened.
    """
    credentials = Credentials.of(settings, clock)
    if not settings.is_loopback and not credentials.opens_anything():
        raise InvalidInput(
            f"{settings.host} can be reached from other machines, and there is no key that works: make one with "
            "`umi keys create`, name an issuer of tokens with --jwks, or listen on 127.0.0.1"
        )
    service = Service(memory, settings, clock, credentials, Audit(settings.audit, clock), read_file)
    mcp = McpHttp(service)
    listening = _listen(settings)
    config = uvicorn.Config(
        make_app(service, mcp),
        lifespan="off",
        http=Connection,
        limit_concurrency=limits.SERVER_CONNECTIONS_COUNT_MAX,
        ws="none",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=limits.SERVER_HEADER_BYTES_MAX,
        timeout_keep_alive=limits.SERVER_IDLE_S,
        timeout_graceful_shutdown=int(limits.SERVER_STOP_S),
    )
    server = _Server(config)
    loop = asyncio.get_running_loop()

    def stop(*_: int | FrameType | None) -> None:
        server.should_exit = True
        loop.call_soon_threadsafe(service.stopping.set)

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        started(_url(listening))
        async with mcp.running():
            with service.observing():
                await server.serve(sockets=[listening])
    finally:
        service.stopping.set()
        for number, handler in before.items():
            signal.signal(number, handler)
        service.audit.close()
        await credentials.close()


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # Named, since asyncio turns delays of small packets off only for what it knows to be TCP.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((settings.host, settings.port))
        made.listen(_BACKLOG_COUNT)
    except OSError as error:
        made.close()
        raise InvalidInput(
            f"cannot listen on {settings.host}:{settings.port}: {error.strerror or error}; choose another --port"
        ) from error
    made.settimeout(0)
    return made


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
