"""Conversion between JSON data and attrs values: one strict converter, built on first use.

Field names are camelCase in JSON unless :func:`schedframe.api._wire.wire` says otherwise. Unknown fields and
wrong types are refused, all of them at once, each with its path.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args, get_origin, get_type_hints

import attrs

from .._brief import shown
from ..api._wire import WIRE, Wire
from ..errors import ConfigError
from .duration import Duration
from .errors import FieldError

if TYPE_CHECKING:
    from cattrs import Converter, ForbiddenExtraKeysError

T = TypeVar("T")
_DEFAULT_WIRE: Final = Wire()
_QUOTED: Final = re.compile(r"'(\w+)'")
_ZEROS: Final[Mapping[Any, Any]] = {str: "", int: 0, float: 0.0, bool: False}


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
        return converter().structure(data, cls)
    except Exception as error:  # whatever an author's class raises is a problem of its data
        raise StructureError(list(_field_errors(error, path))) from error


def unstructure(value: object) -> Any:
    """Return the JSON data of a value, without fields that are empty and empty by default."""
    return converter().unstructure(value)


class _WrongType(ValueError):
    """One value of the wrong type."""

    def __init__(self, value: object, detail: str) -> None:
        self.value = value
        self.detail = detail


class _ItemErrors(ValueError):
    """Errors in the items of a list or map, by index or key."""

    def __init__(self, items: Sequence[tuple[str, Exception]]) -> None:
        self.items = items


def _field_errors(error: BaseException, path: str) -> Iterator[FieldError]:
    from cattrs import ClassValidationError, ForbiddenExtraKeysError

    if isinstance(error, ClassValidationError):
        names = json_names(error.cl)
        noted, others = error.group_exceptions()
        for inner, note in noted:
            where = f"{path}.{names[note.name]}" if path else names[note.name]
            if isinstance(inner, KeyError):
                yield FieldError.required(where)
            else:
                yield from _field_errors(inner, where)
        for other in others:
            if isinstance(other, ForbiddenExtraKeysError):
                yield from _unknown(other, path)
            else:
                yield _refused_by_class(other, path, error.cl)
    elif isinstance(error, _ItemErrors):
        for key, inner in error.items:
            yield from _field_errors(inner, f"{path}{key}")
    elif isinstance(error, _WrongType):
        yield FieldError.wrong_type(path, error.value, error.detail)
    else:
        yield _refused_by_class(error, path)


def _unknown(error: ForbiddenExtraKeysError, path: str) -> Iterator[FieldError]:
    for key in sorted(error.extra_fields):
        yield FieldError.unknown(f"{path}.{key}" if path else key, _suggestion(key, error.cl))


def _refused_by_class(error: BaseException, path: str, cls: type[Any] | None = None) -> FieldError:
    """Return the error of an attrs class: its message, and field and value if a validator raised it."""
    message = str(error.args[0]) if error.args else type(error).__name__
    named = _QUOTED.search(message)  # attrs' own validators put the name of the field in quotes
    attribute = attrs.fields_dict(cls).get(named[1]) if named and cls else None
    if attribute is None:
        return FieldError.invalid(path, None, message)
    name = _wire_name(attribute)
    value = error.args[-1] if len(error.args) > 1 else message.rpartition(": ")[2]
    return FieldError.invalid(f"{path}.{name}" if path else name, value, message)


def _suggestion(key: str, cls: type[Any]) -> str:
    known = sorted(json_names(cls).values())
    close = get_close_matches(key, known, n=1)
    if close:
        return f'did you mean "{close[0]}"?'
    return (
        f"remove it; the fields here are {', '.join(known)}"
        if known
        else "remove it; there are no fields here"
    )


def _wire(attribute: attrs.Attribute[Any]) -> Wire:
    known: Wire = attribute.metadata.get(WIRE, _DEFAULT_WIRE)
    return known


def _wire_name(attribute: attrs.Attribute[Any]) -> str:
    head, *rest = attribute.name.strip("_").split("_")
    return _wire(attribute).name or head + "".join(part[:1].upper() + part[1:] for part in rest)


def json_names(cls: type[Any]) -> dict[str, str]:
    """Return attribute → name in JSON."""
    return {a.name: _wire_name(a) for a in attrs.fields(cls) if a.init and not _wire(a).skip}


def _article(value: object) -> str:
    kinds = {bool: "a boolean", int: "an integer", float: "a fraction", str: "a string", list: "a list"}
    return "null" if value is None else kinds.get(type(value), "an object")


def _expect(what: str, fix: str = "") -> Callable[[object], _WrongType]:
    def error(value: object) -> _WrongType:
        return _WrongType(value, f"expected {what}, got {_article(value)}" + (f"; {fix}" if fix else ""))

    return error


_no_integer = _expect("an integer", "write digits without quotes")
_no_number = _expect("a number", "write it without quotes")
_no_boolean = _expect("a boolean", "write true or false without quotes")
_no_string = _expect("a string", "put it in quotes")
_no_field_name = _expect("the name of a field", "put it in quotes")
_no_duration = _expect("a duration", 'write a string such as "10s"')
_no_object = _expect("an object")
_no_list = _expect("a list")


def _integer(bits: int) -> Callable[[Any, Any], int]:
    limit = 2 ** (bits - 1)

    def hook(value: Any, _: Any = None) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # 16.0 is an integer in JSON
        if isinstance(value, bool) or not isinstance(value, int):
            raise _no_integer(value)
        if not -limit <= value < limit:
            raise _WrongType(
                value, f"does not fit into {bits} bits; use a number from {-limit} to {limit - 1}"
            )
        return value

    return hook


def _number(value: Any, _: Any = None) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _no_number(value)
    return float(value)


def _boolean(value: Any, _: Any = None) -> bool:
    if not isinstance(value, bool):
        raise _no_boolean(value)
    return value


def _string(value: Any, _: Any = None) -> str:
    if not isinstance(value, str):
        raise _no_string(value)
    return value


def _duration(value: Any, _: Any = None) -> Duration:
    if isinstance(value, Duration):
        return value
    if not isinstance(value, str):
        raise _no_duration(value)
    try:
        return Duration.parse(value)
    except ValueError as error:
        raise _WrongType(value, str(error)) from error


def _bytes(value: Any, _: Any = None) -> bytes:
    if isinstance(value, bytes):
        return value
    text = _string(value)
    try:
        return base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError) as error:
        raise _WrongType(value, f"is not base64 ({error}); encode the bytes") from error


@cache
def converter() -> Converter:
    """Return the converter of this package, with its own hooks only."""
    from cattrs import Converter

    made = Converter(forbid_extra_keys=True, detailed_validation=True)
    hooks: dict[Any, Callable[[Any, Any], Any]] = {
        int: _integer(64),
        float: _number,
        bool: _boolean,
        str: _string,
        bytes: _bytes,
        Duration: _duration,
    }
    for kind, hook in hooks.items():
        made.register_structure_hook(kind, hook)
    made.register_unstructure_hook(Duration, str)
    made.register_unstructure_hook(bytes, lambda value: base64.b64encode(value).decode("ascii"))
    made.register_unstructure_hook(float, lambda value: int(value) if value.is_integer() else value)
    made.register_structure_hook_factory(_is_list, _list_hook)
    made.register_structure_hook_factory(_is_map, _map_hook)
    made.register_structure_hook_factory(_is_record, _record_hook)
    made.register_unstructure_hook_factory(_is_record, _record_unhook)
    return made


def _is_list(cls: Any) -> bool:
    return get_origin(cls) in (list, tuple, Sequence)


def _is_map(cls: Any) -> bool:
    return get_origin(cls) in (dict, Mapping)


def _is_record(cls: Any) -> bool:
    return isinstance(cls, type) and attrs.has(cls) and cls is not Duration


def _item_hook(item: Any, made: Converter) -> Callable[[Any], Any]:
    inner = made.get_structure_hook(item)
    if item in _ZEROS:
        return lambda value: inner(_ZEROS[item] if value is None else value, item)
    if _is_record(item):
        return lambda value: inner({} if value is None else value, item)
    return lambda value: inner(value, item)


def _list_hook(cls: Any, made: Converter) -> Callable[[Any, Any], Any]:
    item = get_args(cls)[0]
    build = list if get_origin(cls) is list else tuple

    def hook(value: Any, _: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise _no_list(value)
        one = _item_hook(item, made)
        result, errors = [], []
        for index, element in enumerate(value):
            try:
                result.append(one(element))
            except Exception as error:  # noqa: BLE001  # collected, not swallowed
                errors.append((f"[{index}]", error))
        if errors:
            raise _ItemErrors(errors)
        return build(result)

    return hook


def _map_hook(cls: Any, made: Converter) -> Callable[[Any, Any], Any]:
    item = get_args(cls)[1]

    def hook(value: Any, _: Any) -> Any:
        if not isinstance(value, Mapping):
            raise _no_object(value)
        one = _item_hook(item, made)
        result, errors = {}, []
        for key, element in value.items():
            try:
                result[_string(key)] = one(element)
            except Exception as error:  # noqa: BLE001  # collected, not swallowed
                errors.append((f".{key}", error))
        if errors:
            raise _ItemErrors(errors)
        return result

    return hook


def _record_hook(cls: type[Any], made: Converter) -> Callable[[Any, Any], Any]:
    from cattrs.gen import make_dict_structure_fn, override

    names = json_names(cls)
    hints = get_type_hints(cls)
    overrides: dict[str, Any] = {}
    for attribute in attrs.fields(cls):
        known = _wire(attribute)
        if attribute.name not in names:
            overrides[attribute.name] = override(omit=True)
        elif known.decode is not None:
            overrides[attribute.name] = override(
                rename=names[attribute.name], struct_hook=_decoded(known.decode)
            )
        elif known.bits < 64:
            overrides[attribute.name] = override(
                rename=names[attribute.name], struct_hook=_integer(known.bits)
            )
        else:
            overrides[attribute.name] = override(rename=names[attribute.name])
    inner = make_dict_structure_fn(cls, made, **overrides)
    # In the v1 API null is as good as absent, but for durations without a default: no pointers there.
    bare = {a.name for a in attrs.fields(cls) if hints[a.name] is Duration and not a.default}
    nullable = frozenset(json for name, json in names.items() if name not in bare)

    def hook(value: Any, _: Any) -> Any:
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            raise _no_object(value)
        fields = {
            key: content
            for key, content in value.items()
            if isinstance(key, str) and (content is not None or key not in nullable)
        }
        return _with_string_keys(value, lambda: inner(fields, cls))

    return hook


def _with_string_keys(value: Mapping[Any, Any], build: Callable[[], Any]) -> Any:
    """Return the result of *build*; keys of *value* that are no strings are errors beside those of *build*.

    Documents made in Python may have such keys: YAML 1.1 reads the word ``on`` as a boolean.
    """
    errors: list[tuple[str, Exception]] = [
        (f"[{shown(key)}]", _no_field_name(key)) for key in value if not isinstance(key, str)
    ]
    if not errors:
        return build()
    try:
        build()
    except Exception as error:  # noqa: BLE001  # collected, not swallowed
        errors.append(("", error))
    raise _ItemErrors(errors)


def _decoded(decode: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda value, _: decode(value)


def _record_unhook(cls: type[Any], made: Converter) -> Callable[[Any], Any]:
    names = json_names(cls)
    written = [(a.name, names[a.name], _wire(a), _default(a)) for a in attrs.fields(cls) if a.name in names]

    def unhook(value: Any) -> Any:
        result = {}
        for name, json, known, default in written:
            content = getattr(value, name)
            if not known.always and (not content or _is_record(type(content))) and content == default:
                continue
            result[json] = known.encode(content) if known.encode else made.unstructure(content)
        return result

    return unhook


def _default(attribute: attrs.Attribute[Any]) -> Any:
    default: Any = attribute.default
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]  # its stubs say function
        return attrs.NOTHING if default.takes_self else default.factory()
    return default
