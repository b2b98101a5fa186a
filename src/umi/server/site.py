"""The web page at `/`: static files from the package, compressed once, with a hash as their tag. See docs/page.md."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

PREFIX: Final = "/web/"
INDEX: Final = "index.html"
# Nothing but the page's own files may load, run or be called, and no other page may frame it. No style or script stands in the document.
POLICY: Final = "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors 'none'"
_KINDS: Final = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_PLAIN: Final = "text/plain"
_HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    # Asked for again each time, and answered 304 while nothing changed: an upgrade counts at once.
    "Cache-Control": "no-cache",
    "Vary": "Accept-Encoding",
}


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    packed: bytes  # gzip
    kind: str
    tag: str


def is_page(path: str) -> bool:
    """Whether a path is the page's: it says nothing of any memory, and needs no key."""
    return path == "/" or path.startswith(PREFIX)


def answer(request: Request) -> Response:
    """The page, or one of its files; 404 for what is none."""
    path = request.scope["path"]
    found = _all().get(INDEX if path == "/" else path.removeprefix(PREFIX))
    if found is None:
        return Response("no such file\n", 404, media_type=_PLAIN, headers=_HEADERS)
    headers = {**_HEADERS, "ETag": found.tag}
    if found.tag in request.headers.get("if-none-match", ""):
        return Response(None, 304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(found.packed, headers={**headers, "Content-Encoding": "gzip"}, media_type=found.kind)
    return Response(found.content, headers=headers, media_type=found.kind)


@cache
def _all() -> dict[str, _File]:
    """Every file by its path below the folder, so that no other path can be asked for."""
    return {name: _read(name, entry.read_bytes()) for name, entry in _below(files("umi.server").joinpath("web"), "")}


def _below(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _below(entry, f"{prefix}{entry.name}/")
        else:
            yield f"{prefix}{entry.name}", entry


def _read(name: str, content: bytes) -> _File:
    suffix = name[name.rfind(".") :] if "." in name else ""
    tag = hashlib.sha256(content).hexdigest()[:32]
    return _File(content, gzip.compress(content, mtime=0), _KINDS.get(suffix, _PLAIN), f'"{tag}"')
