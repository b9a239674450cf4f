"""A node table for debugging: node infos cannot be changed, because that would silently corrupt the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import attrs
from typing_extensions import override

from .._base.value import record
from ..api import Pod
from .node_info import NodeInfo
from .node_table import NodeTable

_MAPPINGS = frozenset({"pods", "requested"})


class _ReadOnlyMapping(Mapping[Any, Any]):
    """A view of a mapping of a node info. Changing it raises ``TypeError``."""

    __slots__ = ("_items", "_name")

    def __init__(self, items: Mapping[Any, Any], name: str) -> None:
        self._items = items
        self._name = name

    @override
    def __getitem__(self, key: Any) -> Any:
        return self._items[key]

    @override
    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    @override
    def __len__(self) -> int:
        return len(self._items)

    @override
    def __repr__(self) -> str:
        return repr(self._items)

    def copy(self) -> dict[Any, Any]:
        """Return a mapping that may be changed."""
        return dict(self._items)

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise _read_only(self._name)

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse


def _read_only(name: str) -> TypeError:
    return TypeError(f"the node info of {name} is read-only for plugins; change a clone()")


class ReadOnlyNodeInfo(NodeInfo):
    """A node info as of one moment. Changing it raises ``TypeError``; a ``clone()`` may be changed."""

    __slots__ = ()

    def __init__(self, info: NodeInfo) -> None:
        for name in _FIELDS:
            value = getattr(info, name)
            if name in _MAPPINGS:
                value = _ReadOnlyMapping(value, info.name)
            elif name == "used_ports":
                users = {port: _ReadOnlyMapping(users, info.name) for port, users in value.items()}
                value = _ReadOnlyMapping(users, info.name)
            object.__setattr__(self, name, value)

    @override
    def __setattr__(self, name: str, value: Any) -> NoReturn:
        self._refuse()

    @override
    def add_pod(self, pod: Pod) -> NoReturn:
        """Raise ``TypeError``."""
        self._refuse()

    @override
    def remove_pod(self, pod: Pod) -> NoReturn:
        """Raise ``TypeError``."""
        self._refuse()

    @override
    def apply(self, pod: Pod, sign: int) -> NoReturn:
        """Raise ``TypeError``."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise _read_only(self.name)


_FIELDS = tuple(field.name for field in attrs.fields(NodeInfo))


@record(eq=False, repr=False)
class ReadOnlyInfoTable(NodeTable):
    """A :class:`NodeTable` whose node infos are read-only; a few microseconds for each that is read."""

    @override
    def info(self, row: int) -> ReadOnlyNodeInfo:
        """Return the row as a node info that cannot be changed."""
        return ReadOnlyNodeInfo(NodeTable.info(self, row))
