"""Values from and to manifests, made from the declarations of attrs classes.

A decoder walks over what is present, so its cost goes with the size of the manifest and not with the number
of fields that a class has. Unknown fields are ignored, null means absent, and everything of a wrong type is
an :class:`InputError` with the path of the field.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, Final, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import attrs

from schedframe.api._wire import EMPTY, WIRE, Wire, wire
from schedframe.api.quantity import Quantity, parse_quantity
from schedframe.api.times import format_time, parse_time
from schedframe.errors import InputError

T = TypeVar("T")
Decode = Callable[[Any], Any]
Encode = Callable[[Any], Any]

_share: Final[Callable[[Any], Any]] = sys.intern
_PLAIN_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


class _Codec(NamedTuple):
    """``expected`` is a type that is taken as it is; everything else goes through ``decode``."""

    expected: type | None
    decode: Decode
    encode: Encode | None


class _Field(NamedTuple):
    name: str
    key: str
    always: bool
    optional: bool
    default: Any
    shared: bool
    codec: _Codec


def describe(value: Any) -> str:
    """What a value of a manifest is, for messages: ``5 (a number)``, ``a list``."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None:
        return "null"
    shown = repr(value)
    shown = shown if len(shown) <= 40 else f"{shown[:37]}..."
    if isinstance(value, bool):
        return f"{str(value).lower()} (true or false)"
    if isinstance(value, int | float):
        return f"{shown} (a number)"
    return f"{shown} (text)" if isinstance(value, str) else f"{shown} ({type(value).__name__})"


def at_key(error: InputError, key: str) -> InputError:
    """*error*, one level further out, in the member *key* of a mapping."""
    return error.at(key if _PLAIN_KEY.fullmatch(key) else f'["{key}"]')


def decode_text(value: Any) -> str:
    """Text; numbers and booleans are refused rather than rewritten, as the API server does."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | int | float):
        shown = str(value).lower() if isinstance(value, bool) else str(value)
        raise InputError("", f"expected text, got {describe(value)}", f'put it in quotes: "{shown}"')
    raise InputError("", f"expected text, got {describe(value)}", "write a string")


def decode_bool(value: Any) -> bool:
    """``true`` or ``false``, nothing else."""
    if isinstance(value, bool):
        return value
    raise InputError(
        "", f"expected true or false, got {describe(value)}", "write true or false, without quotes"
    )


def _decode_int(bits: int) -> Decode:
    high = 2 ** (bits - 1) - 1

    def decode(value: Any) -> int:
        if type(value) is int:
            if -high <= value <= high or value == -high - 1:
                return value
            raise InputError("", f"{value} does not fit into {bits} bits", f"write a number up to {high}")
        if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]+", value):
            raise InputError("", f"expected a whole number, got {describe(value)}", "leave out the quotes")
        raise InputError("", f"expected a whole number, got {describe(value)}", "write a number like 3")

    return decode


def _decode_int_or_text(value: Any) -> int | str:
    if type(value) is int or isinstance(value, str):
        return value
    raise InputError(
        "", f"expected a number or text, got {describe(value)}", 'write a number like 1 or "50%"'
    )


def _decode_anything(value: Any) -> Any:
    return value


def _list_of(item: _Codec) -> _Codec:
    expected, convert, encode = item

    def decode(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise InputError(
                "",
                f"expected a list, got {describe(value)}",
                "write a list: [...], or one item a line after -",
            )
        result = []
        for index, entry in enumerate(value):
            if type(entry) is expected:
                result.append(_share(entry) if expected is str else entry)
                continue
            try:
                result.append(convert(entry))
            except InputError as error:
                raise error.at(f"[{index}]") from None
        return tuple(result)

    return _Codec(
        None, decode, list if encode is None else lambda values: [encode(value) for value in values]
    )


def _map_of(item: _Codec) -> _Codec:
    expected, convert, encode = item

    def decode(value: Any) -> Mapping[str, Any]:
        result = {}
        for key, entry in _members(value):
            if entry is None:
                continue
            if type(entry) is expected:
                result[key] = entry
                continue
            try:
                result[key] = convert(entry)
            except InputError as error:
                raise at_key(error, key) from None
        return result or EMPTY

    if encode is None:
        return _Codec(None, decode, dict)
    return _Codec(None, decode, lambda values: {key: encode(value) for key, value in values.items()})


def _members(value: Any) -> list[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        raise InputError("", f"expected an object, got {describe(value)}", "write members as key: value")
    for key in value:
        if not isinstance(key, str):
            raise InputError("", f"expected text as key, got {describe(key)}", f'put it in quotes: "{key}"')
    return list(value.items())


def _codec(hint: Any, bits: int = 64) -> _Codec:
    """The codec for one type annotation."""
    if hint is str:
        return _Codec(str, decode_text, None)
    if hint is bool:
        return _Codec(bool, decode_bool, None)
    if hint is int:
        return _Codec(None, _decode_int(bits), None)
    if hint is Any:
        return _Codec(None, _decode_anything, None)
    if hint is Quantity:
        return _Codec(None, parse_quantity, str)
    if attrs.has(hint):
        return _Codec(None, decoder(hint), encoder(hint))
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        kinds = [arg for arg in args if arg is not NoneType]
        if len(kinds) == 1:
            return _codec(kinds[0], bits)
        if set(kinds) == {int, str}:
            return _Codec(None, _decode_int_or_text, None)
    if origin is tuple and len(args) == 2 and args[1] is Ellipsis:
        return _list_of(_codec(args[0], bits))
    if origin is Mapping and args[0] is str:
        return _map_of(_codec(args[1], bits))
    raise TypeError(f"no codec for {hint!r}: declare one with wire(decode=…, encode=…)")


def _fields(cls: type[Any]) -> tuple[_Field, ...]:
    hints = get_type_hints(cls)
    result = []
    for attribute in attrs.fields(cls):
        declared: Wire = attribute.metadata.get(WIRE) or Wire()
        if declared.skip:
            continue
        head, *rest = attribute.name.split("_")
        key = declared.name or head + "".join(part.capitalize() for part in rest)
        codec = (
            _Codec(None, declared.decode, declared.encode)
            if declared.decode is not None
            else _codec(hints[attribute.name], declared.bits)
        )
        result.append(
            _Field(
                name=attribute.alias or attribute.name,
                key=key,
                always=declared.always,
                optional=attribute.default is None,
                default=attribute.default,
                shared=codec.expected is str and not declared.unique,
                codec=codec,
            )
        )
    return tuple(result)


CHECK: Final = "_check_manifest"
"""Name of the method with which a class refuses what no single field can: it raises :class:`InputError`."""

_decoders: dict[type[Any], Callable[[Any], Any]] = {}
_encoders: dict[type[Any], Callable[[Any], dict[str, Any]]] = {}


def decoder(cls: type[T]) -> Callable[[Any], T]:
    """The function that makes a *cls* of a manifest's part. Raises :class:`InputError`, with the path from
    there.
    """
    known: Callable[[Any], T] | None = _decoders.get(cls)
    if known is not None:
        return known
    table = {
        each.key: (each.name, each.codec.expected, each.shared, each.codec.decode) for each in _fields(cls)
    }
    find = table.get
    empty = cls()
    check = getattr(cls, CHECK, None)

    def decode(value: Any) -> T:
        if not isinstance(value, Mapping):
            raise InputError("", f"expected an object, got {describe(value)}", "write members as key: value")
        found = {}
        for key, entry in value.items():
            wanted = find(key)
            if wanted is None or entry is None:
                continue
            name, expected, shared, convert = wanted
            if type(entry) is expected:
                found[name] = _share(entry) if shared else entry
                continue
            try:
                found[name] = convert(entry)
            except InputError as error:
                raise error.at(key) from None
        made = cls(**found) if found else empty
        if check is not None:
            check(made)
        return made

    _decoders[cls] = decode
    return decode


def encoder(cls: type[T]) -> Callable[[T], dict[str, Any]]:
    """The function that makes a manifest's part of a *cls*: without nulls, empties and defaults."""
    known: Callable[[T], dict[str, Any]] | None = _encoders.get(cls)
    if known is not None:
        return known
    fields = _fields(cls)

    def encode(value: T) -> dict[str, Any]:
        result = {}
        for name, key, always, optional, default, _, codec in fields:
            entry = getattr(value, name)
            if entry is None or (entry is default and not always):
                continue
            written = entry if codec.encode is None else codec.encode(entry)
            if written or always or optional:
                result[key] = written
        return result

    _encoders[cls] = encode
    return encode


