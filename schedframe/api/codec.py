"""Decoders and encoders of values, derived from the declarations of attrs classes.

A decoder walks over the fields that are present, so its cost depends on the size of the manifest, not on the
number of fields of a class. A wrong type is an :class:`InputError` with the path of the field; several are
reported at once. In manifests unknown fields are ignored and null means absent; a *strict* decoder, that of
configurations, refuses unknown fields, takes ready instances, and calls the constructors with their checks.
"""

from __future__ import annotations

import marshal
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Final, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import attrs

from .._base.checked import unchecked
from ..errors import InputError, InputErrors
from ._text import meant
from ._wire import WIRE, Wire
from .duration import Duration
from .quantity import Quantity, parse_quantity
from .valuecodecs import (
    Codec,
    Decode,
    MissingField,
    UnknownField,
    at_key,
    choice_of,
    decode_anything,
    decode_bool,
    decode_bytes,
    decode_duration,
    decode_float,
    decode_int,
    decode_int_or_text,
    decode_text,
    encode_bytes,
    expected,
    key_error,
    list_of,
    map_of,
    object_error,
    share,
)

T = TypeVar("T")


class _Field(NamedTuple):
    name: str
    key: str
    always: bool
    optional: bool
    default: Any
    shared: bool
    codec: Codec


_LEAVES: Final[Mapping[Any, Codec]] = {
    str: Codec(str, decode_text, None),
    bool: Codec(bool, decode_bool, None),
    float: Codec(None, decode_float, None),
    Any: Codec(None, decode_anything, None),
    object: Codec(None, decode_anything, None),
    Quantity: Codec(None, parse_quantity, str),
    Duration: Codec(None, decode_duration, str),
    bytes: Codec(None, decode_bytes, encode_bytes),
}
_ZEROS: Final[Mapping[Any, Any]] = {str: "", int: 0, float: 0.0, bool: False}
"""What a strict decoder makes of null in a list or map, as Go does."""
_LISTS: Final[Mapping[Any, Callable[[list[Any]], Any]]] = {
    tuple: tuple,
    Sequence: tuple,
    list: list,
    set: set,
    frozenset: frozenset,
}


def _codec(hint: Any, bits: int = 64, *, strict: bool = False) -> Codec:
    """Return the codec of a type annotation."""
    if (leaf := _LEAVES.get(hint)) is not None:
        return leaf
    if hint is int:
        return Codec(None, decode_int(bits, point=strict), None)
    if isinstance(hint, type) and attrs.has(hint):
        return Codec(None, decoder(hint, strict=strict), None if strict else encoder(hint))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return Codec(None, choice_of({member.value: member for member in hint}), None)
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return Codec(None, choice_of({value: value for value in args}), None)
    if origin in (Union, UnionType):
        kinds = [arg for arg in args if arg is not NoneType]
        if len(kinds) == 1:
            return _codec(kinds[0], bits, strict=strict)
        if set(kinds) == {int, str}:
            return Codec(None, decode_int_or_text, None)
    if origin in _LISTS and (origin is not tuple or args[1:] == (Ellipsis,)):
        return list_of(_item(args[0], bits, strict=strict), _LISTS[origin])
    if origin in (Mapping, dict) and args[0] is str:
        return map_of(_item(args[1], bits, strict=strict), nulls=strict)
    raise TypeError(f"no codec for {hint!r}: declare one with wire(decode=…, encode=…)")


def _item(hint: Any, bits: int, *, strict: bool) -> Codec:
    """Return the codec of the items of a list or map. Of null a strict one makes what Go does: a zero."""
    codec = _codec(hint, bits, strict=strict)
    zero = {} if isinstance(hint, type) and attrs.has(hint) and hint not in _LEAVES else _ZEROS.get(hint)
    if not strict or zero is None:
        return codec
    convert = codec.decode
    return codec._replace(decode=lambda value: convert(zero if value is None else value))


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


def json_key(attribute: attrs.Attribute[Any]) -> str:
    """Return the key of a field in manifests and configurations; empty if it is not there."""
    declared: Wire = attribute.metadata.get(WIRE) or Wire()
    head, *rest = attribute.name.strip("_").split("_")
    key = declared.name or head + "".join(part[:1].upper() + part[1:] for part in rest)
    return "" if declared.skip or not attribute.init else key


def json_names(cls: type[Any]) -> dict[str, str]:
    """Return attribute → key in manifests and configurations."""
    return {attribute.name: key for attribute in attrs.fields(cls) if (key := json_key(attribute))}


def _fields(cls: type[Any], *, strict: bool = False) -> tuple[_Field, ...]:
    hints = get_type_hints(cls)
    return tuple(
        _field(attribute, key, hints[attribute.name], strict=strict)
        for attribute in attrs.fields(cls)
        if (key := json_key(attribute))
    )


def _field(attribute: attrs.Attribute[Any], key: str, hint: Any, *, strict: bool) -> _Field:
    declared: Wire = attribute.metadata.get(WIRE) or Wire()
    if declared.decode is not None:
        codec = Codec(None, declared.decode, declared.encode)
    else:
        codec = _codec(hint, declared.bits, strict=strict)
    if declared.share:
        codec = codec._replace(decode=sharing(codec.decode))
    return _Field(
        name=attribute.alias or attribute.name,
        key=key,
        always=declared.always,
        optional=attribute.default is None,
        default=attribute.default,
        shared=codec.expected is str and not declared.unique,
        codec=codec,
    )


