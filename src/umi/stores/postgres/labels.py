"""Values of labels as byte strings whose order is that of the values: numbers, then texts, then booleans.

SQLite orders values of several types so in one column; PostgreSQL has columns of one type only.
"""

from __future__ import annotations

import struct
from typing import Final

from umi.types.filters import Scalar

_NUMBER: Final = b"\1"
_TEXT: Final = b"\2"
_BOOLEAN: Final = b"\3"
_SIGN: Final = 1 << 63
_ALL: Final = (1 << 64) - 1


def ordered(value: Scalar | bytes) -> bytes:
    """A value's byte string. Equal numbers have the same one, whether whole or not; bytes are a boolean of the SQLite store.

    A number is its IEEE 754 form, with the sign bit turned round where it is positive and all bits where it is negative,
    followed by what a whole number has beyond it.
    """
    if isinstance(value, bytes):
        return _BOOLEAN + value
    if isinstance(value, bool):
        return _BOOLEAN + bytes([value])
    if isinstance(value, str):
        return _TEXT + value.encode()
    near = float(value) + 0.0  # -0.0 becomes 0.0
    (bits,) = struct.unpack(">Q", struct.pack(">d", near))
    bits = bits ^ _ALL if bits & _SIGN else bits | _SIGN
    beyond = value - int(near) if isinstance(value, int) else 0
    return _NUMBER + struct.pack(">QQ", bits, (beyond + _SIGN) & _ALL)
