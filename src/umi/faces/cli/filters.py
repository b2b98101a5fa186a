"""`--where`, `--type`, `--attribute` and `--also`: which messages, statements and namespaces a command is about."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Final, cast

import typer

from umi.errors import InvalidInput
from umi.types import EntityTypeLike

Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="NAME=VALUE",
        help="Only messages like this: session, speaker, role, origin or metadata.KEY; may be repeated. Or a JSON object, as in Python.",
    ),
]
Types = Annotated[
    list[str] | None,
    typer.Option("--type", metavar="KIND", help="Only statements of this kind, such as preference; may be repeated."),
]
Also = Annotated[
    list[str] | None,
    typer.Option("--also", metavar="NAMESPACE", help="Search this namespace beside the memory's own; may be repeated."),
]
Attribute = Annotated[
    str | None, typer.Option("--attribute", metavar="NAME", help="Only this attribute, such as database or employer.")
]
_METADATA: Final = "metadata."


def where_of(given: Sequence[str] | None) -> dict[str, Any] | None:
    """The `where=` of a call; None when nothing was given.

    Raises:
        InvalidInput: For something that is neither NAME=VALUE nor a JSON object, or a name that is given twice.
    """
    wanted: dict[str, Any] = {}
    for one in given or ():
        for name, value in (_object(one) if one.lstrip().startswith("{") else _pair(one)).items():
            before = wanted.get(name)
            if name == "metadata" and isinstance(value, dict) and isinstance(before, dict):
                repeated = before.keys() & value.keys()
                before |= value
            else:
                repeated = wanted.keys() & {name}
                wanted[name] = value
            if repeated:
                raise InvalidInput(
                    f'--where names {", ".join(sorted(repeated))} twice; give {{"in": [...]}} for several'
                )
    return wanted or None


def types_of(given: Sequence[str] | None) -> list[EntityTypeLike] | None:
    """The `types=` of a call, which checks the words; None when nothing was given."""
    return cast("list[EntityTypeLike]", list(given)) if given else None


def _pair(text: str) -> dict[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InvalidInput(f"--where {text!r} must be NAME=VALUE, such as session=monday, or a JSON object")
    if not name.startswith(_METADATA):
        return {name: value}
    return {"metadata": {name.removeprefix(_METADATA): _scalar(value)}}


def _scalar(text: str) -> str | int | float | bool:
    """A number, true or false where the text is one, else the text; quotes make it a text in any case."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, str | int | float) else text


def _object(text: str) -> dict[str, Any]:
    try:
        value: dict[str, Any] = json.loads(text)  # what begins with a brace is an object or no JSON
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"--where {text!r:.80} is no JSON object: {error}") from None
    return value
