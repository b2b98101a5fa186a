"""What every request passes before a route sees it: host, key, rate, number, size, time."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterable
from contextlib import nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from umi import limits
from umi.server import resource, site
from umi.server.access import ANYBODY, Caller, Use
from umi.server.problems import SOON, Refused, bug, problem
from umi.server.service import Service

if TYPE_CHECKING:
    from umi.server.telemetry import Spans

log = logging.getLogger("umi.server")

_LOOPBACK_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})
# What says nothing of any memory, and is asked for by who has no key.
_OPEN: Final = frozenset({"/healthz", "/readyz", "/openapi.json", "/docs", "/docs.js"})
MCP_PREFIX: Final = "/mcp"
_SCHEMES: Final = ("bearer ", "token ")
# What takes as long as the client has patience for.
_WHOLE: Final = re.compile(r"\A/v1/namespaces/[^/]+/(changes|export|import|files)\Z")


_DRAIN_BYTES_MAX: Final = 4 * limits.SERVER_BODY_BYTES_MAX
_DRAIN_S: Final = 2.0
_ERROR_STATUS: Final = 400


class Gate:
    """An ASGI application around another one.

    Args:
        app: What answers.
        service: What all requests share.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._under_way = 0
        known = service.settings.known_hosts
        self._hosts = _LOOPBACK_HOSTS | known
        self._checks_hosts = service.settings.is_loopback or bool(known)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return
        use = Use()
        # Before the answer is sent: what was acknowledged is in the log.
        exchange = _Exchange(receive, send, partial(self._service.audit.note, use))
        self._under_way += 1
        start_s = self._service.clock.monotonic_s()
        try:
            if self._service.spans is None:
                refusal = await self._answered({**scope, "umi.use": use}, exchange, use)
            else:
                refusal = await self._traced(self._service.spans, {**scope, "umi.use": use}, exchange, use)
        except Exception:  # the one guard of this face: the server goes on
            log.exception("%s failed", use.action or "a request")
            refusal = bug()
        finally:
            self._under_way -= 1
        # Once an answer has begun nothing can be put in its place: the connection ends short.
        if refusal is not None and not exchange.begun:
            await exchange.drain()
            await refusal(scope, receive, exchange.send)
        self._service.tally.note(use, exchange.status)
        self._service.metrics.observe(use.action, exchange.status, self._service.clock.monotonic_s() - start_s)

    async def _traced(self, spans: Spans, scope: Scope, exchange: _Exchange, use: Use) -> Response | None:
        """As `_answered`, in a span of the operation below the caller's. That of an MCP tool is made where the tool is called."""
        is_mcp = f"{scope['path']}/".startswith(f"{MCP_PREFIX}/")
        with spans.below(_headers(scope)), nullcontext() if is_mcp else spans.around(use):
            refusal = await self._answered(scope, exchange, use)
            status = exchange.status if refusal is None else refusal.status_code
            if status >= _ERROR_STATUS:
                use.failed = str(status)
            return refusal

    async def _answered(self, scope: Scope, exchange: _Exchange, use: Use) -> Response | None:
        """Answer a request; returns what to answer instead where it is refused."""
        deadline_s: float | None = self._service.settings.deadline_s
        try:
            _check_head(scope)
            self._check_host(scope)
            scope = _with_whole_segments(scope)
            if not _is_open(scope["path"]):
                use.caller, use.is_valid = await self._caller(scope)
                if use.caller.id:
                    self._service.buckets.take(use.caller.id)
            whole = _WHOLE.search(scope["path"])
            if whole is not None:
                deadline_s = None
                exchange.body_bytes_max = limits.SERVER_IMPORT_BYTES_MAX
            exchange.check_length(scope)
            if not _is_open(scope["path"]):
                self._check_room()
            async with asyncio.timeout(deadline_s):
                await self._app(scope, exchange.receive, exchange.send)
        except Refused as refusal:
            return refusal.response()
        except TimeoutError:
            if not exchange.received:
                return problem(408, "body_too_slow", f"the body did not come within {deadline_s or 0:g} s")
            return problem(
                504,
                "deadline",
                f"the request took longer than {deadline_s or 0:g} s, and may be done all the same; of writes, only POST episodes "
                "with an Idempotency-Key or ids, and what changes nothing when it is repeated, is safe to send again",
            )
        return None

    def _check_host(self, scope: Scope) -> None:
        """Refuse names that are not this server's: a page in a browser can make any name point to loopback.

        Raises:
            Refused: For such a name, in `Host` or in `Origin`.
        """
        if not self._checks_hosts:
            return
        host = _header(scope, b"host")
        origin = _header(scope, b"origin")
        if _host_of(f"//{host}") not in self._hosts:
            raise Refused(421, "wrong_host", f"this server is not {host!r:.80}; name it with --allow-host")
        if origin and _host_of(origin) not in self._hosts:
            raise Refused(403, "wrong_origin", f"pages of {origin!r:.80} may not call this server; see --allow-host")

    async def _caller(self, scope: Scope) -> tuple[Caller, Callable[[], Awaitable[bool]]]:
        """Whose key or token the request has, and what tells later whether it still opens anything.

        Raises:
            Refused: Without one that opens anything.
        """
        verifier = self._service.verifier
        if verifier is None:
            return ANYBODY, self._is_open
        token = _token(scope)
        try:
            caller = await verifier.verify(token)
        except Refused as refusal:
            if refusal.status == 401:
                refusal.headers["WWW-Authenticate"] = resource.challenge(self._service.settings, scope, token)
            raise

        async def is_valid() -> bool:
            try:
                await verifier.verify(token)
            except Refused:
                return False
            return True

        return caller, is_valid

    async def _is_open(self) -> bool:
        """Whether anybody on this machine may still do everything: nobody made a key since."""
        return self._service.verifier is None

    def _check_room(self) -> None:
        if self._under_way > limits.SERVER_REQUESTS_COUNT_MAX:
            raise Refused(503, "server_busy", f"{limits.SERVER_REQUESTS_COUNT_MAX} requests are under way", SOON)


