"""The decorators of classes with fields: :func:`value` for what users make, :func:`record` for all others.

Both give attrs classes with a short repr. attrs takes 0.24 ms to make a class, most of it to compile methods,
and a scheduler constructs a part of the 500 classes that it imports. So a class begins with its slots alone;
attrs makes the fields and methods at the first use of one of them. For the same reason the default of a field
is not an instance of another class but :func:`default_of` that class.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import get_annotations
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import attrs

from .brief import brief_of_fields
from .checked import add_initializers

if TYPE_CHECKING:
    from attrs import define as record
    from attrs import frozen as value
else:

    def value(cls: type | None = None, /, **settings: Any) -> Any:
        """Decorate a frozen class whose arguments are checked against the annotations of its fields.

        Settings are those of :func:`attrs.frozen`. Subclasses with an ``__init__`` of their own (all of
        attrs) do not have the checks. A wrong argument is an :class:`InputError`, an unknown keyword a
        ``TypeError`` with a similar one. Decoders and copies construct by :func:`unchecked`.
        """
        return _decorated(cls, True, {"frozen": True, **settings})

    def record(cls: type | None = None, /, **settings: Any) -> Any:
        """Decorate a class whose arguments are trusted; settings are those of :func:`attrs.define`."""
        return _decorated(cls, False, settings)


__all__ = ["default_of", "record", "value"]

T = TypeVar("T")


def default_of(cls: type[T]) -> T:
    """Return what stands for the instance of *cls* without arguments as the default of a field.

    The instance is made together with the fields; all values share it.
    """
    return cast("T", _Default(cls))


class _Default:
    __slots__ = ("cls",)

    def __init__(self, cls: type) -> None:
        self.cls: Final = cls


@cache
def _instance_of(cls: type) -> Any:
    return cls()


_FROZEN: Final = attrs.frozen(type("_Frozen", (), {}))
"""Has the methods that refuse assignment."""
_LATER: Final = frozenset({"frozen", "eq", "kw_only", "weakref_slot", "repr"})
"""Settings of classes that are made later; with any other one attrs makes the class at once."""
_MADE: Final = (
    *("__attrs_attrs__", "__attrs_props__", "__init__", "__eq__", "__ne__", "__hash__", "__match_args__"),
    *("__getstate__", "__setstate__", "__replace__", "__setattr__", "__delattr__", "__attrs_own_setattr__"),
)
"""What attrs puts into a class."""
_COMPLETING: Final = RLock()
"""Held while a class is made; its defaults may be instances of others."""


def _decorated(cls: type | None, is_checked: bool, settings: dict[str, Any]) -> Any:
    if cls is None:
        return lambda body: _class_of(body, is_checked, settings)
    return _class_of(cls, is_checked, settings)


def _class_of(body: type, is_checked: bool, settings: dict[str, Any]) -> type:
    if settings.get("repr", True) and getattr(body, "__repr__") is object.__repr__:  # noqa: B009
        body.__repr__ = brief_of_fields  # type: ignore[method-assign, assignment]
    if _LATER.issuperset(settings) and not issubclass(body, BaseException):
        return _Later(body, is_checked, settings).made
    made = _defined(body, settings)
    _add_initializers(made, body, is_checked)
    return made


def _defined(body: type, settings: dict[str, Any]) -> type:
    """Return the class that attrs makes of *body*, with the instances that its defaults stand for."""
    return attrs.define(body, **{**settings, "repr": False, "field_transformer": _with_defaults})


def _with_defaults(_: type, fields: list[attrs.Attribute[Any]]) -> list[attrs.Attribute[Any]]:
    return [
        each.evolve(default=_instance_of(each.default.cls)) if isinstance(each.default, _Default) else each
        for each in fields
    ]


def _add_initializers(made: type, body: type, is_checked: bool) -> None:
    """Let *made* fill drafts if it is frozen, and check its arguments if it *is_checked*."""
    fills = "__init__" not in vars(body) and made.__setattr__ is _FROZEN.__setattr__
    if is_checked or fills:
        add_initializers(made, checks=is_checked, fills=fills)


class _Later:
    """A class without the methods of attrs, and what makes them."""

    def __init__(self, body: type, is_checked: bool, settings: dict[str, Any]) -> None:
        self._body, self._is_checked, self._settings = body, is_checked, settings
        self._is_complete = False
        self.after: Final[list[Callable[[], None]]] = []
        """Called once the class is complete."""
        self.made: Final = type(body)(body.__name__, body.__bases__, self._namespace())
        _refer_to(self.made, body)

    def complete(self) -> None:
        """Put fields and methods into the class. A second call changes nothing."""
        with _COMPLETING:
            if self._is_complete:
                return
            made = _defined(self._body, self._settings)
            there, new = vars(self.made), vars(made)
            for name in _MADE:
                if name in new and new[name] is not there.get(name):
                    type.__setattr__(self.made, name, new[name])
            _add_initializers(self.made, self._body, self._is_checked)
            self._is_complete = True
            for action in self.after:
                action()

    def _namespace(self) -> dict[str, Any]:
        body, settings = self._body, self._settings
        own = [name for name, hint in get_annotations(body).items() if not _is_class_variable(hint)]
        left_out = {*own, "__dict__", "__weakref__"}
        space = {name: each for name, each in vars(body).items() if name not in left_out}
        space["__slots__"], space["__qualname__"] = self._slots(own), body.__qualname__
        later = ["__attrs_attrs__", "__init__", "__match_args__", "__getstate__", "__setstate__"]
        is_frozen = settings.get("frozen") or body.__setattr__ is _FROZEN.__setattr__
        if is_frozen:
            space["__setattr__"], space["__delattr__"] = _FROZEN.__setattr__, _FROZEN.__delattr__
        if settings.get("eq", True) and not {"__eq__", "__ne__"} & space.keys():
            later.append("__eq__")
            if is_frozen:
                later.append("__hash__")
            else:
                space.setdefault("__hash__", None)
        for name in later:
            space.setdefault(name, _MadeLater(self, name))
        return space

    def _slots(self, own: list[str]) -> tuple[str, ...]:
        bases = self._body.__mro__[1:-1]
        there = {slot for base in bases for slot in vars(base).get("__slots__", ())}
        slots = tuple(name for name in own if name not in there)
        if not self._settings.get("weakref_slot", True) or any("__weakref__" in vars(each) for each in bases):
            return slots
        return (*slots, "__weakref__")


class _MadeLater:
    """Stands in a class for something of attrs, and completes the class when it is looked up."""

    __slots__ = ("_class", "_name")

    def __init__(self, later: _Later, name: str) -> None:
        self._class, self._name = later, name

    def after_completion(self, action: Callable[[], None]) -> None:
        """Call *action* once the class is complete."""
        self._class.after.append(action)

    def __get__(self, instance: Any, owner: type) -> Any:
        self._class.complete()
        found = vars(self._class.made)[self._name]
        bind = getattr(type(found), "__get__", None)
        return found if bind is None else bind(found, instance, owner)


def _is_class_variable(hint: Any) -> bool:
    return str(hint).startswith(("ClassVar", "typing.ClassVar"))


def _refer_to(made: type, body: type) -> None:
    """Let ``super()`` and ``__class__`` in methods of *body* mean *made*."""
    for each in vars(made).values():
        function = each.fget if isinstance(each, property) else getattr(each, "__func__", each)
        for cell in getattr(function, "__closure__", None) or ():
            if _content(cell) is body:
                cell.cell_contents = made


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty
        return None
