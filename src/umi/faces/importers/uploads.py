"""Files that somebody gave the server: the same readers as those of `umi import`, for one file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from zipfile import is_zipfile

from umi.errors import InvalidInput
from umi.faces.importers import Defaults, Record, Rejected, Unread, detect, read
from umi.faces.importers.live import is_database
from umi.faces.importers.sources import Source, sources
from umi.faces.importers.zones import zone_of
from umi.limits import SERVER_IMPORT_BYTES_MAX
from umi.server.file_messages import FileMessage
from umi.server.files import FileItem


def read_upload(path: Path, name: str, *, speaker: str | None, at: datetime | None, zone: str) -> Iterator[FileItem]:
    """See `umi.server.files.FileReader`."""
    defaults = Defaults(name, zone_of(zone), speaker, None, at)
    if is_database(path):
        raise InvalidInput(f"{name!r:.80} is a database: read it with `umi import`, on the machine where it is in use")
    found = [one for one in sources(str(path), "auto", called=f"{name!r:.80}") if isinstance(one, Source)]
    before = 0
    if name.lower().endswith(".zip") and not is_zipfile(path):
        raise InvalidInput(f"{name!r:.80} is no archive that can be read: fetch it again")
    size = sum(one.size for one in found)
    if size > SERVER_IMPORT_BYTES_MAX:
        raise InvalidInput(f"{name!r:.80} holds {size:,} bytes, at most {SERVER_IMPORT_BYTES_MAX:,} are read")
    for source in found:
        own = source.name if source.name != path.name else name
        with source.open() as stream:
            for item in read(stream, detect(stream, own), replace(defaults, name=own)):
                done = before + min(source.size, stream.tell())
                if isinstance(item, Record):
                    yield FileItem(FileMessage(item.message, item.item), done, item.line, item.where)
                elif isinstance(item, Unread):
                    yield FileItem(None, done, item.line, item.where, item.reason, is_unread=True)
                elif isinstance(item, Rejected):
                    yield FileItem(None, done, item.line, item.where, item.reason, is_rejected=True)
                else:
                    yield FileItem(None, done, reason=item.reason)
        before += source.size
