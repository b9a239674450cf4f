"""Checks of values against type annotations: errors have the path, what the value is, and what to give.

A check is built once for an annotation. Annotations that say nothing about a value (``Any``, type variables)
have none. Lists are refused where a tuple is declared, because values of the API are hashable.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from enum import Enum
from functools import cache
from numbers import Integral, Real
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin

import attrs
from typing_extensions import get_protocol_members, is_protocol

from ..errors import InputError
from .wording import described, with_article

Check = Callable[[str, Any], None]
"""Raises :class:`InputError` for a value (second argument) that does not fit; the first one is its path."""
Fix = Callable[[Any], str]

NAMES: Final[dict[Any, tuple[str, str]]] = {}
"""Annotation → what messages call one value of it, and several."""
HOW_TO_GIVE: Final[dict[type[Any], Fix]] = {}
"""Class → a function from a wrong value to what to give instead, for classes with a constructor for texts."""


@attrs.frozen
class Instead:
    """Part of an ``Annotated`` type: what to give in place of a wrong value."""

    fix: Fix


@attrs.frozen
class _Kind:
    """One kind of value: its name, whether a value is of it, what to give, and a check of its items."""

    noun: str
    fits: Callable[[Any], bool]
    fix: Fix
    inside: Check | None = None


SHALLOW: Final = "items are checked where they are used"
"""Part of an ``Annotated`` type of a collection."""


def check_of(hint: Any) -> Check | None:
    """Return the check of an annotation, or ``None`` if any value fits."""
    kinds = _kinds(hint)
    if kinds is None:
        return None

    def check(path: str, value: Any) -> None:
        for kind in kinds:
            if kind.fits(value):
                if kind.inside is not None:
                    kind.inside(path, value)
                return
        raise InputError(path, _problem(value, kinds), _fix(value, kinds))

    return check


def _problem(value: Any, kinds: tuple[_Kind, ...]) -> str:
    nouns = list(dict.fromkeys(kind.noun for kind in kinds if kind.noun != _NONE)) or [_NONE]
    refused = f"neither {', nor '.join(nouns[:-1])} nor" if len(nouns) > 1 else "not"
    return f"{described(value)} is {refused} {nouns[-1]}"


def _fix(value: Any, kinds: tuple[_Kind, ...]) -> str:
    fixes = dict.fromkeys(kind.fix(value) for kind in kinds)
    return f"give {' or '.join(fixes)}"


_NONE: Final = "None"


@cache
def _kinds(hint: Any) -> tuple[_Kind, ...] | None:
    """Return the kinds of values that fit an annotation, or ``None`` if any value does."""
    if hint is None or hint is types.NoneType:
        return (_Kind(_NONE, lambda value: value is None, lambda _: _NONE),)
    origin = get_origin(hint)
    if hint in NAMES:
        return (_named(hint),)
    if origin is Annotated:
        return _annotated(*get_args(hint))
    if origin in (Union, types.UnionType):
        return _any_of(get_args(hint))
    if origin is Literal:
        return (_literal(get_args(hint)),)
    if isinstance(hint, typing.NewType):
        return _kinds(hint.__supertype__)
    plain = origin or hint
    if plain in _SIMPLE:
        return (_SIMPLE[plain],)
    if hasattr(plain, "__value__"):  # an alias made by a type statement, as NDArray is since NumPy 2.5
        return _kinds(plain.__value__)
    if not isinstance(plain, type) or plain in (object, Any):
        return None
    return _kinds_of_class(plain, get_args(hint))


def _any_of(hints: Iterable[Any]) -> tuple[_Kind, ...] | None:
    parts = [_kinds(hint) for hint in hints]
    if None in parts:
        return None
    kinds = [kind for part in parts if part for kind in part]
    # Equal unions may list their members in another order, and the first one asked for is kept.
    return tuple(sorted(kinds, key=lambda kind: (kind.noun == _NONE, kind.noun)))


def _named(union: Any) -> _Kind:
    """Return the kind of an annotation with a name of its own."""
    name, _ = NAMES[union]
    kinds = _any_of(get_args(union)) or ()
    return _Kind(name, lambda value: any(kind.fits(value) for kind in kinds), lambda _: name)


def _annotated(hint: Any, *others: Any) -> tuple[_Kind, ...] | None:
    kinds = _kinds(hint)
    if kinds is not None and SHALLOW in others:
        kinds = tuple(attrs.evolve(kind, inside=None) for kind in kinds)
    fix = next((other.fix for other in others if isinstance(other, Instead)), None)
    return kinds if kinds is None or fix is None else tuple(attrs.evolve(kind, fix=fix) for kind in kinds)


def _kinds_of_class(cls: type[Any], arguments: tuple[Any, ...]) -> tuple[_Kind, ...] | None:
    if issubclass(cls, tuple) and len(arguments) == 2 and arguments[1] is Ellipsis:
        return (_tuple_of(arguments[0]),)
    if cls in _COLLECTIONS:
        return (_collection(cls, arguments),)
    if issubclass(cls, Mapping):
        return (_mapping(cls, arguments),)
    if issubclass(cls, Enum):
        return (_enum(cls),)
    if is_protocol(cls):
        return (_protocol(cls),)
    if cls is type:
        return (_Kind("a class", lambda value: isinstance(value, type), lambda _: "a class"),)
    return (_Kind(with_article(cls.__name__), lambda value: isinstance(value, cls), _fix_of(cls)),)


# ---- kinds -----------------------------------------------------------------------------------------------


def _is_number(value: Any, of: type[Any]) -> bool:
    return isinstance(value, of) and not isinstance(value, bool)


_SIMPLE: Final[Mapping[Any, _Kind]] = {
    str: _Kind("a text", lambda value: isinstance(value, str), lambda _: "a str"),
    bool: _Kind("True or False", lambda value: isinstance(value, bool), lambda _: "True or False"),
    int: _Kind("a whole number", lambda value: _is_number(value, Integral), lambda _: "an int"),
    float: _Kind("a number", lambda value: _is_number(value, Real), lambda _: "a float"),
    Callable: _Kind("a function", callable, lambda _: "a function"),
}
_COLLECTIONS: Final = (Iterable, Sequence, typing.cast("type[Any]", typing.Collection).__origin__, Iterator)


def _literal(choices: tuple[Any, ...]) -> _Kind:
    def fits(value: Any) -> bool:
        return any(value == choice and type(value) is type(choice) for choice in choices)

    return _Kind("a choice", fits, lambda value: _one_of(value, [repr(each) for each in choices]))


def _one_of(value: Any, choices: list[str]) -> str:
    """Return the choices, those that resemble *value* alone if there are some."""
    word = value.strip().lower().replace("-", "_") if isinstance(value, str) else ""
    close = [each for each in choices if word and word == each.rpartition(".")[2].strip("'\"").lower()]
    if not close and word:
        names = {each.rpartition(".")[2].strip("'\"").lower(): each for each in choices}
        close = [names[name] for name in get_close_matches(word, names, n=1)]
    listed = close or choices[:_MOST_CHOICES]
    if not close and len(choices) > _MOST_CHOICES:
        return f"one of {', '.join(listed)}, …"
    return " or ".join(filter(None, [", ".join(listed[:-1]), listed[-1]]))


_MOST_CHOICES: Final = 8
"""Members of an enumeration that an error lists."""


def _enum(cls: type[Enum]) -> _Kind:
    choices = [f"{cls.__name__}.{name}" for name in cls.__members__]
    return _Kind(
        with_article(cls.__name__),
        lambda value: isinstance(value, cls),
        lambda value: _one_of(value, choices),
    )


def _tuple_of(item: Any) -> _Kind:
    check, kinds = check_of(item), _kinds(item)

    def fix(value: Any) -> str:
        if isinstance(value, list | set | frozenset):
            return "a tuple of the same items"
        if kinds is None or any(kind.fits(value) for kind in kinds):
            return f"a tuple with it: ({described(value)},)" if isinstance(value, str) else "a tuple with it"
        return f"a tuple, each item {' or '.join(kind.noun for kind in kinds)}"

    def inside(path: str, value: tuple[Any, ...]) -> None:
        if check is not None:
            for index, each in enumerate(value):
                check(f"{path}[{index}]", each)

    return _Kind("a tuple", lambda value: isinstance(value, tuple), fix, inside)


def _collection(cls: type[Any], arguments: tuple[Any, ...]) -> _Kind:
    check = check_of(arguments[0]) if arguments else None

    def fits(value: Any) -> bool:
        return isinstance(value, cls) and not isinstance(value, str | bytes | Mapping)

    def inside(path: str, value: Any) -> None:
        if check is not None and isinstance(value, list | tuple):
            for index, each in enumerate(value):
                check(f"{path}[{index}]", each)

    named = NAMES.get(arguments[0]) if arguments else None
    fix = f"a list of {named[1]}" if named is not None else "a list"
    return _Kind("a collection", fits, lambda _: fix, inside)


def _mapping(cls: type[Any], arguments: tuple[Any, ...]) -> _Kind:
    key, member = (check_of(each) for each in arguments) if len(arguments) == 2 else (None, None)

    def inside(path: str, value: Mapping[Any, Any]) -> None:
        for name, each in value.items():
            if key is not None:
                key(f"{path}: key", name)
            if member is not None:
                member(f"{path}[{name!r}]", each)

    return _Kind("a mapping", lambda value: isinstance(value, cls), lambda _: "a dict", inside)


def _protocol(cls: type[Any]) -> _Kind:
    members = sorted(get_protocol_members(cls))

    def fix(value: Any) -> str:
        missing = [name for name in members if not _has(value, name)]
        return f"{with_article(cls.__name__)}, which has {', '.join(missing[:3])},"

    return _Kind(with_article(cls.__name__), lambda value: all(_has(value, name) for name in members), fix)


def _has(value: Any, name: str) -> bool:
    """Return whether *value* has that attribute. A property of its class is not read: it may fail."""
    return hasattr(type(value), name) or hasattr(value, name)


def _fix_of(cls: type[Any]) -> Fix:
    """Return what to give where an instance of *cls* is expected."""
    special = HOW_TO_GIVE.get(cls)
    if special is not None:
        return special
    fields = attrs.fields(cls) if attrs.has(cls) else ()
    first = next((each for each in fields if each.init), None)

    def fix(value: Any) -> str:
        if value is cls:
            return f"an instance: {cls.__name__}(…)"
        if isinstance(value, str) and first is not None and first.type in (str, "str"):
            return f"{cls.__name__}({first.name}={described(value)})"
        return f"{cls.__name__}(…)" if first is not None else with_article(cls.__name__)

    return fix


def hints_of(target: Any) -> dict[str, Any]:
    """Return parameter → what may be passed, of a class or a function; without type variables.

    A field with a converter takes what the converter takes.
    """
    hints = typing.get_type_hints(target, include_extras=True)
    for each in attrs.fields(target) if isinstance(target, type) and attrs.has(target) else ():
        if each.init and each.alias is not None:
            hints[each.alias] = hints[each.name] if each.converter is None else _input_of(each.converter)
    return {name: hint for name, hint in hints.items() if not isinstance(hint, TypeVar)}


def _input_of(converter: Any) -> Any:
    """Return the annotation of what a converter takes; ``Any`` for a class, which may take anything."""
    if not isinstance(converter, types.FunctionType):
        return Any
    return next(iter(typing.get_type_hints(converter).values()), Any)
