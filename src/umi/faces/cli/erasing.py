"""What goes for good: forget one memory, erase a person, and prove it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.text import Text

from umi.errors import InvalidInput, NotFound
from umi.faces.cli import render
from umi.faces.cli.envelope import Answer, Code, Target, on_memory, plain
from umi.faces.cli.options import DB_DEFAULT, NAMESPACE_DEFAULT, AsJson, Db, Namespace, examples
from umi.memory import Memory
from umi.types import Episode, ErasureCheck, ErasurePreview, ErasureReceipt
from umi.types.erasure_proof import ErasureProof, NGramDigest

_SHOWN_COUNT: Final = 10

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


class Derived(StrEnum):
    """What becomes of conclusions."""

    STALE = "stale"
    ERASE = "erase"


def add_to(app: typer.Typer) -> None:
    """Give the app its commands."""
    app.command("forget", epilog=examples("umi forget ent_0f3a --yes"))(forget)
    app.command(
        "erase", epilog=examples("umi erase Alice --receipt alice.json", "umi erase Alice --derived erase --yes")
    )(erase)


def forget(
    id_: Annotated[str, typer.Argument(metavar="ID", help="Id of a statement or a message.")],
    yes: Yes = False,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Forget one statement or message for good.

    Its words, vector and index entries go, and their bytes in the file. There is no way back.
    """

    async def work(memory: Memory) -> Answer:
        found = await memory.get(id_)
        if found is None:
            raise NotFound(f"{id_} is not in namespace {namespace!r}; `umi list` shows what is")
        _ask(f"Forget {render.clean(found.content)!r}?", yes=yes or as_json)
        done = await memory.forget(id_)
        return Answer({"forgotten": done}, lambda console: console.print(Text("forgotten", style="green")))

    on_memory(Target(db, namespace, as_json), work)


def erase(
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="A name, such as Alice.")],
    derived: Annotated[
        Derived, typer.Option(help="What becomes of conclusions that do not name the subject.")
    ] = Derived.STALE,
    receipt: Annotated[
        Path | None, typer.Option("--receipt", metavar="FILE", help="Write the receipt here, for --verify-erasure.")
    ] = None,
    yes: Yes = False,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Erase everything about a person or another subject.

    What names it, what it said, and all that was made of it. A message that speaks of others too is cut down to what it says of
    them. There is no way back; `umi doctor --verify-erasure FILE` holds the receipt against every byte of the file.
    """

    async def work(memory: Memory) -> Answer:
        if receipt is not None and receipt.exists():
            raise InvalidInput(f"{receipt} is there already: name another file for the receipt")
        if not (yes or as_json):
            _show_preview(render.terminal(stderr=True), await memory.preview_erasure(subject, derived=derived.value))
            _ask(f"Erase all about {render.clean(subject)}?", yes=False)
        made = await memory.erase(subject, derived=derived.value)
        if receipt is not None:
            receipt.write_text(json.dumps(plain(made)) + "\n", "utf-8")
        code = Code.INCOMPLETE if made.pending else Code.OK
        return Answer(made, lambda console: _show_receipt(console, made, receipt), code)

    on_memory(Target(db, namespace, as_json), work)


def read_receipt(file: Path) -> ErasureReceipt:
    """A receipt as `umi erase --receipt` wrote it, or as its --json showed it.

    Raises:
        InvalidInput: When it is none.
    """
    try:
        data = json.loads(file.read_text("utf-8"))
        return _receipt(data.get("data", data))
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(f"{file} is no receipt of an erasure: {error}") from error


def told(check: ErasureCheck) -> str:
    """A check in words."""
    if check.ok:
        since = f"; {len(check.said_since)} newer messages name the subject" if check.said_since else ""
        return f"no byte of it is left{since}"
    parts = [
        f"{check.remains} pieces of it are left in bytes that no memory uses" if check.remains else "",
        f"still said in {', '.join(check.said_before[:3])}" if check.said_before else "",
        "somebody who reads the file keeps old bytes in it: close it there, then run `umi maintain`"
        if check.pending
        else "",
    ]
    return "; ".join(part for part in parts if part)


def _receipt(data: dict[str, Any]) -> ErasureReceipt:
    proof = ErasureProof(data["proof"]["salt"], _grams(data["proof"]["names"]), _grams(data["proof"]["words"]))
    bytes.fromhex(proof.salt)
    return ErasureReceipt(
        id=str(data["id"]),
        namespace=str(data["namespace"]),
        at=datetime.fromisoformat(data["at"]),
        deleted=tuple(data["deleted"]),
        redacted=tuple(data["redacted"]),
        stale=tuple(data["stale"]),
        counts=dict(data["counts"]),
        pending=bool(data["pending"]),
        proof=proof,
    )


def _grams(rows: Sequence[dict[str, Any]]) -> tuple[NGramDigest, ...]:
    return tuple(NGramDigest(int(row["length"]), int(row["weak"]), str(row["digest"])) for row in rows)


def _ask(question: str, *, yes: bool) -> None:
    """Go on only when a person says so, or said so before.

    Raises:
        InvalidInput: When nobody is there to be asked, or the answer is no.
    """
    if yes:
        return
    if not _somebody_is_there():
        raise InvalidInput("nobody is there to confirm this: add --yes")
    if not typer.confirm(question, err=True):
        raise InvalidInput("not confirmed: nothing was taken away")


def _somebody_is_there() -> bool:
    return sys.stdin.isatty()


def _show_preview(console: Console, preview: ErasurePreview) -> None:
    for title, episodes in (("goes", preview.deleted), ("is cut", preview.redacted)):
        if episodes:
            render.heading(console, title, f"{len(episodes):,} messages")
            console.print(render.indented(*map(_line, episodes[:_SHOWN_COUNT])))
            if len(episodes) > _SHOWN_COUNT:
                console.print(render.indented(Text(f"and {len(episodes) - _SHOWN_COUNT:,} more", style="dim")))
    if not (preview.deleted or preview.redacted):
        console.print(Text("nothing here names it", style="dim"))


def _line(episode: Episode) -> Text:
    return Text.assemble(render.day(episode.at), " ", render.said(" ".join(episode.content.split())))


def _show_receipt(console: Console, receipt: ErasureReceipt, file: Path | None) -> None:
    console.print(
        Text.assemble(
            (f"{len(receipt.deleted):,}", "green"),
            f" messages erased, {len(receipt.redacted):,} cut, {len(receipt.stale):,} conclusions stale",
        )
    )
    if receipt.pending:
        console.print(
            Text(
                "Somebody still reads the file and keeps the old bytes: `umi maintain` ends it once they are done.",
                style="yellow",
            )
        )
    hint = f"umi doctor --verify-erasure {file}" if file else "with --receipt FILE it can be verified later"
    console.print(Text(hint, style="dim"))
