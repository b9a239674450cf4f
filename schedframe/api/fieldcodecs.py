"""Codecs of fields with rules of their own: timestamps, labels, amounts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from ..errors import InputError
from ._wire import wire
from .quantity import Quantity, parse_quantity
from .times import format_time, parse_time
from .valuecodecs import Codec, at_key, decode_text, list_of, map_of

LABEL_HOSTNAME: Final = "kubernetes.io/hostname"
TIME: Final = wire(decode=parse_time, encode=format_time)
"""Metadata of a field with a timestamp."""
_texts: Final[Callable[[Any], Mapping[str, str]]] = map_of(Codec(str, decode_text, None), shared=True).decode
_MAX_SHARED: Final = 63
"""Characters of the longest label value that is shared; Kubernetes allows no longer ones."""


def decode_labels(value: Any) -> Mapping[str, str]:
    """Return labels. Equal labels become one mapping, because all pods of a workload have the same.

    Those of a node contain its name, so of these only the texts are shared.
    """
    if not isinstance(value, Mapping) or len(value) > 16:
        return _texts(value)
    for entry in value.values():
        if type(entry) is not str or len(entry) > _MAX_SHARED:
            return _texts(value)
    if LABEL_HOSTNAME in value:
        return _texts(value)
    return _shared_texts(tuple(value.items()))


@lru_cache(maxsize=2048)
def _shared_texts(items: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    return _texts(dict(items))


_amounts: Final[Callable[[Any], Mapping[str, Quantity]]] = map_of(Codec(None, parse_quantity, str)).decode


def decode_amounts(value: Any) -> Mapping[str, Quantity]:
    """Return amounts by resource name, none negative. Equal ones become one mapping."""
    if isinstance(value, Mapping) and all(type(entry) is str for entry in value.values()):
        return _shared_amounts(tuple(value.items()))
    return _checked_amounts(value)


def encode_amounts(value: Mapping[str, Quantity]) -> dict[str, str]:
    """Return the form of manifests."""
    return {name: str(amount) for name, amount in value.items()}


@lru_cache(maxsize=2048)
def _shared_amounts(items: tuple[tuple[str, str], ...]) -> Mapping[str, Quantity]:
    return _checked_amounts(dict(items))


def _checked_amounts(value: Any) -> Mapping[str, Quantity]:
    amounts = _amounts(value)
    for name, amount in amounts.items():
        if amount.nano < 0:
            raise at_key(InputError("", f"{amount} is negative", "write an amount of 0 or more"), name)
    return amounts


LABELS: Final = wire(decode=decode_labels, encode=dict)
"""Metadata of a field with labels."""
AMOUNTS: Final = wire(decode=decode_amounts, encode=encode_amounts)
"""Metadata of a field with amounts by resource name that cannot be negative."""


def decode_named(value: Any) -> tuple[str, ...]:
    """Return the names of a list of objects that have only a ``name``."""
    return tuple(entry.get("name") or "" for entry in _named(value))


_named: Final = list_of(map_of(Codec(str, decode_text, None))).decode


def encode_named(value: tuple[str, ...]) -> list[dict[str, str]]:
    """Return the form of manifests."""
    return [{"name": name} for name in value]


_times: Final[Callable[[Any], Mapping[str, float]]] = map_of(Codec(None, parse_time, None)).decode


def decode_times(value: Any) -> Mapping[str, float]:
    """Return timestamps by name."""
    return _times(value)


def encode_times(value: Mapping[str, float]) -> dict[str, str]:
    """Return the form of manifests."""
    return {name: format_time(seconds) for name, seconds in value.items()}


TIMES: Final = wire(decode=decode_times, encode=encode_times)
"""Metadata of a field with timestamps by name."""


def decode_os_name(value: Any) -> str:
    """Return the name in ``spec.os`` of a pod, an object with only a name."""
    return str(_texts(value).get("name", ""))


def encode_os_name(value: str) -> dict[str, str]:
    """Return the form of manifests."""
    return {"name": value} if value else {}
