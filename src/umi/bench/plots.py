"""Pictures are drawn by matplotlib, which the extra `plot` installs."""

from __future__ import annotations

from umi.errors import InvalidOptions


def require() -> None:
    """See that the library is here, before minutes of work.

    Raises:
        InvalidOptions: When it is not.
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415 - only when pictures are wanted
    except ImportError as error:
        raise InvalidOptions(
            "plots need matplotlib, which the extra installs: pip install 'umi-memory[plot]'"
        ) from error
    mpl.use("agg")  # files, never a window
