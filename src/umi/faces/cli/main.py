"""The `umi` command. Every command lives in the module of its group; here they are gathered and the last error is caught."""

from __future__ import annotations

import errno
import logging
import os
import sys
from io import TextIOWrapper
from typing import Annotated, Final

import typer

import umi
from umi.faces.cli import (
    benching,
    changing,
    contexts,
    copying,
    demo,
    doctor,
    erasing,
    extensions,
    facts,
    following,
    importing,
    learning,
    reading,
    remembering,
    serving,
    sessions,
    starting,
    upkeep,
)
from umi.faces.cli.envelope import EXIT_CODES, Code, print_envelope
from umi.faces.cli.render import error_line, terminal

# Of all that can be wrong with a command line Typer exports one kind; the one above it is the kind of all.
_USAGE_ERRORS: tuple[type[Exception], ...] = tuple(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "UsageError" and issubclass(kind, Exception)
)
_EPILOG = "Exit codes: " + "; ".join(f"{int(code)} {meaning}" for code, meaning in EXIT_CODES.items()) + "."

app = typer.Typer(
    name="umi",
    help="Memory for AI agents: what was said word for word, what holds now, what held then, and why it changed.",
    epilog=_EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group in (
    remembering,
    sessions,
    following,
    contexts,
    facts,
    changing,
    erasing,
    importing,
    copying,
    learning,
    upkeep,
    serving,
    reading,
    doctor,
    demo,
    starting,
):
    group.add_to(app)
app.add_typer(benching.app, name="bench")
extensions.add_to(app, benching.app, sys.argv[1:])

_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"umi {umi.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


def _answer_in_json() -> None:
    """As `app`, but a command line that cannot be understood is answered with an envelope too."""
    try:
        code = app(prog_name="umi", standalone_mode=False)
    except _USAGE_ERRORS as error:
        # Without `answered`: no command was chosen yet.
        message = error.format_message() if isinstance(error, typer.BadParameter) else str(error)
        data = {"error": "InvalidInput", "code": umi.InvalidInput.code, "message": message}
        print_envelope("error", data, 0.0)
        code = Code.BAD_INPUT
    sys.exit(int(code or Code.OK))


def main() -> None:
    """Run the command line. An exception that nobody expected becomes one line and exit code 70."""
    logging.getLogger("umi").addHandler(logging.NullHandler())  # commands say what was degraded themselves
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode shows "?" instead of a traceback
    try:
        if "--json" in sys.argv:
            _answer_in_json()
        app(prog_name="umi")
    except Exception as error:  # the one guard of this face: a bug must not look like the user's fault
        if os.environ.get("UMI_DEBUG"):
            raise
        if isinstance(error, OSError) and error.errno in _NO_ROOM:  # also where the answer itself is written to
            error_line(
                terminal(stderr=True), f"{error.strerror}: make room and run it again; what was acknowledged is stored"
            )
            sys.exit(int(Code.STORE_TROUBLE))
        error_line(
            terminal(stderr=True),
            f"a bug in Umi, not your fault: {type(error).__name__}: {error}. Your memories are safe; run again with "
            "UMI_DEBUG=1 and report what it prints",
        )
        sys.exit(int(Code.BUG))
