"""Decoders and encoders of values, derived from the declarations of attrs classes.

A decoder walks over the fields that are present, so its cost depends on the size of the manifest, not on the
number of fields of a class. Unknown fields are ignored, null means absent, and a wrong type is an
:class:`InputError` with the path of the field.
"""

from __future__ import annotations

import marshal
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from types import NoneType, UnionType
from typing import Any, Final, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import attrs

from .._brief import shown
from .._checked import unchecked
from ..errors import InputError
from ._wire import EMPTY, WIRE, Wire
from .quantity import Quantity, parse_quantity

T = TypeVar("T")
Decode = Callable[[Any], Any]
Encode = Callable[[Any], Any]

_share: Final[Callable[[Any], Any]] = sys.intern
_PLAIN_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


class Codec(NamedTuple):
    """Values of type ``expected`` are taken as they are; others go through ``decode``."""

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
    codec: Codec


MOST_LEVELS: Final = 512
"""Levels of a value of any form, such as the parameters of a driver; drivers have a handful."""


@attrs.frozen
class UnreadPart:
    """Stands in a manifest for a part that cannot be read; no field takes it."""

    problem: str
    """What it is: ``nesting of more than 576 levels``."""


def describe(value: Any) -> str:
    """Return a description of a value for messages: ``5 (a number)``, ``a list``."""
    if isinstance(value, UnreadPart):
        return value.problem
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None:
        return "null"
    written = shown(value)
    if isinstance(value, bool):
        return f"{str(value).lower()} (true or false)"
    if isinstance(value, int | float):
        return f"{written} (a number)"
    return f"{written} (text)" if isinstance(value, str) else f"{written} ({type(value).__name__})"


def at_key(error: InputError, key: Any) -> InputError:
    """Return *error* one level further out, in the member *key* of a mapping, which may be no text."""
    if not isinstance(key, str):
        key = shown(key)
    return error.at(key if _PLAIN_KEY.fullmatch(key) else f'["{key}"]')