# ---- fields with rules of their own ----

TIME: Final = wire(decode=parse_time, encode=format_time)
"""Metadata of a field with a timestamp."""
_texts: Final[Callable[[Any], Mapping[str, str]]] = _map_of(_Codec(str, decode_text, None)).decode
_MAX_SHARED: Final = 63


def decode_labels(value: Any) -> Mapping[str, str]:
    """Labels. Equal ones become one mapping: the pods of a workload have the same."""
    if not isinstance(value, Mapping) or len(value) > 16:
        return _texts(value)
    for entry in value.values():
        if type(entry) is not str or len(entry) > _MAX_SHARED:
            return _texts(value)
    return _shared_texts(tuple(value.items()))


@lru_cache(maxsize=8192)
def _shared_texts(items: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    return _texts(dict(items))


_amounts: Final[Callable[[Any], Mapping[str, Quantity]]] = _map_of(_Codec(None, parse_quantity, str)).decode


def decode_amounts(value: Any) -> Mapping[str, Quantity]:
    """Amounts by resource name, none negative. Equal ones become one mapping."""
    if isinstance(value, Mapping) and all(type(entry) is str for entry in value.values()):
        return _shared_amounts(tuple(value.items()))
    return _checked_amounts(value)


def encode_amounts(value: Mapping[str, Quantity]) -> dict[str, str]:
    """The other way round."""
    return {name: str(amount) for name, amount in value.items()}


@lru_cache(maxsize=8192)
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
    """A list of objects that have nothing but a ``name``, as the names."""
    return tuple(entry.get("name") or "" for entry in _named(value))


_named: Final = _list_of(_map_of(_Codec(str, decode_text, None))).decode


def encode_named(value: tuple[str, ...]) -> list[dict[str, str]]:
    """The other way round."""
    return [{"name": name} for name in value]


_times: Final[Callable[[Any], Mapping[str, float]]] = _map_of(_Codec(None, parse_time, None)).decode


def decode_times(value: Any) -> Mapping[str, float]:
    """Timestamps by name."""
    return _times(value)


def encode_times(value: Mapping[str, float]) -> dict[str, str]:
    """The other way round."""
    return {name: format_time(seconds) for name, seconds in value.items()}


TIMES: Final = wire(decode=decode_times, encode=encode_times)
"""Metadata of a field with timestamps by name."""


def decode_os_name(value: Any) -> str:
    """``spec.os`` of a pod, an object with nothing but a name."""
    return str(_texts(value).get("name", ""))


def encode_os_name(value: str) -> dict[str, str]:
    """The other way round."""
    return {"name": value} if value else {}
