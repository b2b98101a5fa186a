"""The process of the `umi` command, also as `python -m umi`."""

from __future__ import annotations

from umi.faces.cli.loading import for_good


def main() -> None:
    """Run the command line, and end the process with its exit code."""
    with for_good():
        from umi.faces.cli.main import main as run  # noqa: PLC0415 - some thousand classes and functions
    run()


if __name__ == "__main__":
    main()
