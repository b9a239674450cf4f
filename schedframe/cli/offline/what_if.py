"""Cluster of manifests as it would be with more or fewer nodes, or workloads of another size."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from ..._base.value import record
from ...api import Node
from ...errors import InputError
from ...fork import Fork
from ...fork.likeness import free_names, node_like

NODE_PREFIX = "node/"


@record(frozen=True)
class WhatIf:
    """Changes of a cluster, made before its pods are placed."""

    added: tuple[tuple[int, str], ...] = ()
    """Number of nodes, and the node that they are like."""
    without: tuple[str, ...] = ()
    """Nodes that are removed; their pods wait again."""
    scaled: tuple[tuple[str, int], ...] = ()
    """Workloads and their number of pods."""

    @classmethod
    def parsed(cls, add: Iterable[str], without: Iterable[str], scale: Iterable[str]) -> Self:
        """Return the changes that the arguments of the options say. Raises :class:`InputError`."""
        return cls(
            tuple([_addition(text) for text in add]),
            tuple([name.removeprefix(NODE_PREFIX) for name in without]),
            tuple([_size(text) for text in scale]),
        )

    def __bool__(self) -> bool:
        """Return whether anything changes."""
        return bool(self.added or self.without or self.scaled)

    def apply(self, fork: Fork) -> None:
        """Make the changes. Raises :class:`InputError` for a node or workload that is not there."""
        for count, name in self.added:
            node = _node(fork, "--add", name)
            taken = [each.name for each in fork.cluster.list(Node.KIND)]
            fork.add(*[node_like(node, each) for each in free_names(taken, f"{name}-like", count)])
        for name in self.without:
            fork.remove_node(_node(fork, "--without", name).name)
        for workload, replicas in self.scaled:
            try:
                fork.scale(workload, replicas)
            except InputError as error:
                raise InputError("--scale", error.problem, error.fix) from None


def _addition(text: str) -> tuple[int, str]:
    count, _, name = text.rpartition("=")
    if not name or not (count or "1").isdecimal() or int(count or 1) < 1:
        raise InputError("--add", f"{text} names no number of nodes", "write 3=NODE, or NODE for one")
    return int(count or 1), name


def _size(text: str) -> tuple[str, int]:
    workload, _, replicas = text.rpartition("=")
    if not workload or not replicas.isdecimal():
        raise InputError("--scale", f"{text} names no number of pods", "write deployment/web=20")
    return workload, int(replicas)


def _node(fork: Fork, option: str, name: str) -> Node:
    node: Node | None = fork.cluster.get(Node.KIND, name)
    if node is None:
        names = ", ".join(sorted(each.name for each in fork.cluster.list(Node.KIND))[:5])
        raise InputError(option, f"there is no node {name}", f"there are {names}" if names else "add one")
    return node