def decode_text(value: Any) -> str:
    """Return a text. Numbers and booleans are refused, as by the API server."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | int | float):
        written = shown(value).lower() if isinstance(value, bool) else shown(value)
        raise InputError("", f"expected text, got {describe(value)}", f'put it in quotes: "{written}"')
    raise InputError("", f"expected text, got {describe(value)}", "write a string")


def decode_bool(value: Any) -> bool:
    """Return ``true`` or ``false``. Anything else is refused."""
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
            problem = f"{shown(value)} does not fit into {bits} bits"
            raise InputError("", problem, f"write a number up to {high}")
        if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]+", value):
            raise InputError("", f"expected a whole number, got {describe(value)}", "leave out the quotes")
        raise InputError("", f"expected a whole number, got {describe(value)}", "write a number like 3")

    return decode


decode_integer: Final = _decode_int(64)
"""Decoder of whole numbers of 64 bits."""


def _decode_int_or_text(value: Any) -> int | str:
    if type(value) is int or isinstance(value, str):
        return value
    raise InputError(
        "", f"expected a number or text, got {describe(value)}", 'write a number like 1 or "50%"'
    )


def _decode_anything(value: Any) -> Any:
    """Return *value* if others can work with it: functions that call themselves end at a thousand levels."""
    level = [value]
    for _ in range(MOST_LEVELS):
        level = _inside(level)
        if not level:
            return value
    raise InputError("", f"nesting of more than {MOST_LEVELS} levels", "write it flatter")


def _inside(values: Iterable[Any]) -> list[Any]:
    """Return the items of *values*, each object once: YAML can name one a million times."""
    found: dict[int, Any] = {}
    for value in values:
        if isinstance(value, UnreadPart):
            raise InputError("", describe(value), "write plain JSON")
        if isinstance(value, Mapping):
            found |= {id(each): each for each in value.values()}
        elif isinstance(value, list | tuple):
            found |= {id(each): each for each in value}
    return list(found.values())


def list_of(item: Codec) -> Codec:
    """Return the codec of lists of *item*, which become tuples."""
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

    return Codec(None, decode, list if encode is None else lambda values: [encode(value) for value in values])


def map_of(item: Codec, *, share: bool = False) -> Codec:
    """Return the codec of objects with members of any name, each an *item*. Null members count as absent.

    *share*: equal texts among the values become one object, as equal names always do.
    """
    expected, convert, encode = item

    def decode(value: Any) -> Mapping[str, Any]:
        result = {}
        for key, entry in _members(value):
            if entry is None:
                continue
            name = _share(key) if type(key) is str else key
            if type(entry) is expected:
                result[name] = _share(entry) if share else entry
                continue
            try:
                result[name] = convert(entry)
            except InputError as error:
                raise at_key(error, key) from None
        return result or EMPTY

    if encode is None:
        return Codec(None, decode, dict)
    return Codec(None, decode, lambda values: {key: encode(value) for key, value in values.items()})


def _members(value: Any) -> list[tuple[str, Any]]:
    if type(value) is not dict and not isinstance(value, Mapping):
        raise InputError("", f"expected an object, got {describe(value)}", "write members as key: value")
    for key in value:
        if not isinstance(key, str):
            fix = f'put it in quotes: "{shown(key)}"'
            raise InputError("", f"expected text as key, got {describe(key)}", fix)
    return list(value.items())


def _codec(hint: Any, bits: int = 64) -> Codec:
    """Return the codec of a type annotation."""
    if hint is str:
        return Codec(str, decode_text, None)
    if hint is bool:
        return Codec(bool, decode_bool, None)
    if hint is int:
        return Codec(None, _decode_int(bits), None)
    if hint is Any:
        return Codec(None, _decode_anything, None)
    if hint is Quantity:
        return Codec(None, parse_quantity, str)
    if attrs.has(hint):
        return Codec(None, decoder(hint), encoder(hint))
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        kinds = [arg for arg in args if arg is not NoneType]
        if len(kinds) == 1:
            return _codec(kinds[0], bits)
        if set(kinds) == {int, str}:
            return Codec(None, _decode_int_or_text, None)
    if origin is tuple and len(args) == 2 and args[1] is Ellipsis:
        return list_of(_codec(args[0], bits))
    if origin is Mapping and args[0] is str:
        return map_of(_codec(args[1], bits))
    raise TypeError(f"no codec for {hint!r}: declare one with wire(decode=…, encode=…)")


def sharing(decode: Decode, values: int = 0, generations: list[dict[bytes, Any]] | None = None) -> Decode:
    """Return *decode* with a memo: equal input gives one object, at a tenth of the cost of decoding.

    The memo keeps *values* at most (0: the default), in two generations. When the younger one is full, it
    takes the place of the older one, so values that keep coming stay. *generations* has both at any time.
    """
    memo: dict[bytes, Any] = {}
    older: dict[bytes, Any] = {}
    if generations is None:
        generations = []
    generations[:] = memo, older

    def shared(value: Any) -> Any:
        nonlocal memo, older
        try:
            key = marshal.dumps(value, 2)  # version 2 writes equal values as equal bytes
        except ValueError:
            return decode(value)  # not made of plain containers, so not from a file
        decoded = memo.get(key)
        if decoded is None:
            decoded = older.get(key)
            if decoded is None:
                decoded = decode(value)
            if len(key) <= _MAX_SHARED_BYTES:
                if len(memo) >= (values or _MAX_SHARED_VALUES) // 2:
                    memo, older = {}, memo
                    generations[:] = memo, older
                memo[key] = decoded
        return decoded

    return shared


_MAX_SHARED_BYTES: Final = 8192
"""Bytes of the longest marshalled value that a memo of :func:`sharing` keeps."""
_MAX_SHARED_VALUES: Final = 2048
"""Values in one memo of :func:`sharing`."""


def _fields(cls: type[Any]) -> tuple[_Field, ...]:
    hints = get_type_hints(cls)
    declared = [(attribute, attribute.metadata.get(WIRE) or Wire()) for attribute in attrs.fields(cls)]
    return tuple(
        _field(attribute, wire, hints[attribute.name]) for attribute, wire in declared if not wire.skip
    )


def _field(attribute: attrs.Attribute[Any], declared: Wire, hint: Any) -> _Field:
    head, *rest = attribute.name.split("_")
    if declared.decode is not None:
        codec = Codec(None, declared.decode, declared.encode)
    else:
        codec = _codec(hint, declared.bits)
    if declared.share:
        codec = codec._replace(decode=sharing(codec.decode))
    return _Field(
        name=attribute.alias or attribute.name,
        key=declared.name or head + "".join(part.capitalize() for part in rest),
        always=declared.always,
        optional=attribute.default is None,
        default=attribute.default,
        shared=codec.expected is str and not declared.unique,
        codec=codec,
    )


CHECK: Final = "_check_manifest"
"""Name of the method that checks several fields of a class together. It raises :class:`InputError`."""

_decoders: dict[type[Any], Callable[[Any], Any]] = {}
_encoders: dict[type[Any], Callable[[Any], dict[str, Any]]] = {}


def decoder(cls: type[T]) -> Callable[[Any], T]:
    """Return the function that makes a *cls* of its part of a manifest.

    The function raises :class:`InputError`, with the path from there.
    """
    existing: Callable[[Any], T] | None = _decoders.get(cls)
    if existing is not None:
        return existing
    table = {
        each.key: (each.name, each.codec.expected, each.shared, each.codec.decode) for each in _fields(cls)
    }
    find = table.get
    empty, make = cls(), unchecked(cls)
    check = getattr(cls, CHECK, None)

    def decode(value: Any) -> T:
        # The first question answers nearly always, and costs a tenth of the second one.
        if type(value) is not dict and not isinstance(value, Mapping):
            raise InputError("", f"expected an object, got {describe(value)}", "write members as key: value")
        values = {}
        for key, entry in value.items():
            wanted = find(key)
            if wanted is None or entry is None:
                continue
            name, expected, shared, convert = wanted
            if type(entry) is expected:
                values[name] = _share(entry) if shared else entry
                continue
            try:
                values[name] = convert(entry)
            except InputError as error:
                raise error.at(key) from None
        made = make(**values) if values else empty
        if check is not None:
            check(made)
        return made

    _decoders[cls] = decode
    return decode


def encoder(cls: type[T]) -> Callable[[T], dict[str, Any]]:
    """Return the function that writes a *cls* as part of a manifest, without nulls, empties and defaults."""
    existing: Callable[[T], dict[str, Any]] | None = _encoders.get(cls)
    if existing is not None:
        return existing
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
