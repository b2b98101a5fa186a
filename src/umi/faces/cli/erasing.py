"""What goes for good: forget one memory, erase a person, and prove it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
from umi.faces.cli.filters import Types, Where, types_of, where_of
from umi.faces.cli.options import DB_DEFAULT, NAMESPACE_DEFAULT, AsJson, Db, Namespace, examples
from umi.memory import Memory
from umi.types import Episode, ErasureCheck, ErasurePreview, ErasureReceipt
from umi.types.erasure_proof import ErasureProof, NGramDigest

_SHOWN_COUNT: Final = 10

Receipt = Annotated[
    Path | None, typer.Option("--receipt", metavar="FILE", help="Write the receipt here, for --verify-erasure.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


class DerivedOption(StrEnum):
    """What becomes of conclusions."""

    STALE = "stale"
    ERASE = "erase"


def add_to(app: typer.Typer) -> None:
    """Give the app its commands."""
    app.command("forget", epilog=examples("umi forget ent_0f3a --yes"))(forget)
    app.command(
        "erase",
        epilog=examples(
            "umi erase Alice --receipt alice.json",
            "umi erase Alice --derived erase --yes",
            "umi erase --session monday --receipt monday.json",
        ),
    )(erase)
    app.command("erase-namespace", epilog=examples("umi erase-namespace acme --receipt acme.json"))(erase_namespace)


def forget(
    id_: Annotated[str | None, typer.Argument(metavar="ID", help="Id of a statement or a message.")] = None,
    where: Where = None,
    types: Types = None,
    yes: Yes = False,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Forget one statement or message for good, or all that are like something.

    Their words, vectors and index entries go, and their bytes in the file. There is no way back.
    """

    async def work(memory: Memory) -> Answer:
        wanted = where_of(where)
        if id_ is not None:
            found = await memory.get(id_)
            if found is None:
                raise NotFound(f"{id_} is not in namespace {namespace!r}; `umi list` shows what is")
            what = repr(render.clean(found.content))
        else:
            like = [*(where or ()), *(f"type {one}" for one in types or ())]
            what = f"everything with {render.clean(', '.join(like))}"
        _ask(f"Forget {what}?", yes=yes)
        count = await memory.forget(id_, where=wanted, types=types_of(types))
        if not count:
            raise NotFound(f"nothing in namespace {namespace!r} is like that, so nothing was forgotten")
        return Answer({"forgotten": count}, lambda console: console.print(Text(f"forgotten: {count:,}", style="green")))

    on_memory(Target(db, namespace, as_json), work)


def erase(
    subject: Annotated[str | None, typer.Argument(metavar="SUBJECT", help="A name, such as Alice.")] = None,
    session: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Every message of this session instead; `umi sessions` lists them."),
    ] = None,
    where: Where = None,
    derived: Annotated[
        DerivedOption, typer.Option(help="What becomes of conclusions that do not name the subject.")
    ] = DerivedOption.STALE,
    receipt: Receipt = None,
    yes: Yes = False,
    db: Db = DB_DEFAULT,
    namespace: Namespace = NAMESPACE_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Erase everything about a person or another subject, or a session, or messages like something.

    What names it, what it said, and all that was made of it. A message that speaks of others too is cut down to what it says of
    them; the messages of a session, or of --where, go whole. There is no way back; `umi doctor --verify-erasure FILE` holds the receipt against every
    byte of the file. A name or a session that is not known is an error of its own: exit code 1.
    """
    what = f"all about {render.clean(subject)}" if subject is not None else f"session {render.clean(session or '')}"
    what = what if where is None else f"every message with {render.clean(', '.join(where))}"

    async def work(memory: Memory) -> Answer:
        like = where_of(where)
        with _reserved(receipt):
            preview = await memory.preview_erasure(subject, session=session, where=like, derived=derived.value)
            if not preview.known:
                # Erasing all the same would write a receipt, which looks as if something had been erased.
                raise NotFound(_unknown(subject, session, namespace))
            if not yes:
                _show_preview(render.terminal(stderr=True), preview)
                _ask(f"Erase {what}?", yes=False)
            return _made(
                await memory.erase(
                    subject, session=session, where=like, derived=derived.value, previewed=None if yes else preview
                ),
                receipt,
            )

    on_memory(Target(db, namespace, as_json), work)


def erase_namespace(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The namespace, written out.")],
    receipt: Receipt = None,
    yes: Yes = False,
    db: Db = DB_DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Erase a whole namespace, such as a customer who leaves, and its name.

    Every message and all that was made of it or noted beside it. There is no way back; `umi doctor --verify-erasure FILE` holds the
    receipt against every byte of the file. A name that is not known is an error of its own: exit code 1.
    """

    async def work(memory: Memory) -> Answer:
        with _reserved(receipt):
            preview = await memory.preview_namespace_erasure()
            if not preview.known:
                raise NotFound(
                    f"there is no namespace {name!r}, so nothing was erased; `umi stats` counts those there are"
                )
            if not yes:
                _show_counts(render.terminal(stderr=True), preview)
                _ask_for_name(name)
            return _made(await memory.erase_namespace(previewed=None if yes else preview), receipt)

    on_memory(Target(db, name, as_json), work)


