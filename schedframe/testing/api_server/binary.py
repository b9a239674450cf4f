"""The binary form of answers (protobuf), as far as schedulers read it: the kind, and what a failure says."""

from __future__ import annotations

from typing import Any, Final

BINARY: Final = "application/vnd.kubernetes.protobuf"
"""Content type of the binary form."""

_MAGIC: Final = b"k8s\x00"


def in_binary(document: dict[str, Any]) -> bytes:
    """Return kind and version of *document* in the binary form; of a ``Status`` also reason and message."""
    described = _field(1, document.get("apiVersion", "")) + _field(2, document.get("kind", ""))
    raw = b""
    if document.get("kind") == "Status":
        parts = ((2, "status"), (3, "message"), (4, "reason"))
        raw = b"".join(_field(number, document.get(name, "")) for number, name in parts)
        raw += _key(6, 0) + _varint(document.get("code", 0))
    return _MAGIC + _field(1, described) + _field(2, raw)


def _field(number: int, value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _key(number, 2) + _varint(len(data)) + data


def _key(number: int, form: int) -> bytes:
    return _varint(number << 3 | form)


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
