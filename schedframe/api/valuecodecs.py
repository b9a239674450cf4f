"""Decoders of plain values, lists and objects. Lists and objects report all their mistakes at once."""

from __future__ import annotations

import base64
import binascii
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from .._base.brief import shown
from .._base.value import record
from ..errors import InputError, InputErrors
from ._wire import EMPTY
from .duration import Duration

Decode = Callable[[Any], Any]
Encode = Callable[[Any], Any]

share: Final[Callable[[Any], Any]] = sys.intern
_PLAIN_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


class Codec(NamedTuple):
    """Values of type ``expected`` are taken as they are; others go through ``decode``."""

    expected: type | None
    decode: Decode
    encode: Encode | None


class Misfit(InputError):
    """A value that does not fit its class. It keeps its kind on the way out, unlike other errors."""

    def moved(self, path: str, location: str) -> InputError:
        """Return the same error with another path and location."""
        return type(self)(path, self.problem, self.fix, location=location)


class WrongType(Misfit):
    """A value of the wrong JSON type, or one that does not fit into its type."""


class UnknownField(Misfit):
    """A member that a class has no field for."""


class MissingField(Misfit):
    """A field that must have a value has none."""


MOST_LEVELS: Final = 512
"""Levels of a value of any form, such as the parameters of a driver; drivers have a handful."""


@record(frozen=True)
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


def expected(what: str, value: Any, fix: str) -> WrongType:
    """Return the error for *value* in place of *what*."""
    return WrongType("", f"expected {what}, got {describe(value)}", fix)


def at_key(error: InputError, key: Any) -> InputError:
    """Return *error* one level further out, in the member *key* of a mapping, which may be no text."""
    if not isinstance(key, str):
        key = shown(key)
    return error.at(key if _PLAIN_KEY.fullmatch(key) else f'["{key}"]')


def key_error(key: Any) -> WrongType:
    """Return the error for a key of an object that is no text, which Python data may have."""
    return WrongType("", f"expected text as key, got {describe(key)}", f'put it in quotes: "{shown(key)}"')


def object_error(value: Any) -> WrongType:
    """Return the error for *value* in place of an object."""
    return expected("an object", value, "write members as key: value")


def decode_text(value: Any) -> str:
    """Return a text. Numbers and booleans are refused, as by the API server."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | int | float):
        written = shown(value).lower() if isinstance(value, bool) else shown(value)
        raise expected("text", value, f'put it in quotes: "{written}"')
    raise expected("text", value, "write a string")


def decode_bool(value: Any) -> bool:
    """Return ``true`` or ``false``. Anything else is refused."""
    if isinstance(value, bool):
        return value
    raise expected("true or false", value, "write true or false, without quotes")


def decode_int(bits: int, *, point: bool = False) -> Decode:
    """Return the decoder of whole numbers of *bits*. *point*: 4.0 is one, too, as in JSON."""
    high = 2 ** (bits - 1) - 1

    def decode(value: Any) -> int:
        if point and type(value) is float and value.is_integer():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            if -high - 1 <= value <= high:
                return value
            problem = f"{shown(value)} does not fit into {bits} bits"
            raise WrongType("", problem, f"write a number from {-high - 1} to {high}")
        is_quoted = isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]+", value)
        raise expected(
            "a whole number", value, "leave out the quotes" if is_quoted else "write a number like 3"
        )

    return decode


decode_integer: Final = decode_int(64)
"""Decoder of whole numbers of 64 bits."""


def decode_float(value: Any) -> float:
    """Return a number as a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise expected(
            "a number", value, "write it without quotes" if isinstance(value, str) else "write one"
        )
    return float(value)


def decode_int_or_text(value: Any) -> int | str:
    """Return a whole number or a text, such as a percentage."""
    if type(value) is int or isinstance(value, str):
        return value
    raise expected("a number or text", value, 'write a number like 1 or "50%"')


def decode_duration(value: Any) -> Duration:
    """Return a duration in the notation of Go."""
    if isinstance(value, Duration):
        return value
    if not isinstance(value, str):
        raise expected("a duration", value, 'write a text such as "10s"')
    try:
        return Duration.parse(value)
    except ValueError as error:
        raise WrongType("", str(error)) from error


def decode_bytes(value: Any) -> bytes:
    """Return the bytes of a text in base64."""
    if isinstance(value, bytes):
        return value
    text = decode_text(value)
    try:
        return base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError) as error:
        raise WrongType("", f"{shown(text)} is not base64 ({error})", "encode the bytes") from error


def encode_bytes(value: bytes) -> str:
    """Return bytes in base64."""
    return base64.b64encode(value).decode("ascii")


def choice_of(values: Mapping[Any, Any]) -> Decode:
    """Return the decoder of one of the keys of *values*, or of one of the values."""

    def decode(value: Any) -> Any:
        for key, made in values.items():
            if (type(value) is type(key) and value == key) or value is made:
                return made
        raise InputError(
            "", f"{describe(value)} is not allowed", f"use one of {', '.join(map(shown, values))}"
        )

    return decode


def decode_anything(value: Any) -> Any:
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


def list_of(item: Codec, made: Callable[[list[Any]], Any] = tuple) -> Codec:
    """Return the codec of lists of *item*, which become tuples, or what *made* makes of them."""
    kind, convert, encode = item

    def decode(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise expected("a list", value, "write a list: [...], or one item a line after -")
        result: list[Any] = []
        errors: list[InputError] | None = None
        for index, entry in enumerate(value):
            if type(entry) is kind:
                result.append(share(entry) if kind is str else entry)
                continue
            try:
                result.append(convert(entry))
            except InputError as error:
                errors = errors or []
                errors += error.at(f"[{index}]").errors
        if errors is not None:
            raise InputErrors.of(errors)
        return made(result)

    return Codec(None, decode, list if encode is None else lambda values: [encode(value) for value in values])


def map_of(item: Codec, *, shared: bool = False, nulls: bool = False) -> Codec:
    """Return the codec of objects with members of any name, each an *item*.

    *shared*: equal texts among the values become one object, as equal names always do. *nulls*: null members
    are items, too; else they count as absent.
    """
    kind, convert, encode = item

    def decode(value: Any) -> Mapping[str, Any]:
        if type(value) is not dict and not isinstance(value, Mapping):
            raise object_error(value)
        result = {}
        errors: list[InputError] | None = None
        for key, entry in value.items():
            if not isinstance(key, str):
                errors = errors or []
                errors.append(key_error(key))
                continue
            if entry is None and not nulls:
                continue
            name = share(key) if type(key) is str else key
            if type(entry) is kind:
                result[name] = share(entry) if shared else entry
                continue
            try:
                result[name] = convert(entry)
            except InputError as error:
                errors = errors or []
                errors += at_key(error, key).errors
        if errors is not None:
            raise InputErrors.of(errors)
        return result or EMPTY

    if encode is None:
        return Codec(None, decode, dict)
    return Codec(None, decode, lambda values: {key: encode(value) for key, value in values.items()})
