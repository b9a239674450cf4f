"""Old names of modules' contents, attributes and keyword arguments, which keep working with a warning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

C = TypeVar("C", bound=type[Any])


def renamed(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for *module* that takes each old name of *names* for the new one.

    Each use warns with :class:`DeprecationWarning`; any other name is an :class:`AttributeError`.
    """

    def lookup(name: str) -> Any:
        new = names.get(name)
        if new is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warnings.warn(f"{module}.{name} is now {module}.{new}", DeprecationWarning, stacklevel=2)
        return getattr(sys.modules[module], new)

    return lookup


class RenamedAttribute:
    """Stands in a class for an attribute or a method that is called *new* now."""

    def __init__(self, new: str) -> None:
        self._new, self._old = new, ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._old = f"{owner.__name__}.{name}"

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        warnings.warn(f"{self._old} is now {self._new}", DeprecationWarning, stacklevel=2)
        return getattr(instance, self._new)


def renamed_keywords(**names: str) -> Callable[[C], C]:
    """Return a decorator of classes: ``__init__`` takes each old keyword of *names* for the new one."""

    def decorate(cls: C) -> C:
        init = cls.__init__

        @wraps(init)
        def translating(self: Any, *args: Any, **keywords: Any) -> None:
            for old in names.keys() & keywords.keys():
                warnings.warn(
                    f"{cls.__name__}({old}=) is now {names[old]}=", DeprecationWarning, stacklevel=2
                )
                keywords[names[old]] = keywords.pop(old)
            init(self, *args, **keywords)

        cls.__init__ = translating
        return cls

    return decorate
