"""JSON of requests to the API server: the one place where texts become bytes."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ...api._text import encodable

_encode: Final = msgspec.json.Encoder().encode


def encode(value: Any) -> bytes:
    """Return *value* as JSON. Half of a surrogate pair becomes U+FFFD, as Go writes it."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return _encode(encodable(value))