CHECK: Final = "_check_manifest"
"""Name of the method that checks several fields of a class together. It raises :class:`InputError`."""

_decoders: dict[tuple[type[Any], bool], Callable[[Any], Any]] = {}
_encoders: dict[type[Any], Callable[[Any], dict[str, Any]]] = {}


def decoder(cls: type[T], *, strict: bool = False) -> Callable[[Any], T]:
    """Return the function that makes a *cls* of its part of a manifest, or *strict*: of a configuration.

    The function raises :class:`InputError`, with the path from there; :class:`InputErrors` for several
    mistakes, with all of them.
    """
    existing: Callable[[Any], T] | None = _decoders.get((cls, strict))
    if existing is None:
        existing = _decoders[cls, strict] = _new_decoder(cls, strict=strict)
    return existing


def _table(cls: type[Any], *, strict: bool) -> tuple[Any, Callable[..., Any], Any, Callable[[Any], Any]]:
    """Return the value of an empty object, constructor, check, and the function from a key to its field."""
    fields = _fields(cls, strict=strict)
    table = {each.key: (each.name, each.codec.expected, each.shared, each.codec.decode) for each in fields}
    if strict:
        return None, _constructor(cls, fields), None, table.get
    return cls(), unchecked(cls), getattr(cls, CHECK, None), table.get


def _new_decoder(cls: type[T], *, strict: bool) -> Callable[[Any], T]:
    """Return the decoder. Its table is made for the first object: most pods have few of the classes."""
    empty: Any = None
    make: Any = None
    check: Any = None
    find: Any = None

    def decode(value: Any) -> T:
        nonlocal empty, make, check, find
        if find is None:  # it is assigned last, as other threads decode, too
            empty, make, check, find = _table(cls, strict=strict)
        # The first question answers nearly always, and costs a tenth of the second one.
        if type(value) is not dict and not isinstance(value, Mapping):
            raise object_error(value)
        values = {}
        errors: list[InputError] | None = None
        for key, entry in value.items():
            wanted = find(key)
            if wanted is None or entry is None:
                continue
            name, kind, shared, convert = wanted
            if type(entry) is kind:
                values[name] = share(entry) if shared else entry
                continue
            try:
                values[name] = convert(entry)
            except InputError as error:
                errors = errors or []
                errors += error.at(key).errors
        if errors is not None:
            raise InputErrors.of(errors)
        made: T = make(**values) if values or empty is None else empty
        if check is not None:
            check(made)
        return made

    return _strict(cls, decode) if strict else decode


def _misfits(fields: Mapping[str, _Field], members: Mapping[Any, Any]) -> Iterator[InputError]:
    """Yield what a strict decoder refuses besides values: members without a field, and missing ones."""
    for key, field in fields.items():
        if field.default is attrs.NOTHING and members.get(key) is None:
            yield MissingField(key, "must be set")
    for key, entry in members.items():
        if not isinstance(key, str):
            yield at_key(key_error(key), key)
        elif key not in fields:
            known = f"the fields here are {', '.join(sorted(fields))}" if fields else "there are none here"
            fix = meant(key, [*fields]) or f"remove it; {known}"
            yield at_key(UnknownField("", "unknown field", fix), key)
        elif entry is None and fields[key].default == Duration():
            # in the v1 API null is as good as absent, but for durations without a default: no pointers there
            yield expected("a duration", entry, 'write a text such as "10s"').at(key)


def _strict(cls: type[T], decode: Callable[[Any], T]) -> Callable[[Any], T]:
    """Return *decode* that also takes ready instances, and refuses members without a field."""
    fields: dict[str, _Field] = {}

    def strictly(value: Any) -> T:
        if isinstance(value, cls):
            return value
        errors: list[InputError] = []
        try:
            made = decode(value)
        except InputError as error:
            errors += error.errors
        if isinstance(value, Mapping):
            fields.update({} if fields else {each.key: each for each in _fields(cls, strict=True)})
            known = {each.path for each in errors}  # the constructor misses fields, too
            errors += [each for each in _misfits(fields, value) if each.path not in known]
        if errors:
            raise InputErrors.of(errors)
        return made

    return strictly


def _constructor(cls: type[T], declared: Sequence[_Field]) -> Callable[..., T]:
    """Return the constructor of *cls* that raises :class:`InputError` for whatever *cls* refuses."""
    needed = {each.name: each.key for each in declared if each.default is attrs.NOTHING}

    def make(**values: Any) -> T:
        if missing := [
            MissingField(key, "must be set") for name, key in needed.items() if name not in values
        ]:
            raise InputErrors.of(missing)
        try:
            return cls(**values)
        except Exception as error:  # whatever an author's class raises is a problem of its data
            message = str(error.args[0]) if error.args else type(error).__name__
            raise InputError(_named_in(message, declared), message) from error

    return make


_QUOTED: Final = re.compile(r"'(\w+)'")


def _named_in(message: str, declared: Sequence[_Field]) -> str:
    """Return the key of the field in quotes in *message*, as attrs' own validators write it; else empty."""
    named = _QUOTED.search(message)
    return next((each.key for each in declared if named and named[1] in (each.name, each.key)), "")


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
