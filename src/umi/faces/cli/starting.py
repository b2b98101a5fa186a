"""Begin with a framework: `umi init` writes an example that runs."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.text import Text

from umi.errors import InvalidInput, StoreUnavailable
from umi.faces.cli.envelope import Answer, answered
from umi.faces.cli.options import AsJson, examples

_SUFFIX: Final = "_agent.py.txt"  # not .py: they are texts to write, and import frameworks that are not here
_FREE: Final = ("mem0",)  # what needs no extra


def frameworks() -> list[str]:
    """The names that `--for` takes: one for each template."""
    found = (files("umi.faces") / "templates").iterdir()
    return sorted(one.name.removesuffix(_SUFFIX).replace("_", "-") for one in found if one.name.endswith(_SUFFIX))


@dataclass(frozen=True, slots=True)
class Begun:
    """The file that was written, and the commands to go on with."""

    file: str
    next: list[str]


def add_to(app: typer.Typer) -> None:
    """Give the app its command."""
    lines = ("umi init --for mem0", "umi init --for mem0 --force")
    app.command("init", epilog=examples(*lines))(init)


def init(
    framework: Annotated[
        str,
        typer.Option("--for", metavar="NAME", help=f"What the agent is built with: {', '.join(frameworks())}."),
    ],
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write an agent with a memory into the current folder: a program that runs, without a key."""

    async def work() -> Answer:
        begun = _begin(framework, force=force)
        return Answer(begun, lambda console: _show(console, begun))

    answered(work, as_json=as_json)


def _begin(framework: str, *, force: bool) -> Begun:
    """Write the example of a framework.

    Raises:
        InvalidInput: For an unknown framework, or when the file is there and `force` is not given.
        StoreUnavailable: When it cannot be written.
    """
    if framework not in frameworks():
        raise InvalidInput(f"--for {framework!r:.40} is none of {', '.join(frameworks())}")
    name = framework.replace("-", "_")
    text = (files("umi.faces") / "templates" / f"{name}{_SUFFIX}").read_text("utf-8")
    target = Path(f"{name}_agent.py")
    try:
        with target.open("w" if force else "x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except FileExistsError:
        raise InvalidInput(f"{target} is there already: --force writes over it") from None
    except OSError as error:
        raise StoreUnavailable(f"{target} cannot be written: {error.strerror}") from None
    install = [] if framework in _FREE else [f"pip install 'umi-memory[{framework}]'"]
    return Begun(str(target), [*install, f"python {target}"])


def _show(console: Console, begun: Begun) -> None:
    console.print(Text(f"wrote {begun.file}; go on with:"))
    for line in begun.next:
        console.print(Text(f"  {line}"))