class _Exchange:
    """The two ends of one request: counts what comes in, says when an answer begins and with which status."""

    def __init__(self, receive: Receive, send: Send, begins: Callable[[int], None]) -> None:
        self._receive = receive
        self._send = send
        self._received_bytes = 0
        self.body_bytes_max = limits.SERVER_BODY_BYTES_MAX
        self._begins = begins
        self.begun = False
        self.status = 0
        self.received = False

    def check_length(self, scope: Scope) -> None:
        """Look at what the head says of the body: there may be none, or one that is too long.

        Raises:
            Refused: For such a body.
        """
        declared = _header(scope, b"content-length")
        self.received = declared in {"", "0"} and not _header(scope, b"transfer-encoding")
        if declared.isdecimal() and int(declared) > self.body_bytes_max:
            raise self._too_long()

    async def receive(self) -> Message:
        """The next part of the body, which comes soon or not at all.

        Raises:
            HTTPException: When it does not come, or the body is too long.
        """
        try:
            async with asyncio.timeout(None if self.received else limits.SERVER_PAUSE_S):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, f"nothing came of the body for {limits.SERVER_PAUSE_S:g} s") from None
        if message["type"] == "http.request":
            self._received_bytes += len(message.get("body", b""))
            if self._received_bytes > self.body_bytes_max:
                # FastAPI takes any other error for one of parsing.
                raise HTTPException(413, str(self._too_long()))
            self.received = not message.get("more_body", False)
        return message

    async def drain(self) -> None:
        """Take in some of what was not read: a client that still sends does not read why it is refused."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_S):
                while not self.received and self._received_bytes <= _DRAIN_BYTES_MAX:
                    message = await self._receive()
                    if message["type"] != "http.request":
                        return
                    self._received_bytes += len(message.get("body", b""))
                    self.received = not message.get("more_body", False)

    async def send(self, message: Message) -> None:
        """The next part of the answer."""
        if message["type"] == "http.response.start":
            self.begun, self.status = True, message["status"]
            self._begins(message["status"])
        await self._send(message)

    def _too_long(self) -> Refused:
        return Refused(413, "body_too_long", f"the body is longer than {self.body_bytes_max:,} bytes")


def _with_whole_segments(scope: Scope) -> Scope:
    """A scope whose path has a "/" between segments only: one within a name stays "%2F", and routes decode it.

    Raises:
        Refused: For a path that is no UTF-8.
    """
    raw: bytes = scope.get("raw_path") or b""
    try:
        segments = [unquote(segment, errors="strict") for segment in raw.decode("ascii").split("/")]
    except UnicodeDecodeError:
        raise Refused(400, "invalid_input", "the path is not UTF-8, percent-encoded") from None
    path = "/".join(segment.replace("%", "%25").replace("/", "%2F") for segment in segments)
    return {**scope, "path": path or "/"}


def _is_open(path: str) -> bool:
    """Whether a path needs no key."""
    return path in _OPEN or site.is_page(path) or resource.is_metadata(path)


def _check_head(scope: Scope) -> None:
    """Refuse a request line and headers that are too long together.

    Raises:
        Refused: For such a head.
    """
    names = sum(len(name) + len(value) for name, value in scope["headers"])
    size = len(scope.get("raw_path") or b"") + len(scope["query_string"]) + names
    if size > limits.SERVER_HEADER_BYTES_MAX:
        raise Refused(
            431, "head_too_long", f"path and headers are longer than {limits.SERVER_HEADER_BYTES_MAX:,} bytes"
        )


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def _header(scope: Scope, name: bytes) -> str:
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    return next((value.decode("latin-1") for key, value in headers if key == name), "")


def _token(scope: Scope) -> str:
    said = _header(scope, b"authorization")
    if said.lower().startswith(_SCHEMES):
        return said.partition(" ")[2].strip()
    return _header(scope, b"x-api-key").strip()


def _host_of(url: str) -> str | None:
    """The host of a URL, without its port; None for what is no URL."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
