"""Addresses of stores, as logs and messages may show them."""

from __future__ import annotations

import re
from typing import Final

_USER_INFO: Final = re.compile(r"(?<=://)([^/?#]*):[^/?#]*@")
_PARAMETER: Final = re.compile(r"([?&](?:ssl)?password=)[^&#]*", re.IGNORECASE)


def without_password(address: str) -> str:
    """The address of a store with the password left out; one that has none stays as it is.

    Args:
        address: A path or a URL. RFC 3986 puts a password behind the user's name, and libpq also takes it as a parameter.
    """
    return _PARAMETER.sub(r"\1***", _USER_INFO.sub(r"\1@", address))
