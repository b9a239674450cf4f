"""The results of a simulation, pod by pod."""

from __future__ import annotations

from collections.abc import Mapping

from typing_extensions import override

from .._base.brief import brief_of
from .._base.tables import Table, Tabular
from .._base.value import record
from ..api import Pod
from ..framework import Status


def reasons_alike(status: Status) -> tuple[str, ...]:
    """Return the reasons of *status* without the names in them, as pods that are rejected alike share them.

    ``details`` has the reason without names: reason → ``{"alike": …}``.
    """
    details = status.details or {}
    found = (details.get(reason) for reason in status.reasons)
    return tuple(
        str(data["alike"]) if isinstance(data, Mapping) and "alike" in data else reason
        for reason, data in zip(status.reasons, found, strict=True)
    )


@record(eq=False)
class Placement:
    """The result of one pod of :meth:`Simulation.schedule`. ``str()`` is one line."""

    pod: Pod
    node_name: str | None
    """The node that the pod got, ``None`` if it is pending."""
    message: str
    """Why the pod is pending; empty if it has a node."""
    alike: str = ""
    """The message without names and times, which pods that wait for the same have in common."""

    @override
    def __str__(self) -> str:
        where = f"on {self.node_name}" if self.node_name is not None else f"pending: {self.message}"
        return f"{self.pod.key} {where}"


class Placements(Tabular, list[Placement]):
    """A list of :class:`Placement`.

    ``str()``, rich and notebooks show a table; ``to_dataframe()`` returns a data frame.
    """

    @override
    def __repr__(self) -> str:
        return brief_of(self, len=len(self), first=self[0] if self else None)

    @override
    def _table(self) -> Table:
        rows = [(each.pod.namespace, each.pod.name, each.node_name, each.message) for each in self]
        return Table({"namespace": str, "pod": str, "node": str, "message": str}, list(rows))
