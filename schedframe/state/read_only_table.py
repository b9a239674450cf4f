"""A node table for debugging: node infos cannot be changed, because that would silently corrupt the table."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, NoReturn

import attrs
from attrs import define
from typing_extensions import override

from ..api import Pod
from .node_info import NodeInfo
from .node_table import NodeTable

_MAPPINGS = frozenset({"pods", "requested"})


class ReadOnlyNodeInfo(NodeInfo):
    """A node info as of one moment. Changing it raises ``TypeError``; a ``clone()`` may be changed."""

    __slots__ = ()

    def __init__(self, info: NodeInfo) -> None:
        for name in _FIELDS:
            value = getattr(info, name)
            if name in _MAPPINGS:
                value = MappingProxyType(value)
            elif name == "used_ports":
                value = MappingProxyType({port: MappingProxyType(users) for port, users in value.items()})
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
        raise TypeError(f"the node info of {self.name} is read-only for plugins; change a clone()")


_FIELDS = tuple(field.name for field in attrs.fields(NodeInfo))


@define(eq=False, repr=False)
class ReadOnlyInfoTable(NodeTable):
    """A :class:`NodeTable` whose node infos are read-only; a few microseconds for each that is read."""

    @override
    def info(self, row: int) -> ReadOnlyNodeInfo:
        """Return the row as a node info that cannot be changed."""
        return ReadOnlyNodeInfo(NodeTable.info(self, row))
