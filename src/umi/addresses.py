"""Addresses of stores, as logs and messages may show them."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

# As libpq reads it, to which ? and # in a password are signs like others. A / ends it, unless what is before it is no port.
_USER_INFO: Final = re.compile(r"(?<=://)([^/@:\[]*):(?:[^/]*|(?!\d*[/?,]).*)@")
_PARAMETER: Final = re.compile(r"([?&])([^=&]*)=[^&]*")
HIDDEN: Final = "***"
_SECRET: Final = ("password", "secret")  # how the names of parameters end that hold one


def without_password(address: str) -> str:
    """The address of a store with the password left out; one that has none stays as it is.

    Args:
        address: A path or a URL. RFC 3986 puts a password behind the user's name, and libpq also takes it as a parameter.
    """
    return _PARAMETER.sub(_hidden, _USER_INFO.sub(r"\1@", address))


def _hidden(parameter: re.Match[str]) -> str:
    is_secret = unquote(parameter[2]).lower().endswith(_SECRET)
    return f"{parameter[1]}{parameter[2]}={HIDDEN}" if is_secret else parameter[0]
