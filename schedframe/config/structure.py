"""Between JSON data and the values of a configuration: the codec of :mod:`schedframe.api.codec`, strict.

Unknown fields and wrong types are refused, all of them at once, each with its path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final, TypeVar

import attrs

from ..api._wire import WIRE, Wire
from ..api.codec import decoder, json_names
from ..api.duration import Duration
from ..api.paths import steps_of
from ..api.quantity import Quantity
from ..api.valuecodecs import MissingField, UnknownField, WrongType, encode_bytes
from ..errors import ConfigError, InputError
from .errors import FieldError, FieldErrorType

T = TypeVar("T")

_TYPES: Final[Mapping[type[InputError], FieldErrorType]] = {
    WrongType: FieldErrorType.TYPE_INVALID,
    UnknownField: FieldErrorType.UNKNOWN,
    MissingField: FieldErrorType.REQUIRED,
}


class StructureError(ConfigError):
    """Data that does not fit its class; ``errors`` has one :class:`FieldError` for each problem."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        self.errors = tuple(errors)
        super().__init__("; ".join(map(str, self.errors)))


def structure(data: object, cls: type[T], path: str = "$") -> T:
    """Make an instance of *cls* from JSON data; fields may hold ready instances instead.

    Raises StructureError with all problems, their paths beginning with *path*.
    """
    try:
        return decoder(cls, strict=True)(data)
    except InputError as error:
        raise StructureError([_field_error(each, data, path) for each in error.errors]) from error
    except Exception as error:  # annotations of an author's class that cannot be resolved, or have no codec
        raise StructureError([FieldError.invalid(path, None, str(error))]) from error


def _field_error(error: InputError, data: Any, path: str) -> FieldError:
    kind = _TYPES.get(type(error), FieldErrorType.INVALID)
    value = data
    for step in steps_of(error.path):
        try:
            value = value[step]
        except (LookupError, TypeError):
            value = None
    if kind in (FieldErrorType.UNKNOWN, FieldErrorType.REQUIRED):
        return FieldError(kind, error.at(path).path, None, error.fix or error.problem)
    detail = f"{error.problem}; {error.fix}" if error.fix else error.problem
    return FieldError(kind, error.at(path).path, value, detail)


def unstructure(value: Any) -> Any:
    """Return the JSON data of a value, without fields that are empty and empty by default.

    The data follow what is there, not its annotations: nothing has checked values that were made in Python.
    """
    if isinstance(value, Duration | Quantity):
        return str(value)
    if attrs.has(type(value)):
        return _fields_of(value)
    if isinstance(value, Mapping):
        return {key: unstructure(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [unstructure(entry) for entry in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return encode_bytes(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _fields_of(value: Any) -> dict[str, Any]:
    result = {}
    for name, key in json_names(type(value)).items():
        attribute = attrs.fields_dict(type(value))[name]
        declared: Wire = attribute.metadata.get(WIRE) or Wire()
        content = getattr(value, name)
        is_plain = not content or (attrs.has(type(content)) and not isinstance(content, Duration))
        if declared.always or not is_plain or content != _default(attribute):
            result[key] = declared.encode(content) if declared.encode else unstructure(content)
    return result


def _default(attribute: attrs.Attribute[Any]) -> Any:
    default: Any = attribute.default
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]  # its stubs say function
        return attrs.NOTHING if default.takes_self else default.factory()
    return default
