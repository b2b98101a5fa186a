"""The process of the `umi` command, also as `python -m umi`."""

from __future__ import annotations

import sys

from umi.faces.cli.loading import for_good

_INTERRUPTED = 130  # `Code.INTERRUPTED` of the command line, which may not be imported yet


def main() -> None:
    """Run the command line, and end the process with its exit code; Ctrl-C ends it without a word at any moment."""
    try:
        with for_good():
            from umi.faces.cli.main import main as run  # noqa: PLC0415 - some thousand classes and functions
        run()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