@contextmanager
def _reserved(file: Path | None) -> Iterator[None]:
    """Make the receipt's file before anything is erased, and take it away again where nothing was written to it.

    Raises:
        InvalidInput: When it cannot be made.
    """
    if file is None:
        yield
        return
    try:
        file.open("x").close()
    except FileExistsError as error:
        raise InvalidInput(f"{file} is there already: name another file for the receipt") from error
    except OSError as error:
        raise InvalidInput(f"{file} cannot be written, so nothing was erased: {error.strerror}") from error
    try:
        yield
    finally:
        if not file.stat().st_size:
            file.unlink()


def _unknown(subject: str | None, session: str | None, namespace: str) -> str:
    if subject is None and session is None:
        return f"no message in namespace {namespace!r} is like that, so nothing was erased"
    if session is not None:
        return f"there is no session {session!r} in namespace {namespace!r}, so nothing was erased; `umi sessions` lists them"
    return (
        f"nothing in namespace {namespace!r} names {subject!r}, so nothing was erased. Is it spelled as it was said? "
        "`umi recall` finds messages"
    )


def _made(made: ErasureReceipt, file: Path | None) -> Answer:
    """The answer to an erasure, with the receipt written to its file; shown where that fails, since there is no other."""
    receipt = json.dumps(plain(made))
    # Somebody else may have erased it between the preview and now.
    code = Code.NOTHING_FOUND if not made.known else Code.INCOMPLETE if made.pending else Code.OK
    try:
        if file is not None:
            file.write_text(f"{receipt}\n", "utf-8")
    except OSError as error:
        trouble = f"it is erased, and {file} cannot be written ({error.strerror}); this is the receipt: {receipt}"
        return Answer(made, lambda console: console.print(Text(trouble)), Code.INCOMPLETE)
    return Answer(made, lambda console: _show_receipt(console, made, file), code)


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
        gone = (
            "no byte of it is left"
            if check.files_searched
            else "no row holds any of it (files of a server cannot be searched)"
        )
        return f"{gone}{_searched(check)}{since}"
    parts = [
        f"{check.remains} pieces of it are left in bytes that no memory uses" if check.remains else "",
        f"still said in {', '.join(check.said_before[:3])}" if check.said_before else "",
        "somebody who reads the file keeps old bytes in it: close it there, then run `umi maintain`"
        if check.pending
        else "",
    ]
    return "; ".join(part for part in parts if part)


def _searched(check: ErasureCheck) -> str:
    """How many pieces were looked for, by kind, and of how many there is no trace."""
    kinds = [
        f"{check.absent.get(kind, 0):,} of {count:,} {kind if kind != 'runs' else 'runs of words'}"
        for kind, count in check.searched.items()
        if count
    ]
    if not kinds:
        return ""
    elsewhere = sum(check.searched.values()) - sum(check.absent.values())
    rest = "; the others are said elsewhere by right" if elsewhere else ""
    return f": no trace of {', '.join(kinds)}{' (a random sample)' if check.is_sample else ''}{rest}"


def _receipt(data: dict[str, Any]) -> ErasureReceipt:
    told = data["proof"]
    # Receipts of before have no runs and no counts.
    counts = (int(told.get("words_count", 0)), int(told.get("runs_count", 0)))
    names, words, runs = (_grams(told.get(kind, ())) for kind in ("names", "words", "runs"))
    proof = ErasureProof(told["salt"], names, words, runs, *counts)
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
        selection=str(data.get("selection", "subject")),
        known=bool(data.get("known", True)),
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


def _ask_for_name(name: str) -> None:
    """Go on only when a person types the name of the namespace.

    Raises:
        InvalidInput: When nobody is there to be asked, or types something else.
    """
    if not _somebody_is_there():
        raise InvalidInput("nobody is there to confirm this: add --yes")
    if typer.prompt(f"Type the namespace's name to erase all of it ({render.clean(name)})", err=True) != name:
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
    if preview.aliases:
        console.print(Text.assemble(("other names that go: ", "bold"), render.clean(", ".join(preview.aliases))))
    if preview.left:
        render.heading(console, "stays", f"{len(preview.left):,} messages with a part of the name")
        console.print(render.indented(*map(_line, preview.left[:_SHOWN_COUNT])))


def _show_counts(console: Console, preview: ErasurePreview) -> None:
    """What the erasure of a namespace would take, in numbers, with the first messages."""
    render.heading(console, "goes", f"{preview.counts['episodes']:,} messages")
    console.print(render.indented(*map(_line, preview.deleted[:_SHOWN_COUNT])))
    others = [f"{count:,} {what}" for what, count in preview.counts.items() if count and what != "episodes"]
    if others:
        console.print(Text(f"with {', '.join(others)}", style="dim"))


def _line(episode: Episode) -> Text:
    return Text.assemble(render.day(episode.at), " ", render.said(" ".join(episode.content.split())))


def _show_receipt(console: Console, receipt: ErasureReceipt, file: Path | None) -> None:
    if not receipt.known:
        console.print(Text("nothing here concerned it, and nothing was erased", style="yellow"))
        return
    console.print(
        Text.assemble(
            (f"{receipt.counts.get('episodes', len(receipt.deleted)):,}", "green"),
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
    render.command(console, hint)
