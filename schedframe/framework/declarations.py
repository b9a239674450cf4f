"""Declarations of plugins by class attributes, read and checked in one place."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from enum import Enum
from typing import Any, Final, Literal

from ..errors import PluginError
from .normalization import Normalization


class Depends(Enum):
    """Dependence of a plugin's answer about a row, besides the pod and the kinds in ``reads``.

    Declared as the class attribute ``depends_on``. The less an answer depends on, the longer it can be kept
    and the more pods and nodes can share it. Only ``pod_signature`` together with another value than
    ``CLUSTER`` lets the equivalence cache keep a plugin's answers.
    """

    CLUSTER = "cluster"
    """Anything, such as other rows: the answer is not kept. The default."""
    ROW = "row"
    """The node and its pods: what pre_filter precomputed for a pod stays true when other rows change."""
    ROW_RESOURCES = "row's resources"
    """What the node has of each resource, what its pods request, and whether one more pod may come: rows with
    equal numbers share an answer."""
    NODE_OBJECT = "node object"
    """The node alone and not its pods: the answer stays while pods come and go."""


DECLARATIONS: Final[dict[str, str]] = {
    "depends_on": "a member of Depends, such as Depends.ROW",
    "reads": "a tuple of kinds, such as ('Namespace',)",
    "normalization": "a member of Normalization",
    "reads_annotations": "a tuple of keys, such as ('example.com/rack',)",
    "writes": "a tuple of rights, such as ('patch PersistentVolume', 'patch ResourceClaim/status')",
    "returns_at_once": "True or False",
    "binds_every_pod": "True or False",
    "sorts_by_priority": "True or False",
    "admits_for_good": "True or False",
    "admits_by_group": "True or False",
    "reads_no_nodes_of_members": "True or False",
    "keeps_own_state": "True or False",
    "kinds": "a tuple of classes",
    "device_matches": "a static method of an expression, a driver and a device",
    "reserved_objects": "a method that returns objects",
}
"""Class attribute → what to write."""
BoolDeclaration = Literal[
    "returns_at_once",
    "binds_every_pod",
    "sorts_by_priority",
    "admits_for_good",
    "admits_by_group",
    "reads_no_nodes_of_members",
    "keeps_own_state",
]
"""Declarations that are ``True`` or ``False``."""
TupleDeclaration = Literal["reads", "reads_annotations", "writes", "kinds"]
"""Declarations of any number of things."""
_RIGHT: Final = re.compile(r"(create|update|patch|delete) [A-Za-z./0-9-]+")
"""A verb, and a kind with or without a part of it."""


def depends_on(plugin: Any) -> Depends:
    """Return what the answers of *plugin* (a class or an instance) depend on."""
    declared = getattr(plugin, "depends_on", None)
    return declared if isinstance(declared, Depends) else Depends.CLUSTER


def declares(plugin: Any, declaration: BoolDeclaration) -> bool:
    """Return whether *plugin* declares that ``True``."""
    return getattr(plugin, declaration, False) is True


def declared(plugin: Any, declaration: TupleDeclaration) -> tuple[Any, ...]:
    """Return what *plugin* declares there, in its order; nothing if it does not declare it."""
    return tuple(getattr(plugin, declaration, None) or ())


def normalization_of(plugin: Any) -> Any:
    """Return what *plugin* declares as its ``normalization``; ``None`` if it does not declare it."""
    return getattr(plugin, "normalization", None)


def device_matches(plugin: Any) -> Callable[..., bool] | None:
    """Return the function of *plugin* that evaluates selectors of devices; ``None`` if it has none."""
    found: Callable[..., bool] | None = getattr(plugin, "device_matches", None)
    return found


def reserved_objects_of(plugin: object) -> Iterable[Any]:
    """Return objects as they will be once what the plugin has reserved is written; none without a method."""
    found: Callable[[], Iterable[Any]] | None = getattr(plugin, "reserved_objects", None)
    return () if found is None else found()


def check_declarations(name: str, plugin: Any) -> None:
    """Raise :class:`PluginError` for declarations of *plugin*, or its class, that are of a wrong type."""
    for attribute, wanted in DECLARATIONS.items():
        value = getattr(plugin, attribute, None)
        if value is not None and not inspect.isdatadescriptor(value) and not _FITS[attribute](value):
            raise PluginError(f"plugin {name}: {attribute} is {value!r}; declare {wanted}")


def check_spelling(name: str, cls: type) -> None:
    """Raise :class:`PluginError` for attributes of *cls* that are declarations but for their names."""
    for attribute, value in _class_attributes(cls):
        _check_spelling(name, cls, attribute, value)


def _is_kinds(value: Any) -> bool:
    return isinstance(value, tuple | list | frozenset | set) and all(isinstance(k, str) and k for k in value)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


_FITS: Final[dict[str, Callable[[Any], bool]]] = {
    "depends_on": lambda value: isinstance(value, Depends),
    "reads": _is_kinds,
    "normalization": lambda value: isinstance(value, Normalization),
    "reads_annotations": _is_kinds,
    "writes": lambda value: _is_kinds(value) and all(_RIGHT.fullmatch(each) for each in value),
    "returns_at_once": _is_bool,
    "binds_every_pod": _is_bool,
    "sorts_by_priority": _is_bool,
    "admits_for_good": _is_bool,
    "admits_by_group": _is_bool,
    "reads_no_nodes_of_members": _is_bool,
    "keeps_own_state": _is_bool,
    "kinds": lambda value: not isinstance(value, str),
    "device_matches": callable,
    "reserved_objects": callable,
}


def _class_attributes(cls: type) -> Iterator[tuple[str, Any]]:
    """Public class attributes that are plain values, those of bases included."""
    for base in cls.__mro__[:-1]:
        for attribute, value in vars(base).items():
            plain = not (callable(value) or hasattr(value, "__get__") or inspect.ismodule(value))
            if plain and not attribute.startswith("_"):
                yield attribute, value


def _check_spelling(name: str, cls: type, attribute: str, value: Any) -> None:
    """Refuse an attribute that looks like a declaration, by its name and by its value, and is none."""
    if attribute in DECLARATIONS:
        return
    meant = ""
    if isinstance(value, Depends):
        meant = "depends_on"
    elif isinstance(value, Normalization):
        meant = "normalization"
    else:
        close = get_close_matches(attribute, DECLARATIONS, 1, 0.8)
        if close and _looks_like(close[0], value):
            meant = close[0]
    if meant:
        raise PluginError(
            f"plugin {name}: {cls.__qualname__}.{attribute} = {value!r} declares nothing; did you mean "
            f"{meant}?"
        )


def _looks_like(declaration: str, value: Any) -> bool:
    if _FITS[declaration] is _is_bool:
        return isinstance(value, bool)
    if declaration == "depends_on":
        return isinstance(value, str | bool)
    if declaration == "device_matches":
        return False  # a function, and functions are no plain values
    return isinstance(value, tuple | list | frozenset | set)
