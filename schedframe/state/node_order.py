"""The order in which nodes are searched when not all of them are: round robin over zones."""

from __future__ import annotations

from attrs import field

from .._base.undo import UndoLog
from .._base.value import record
from ..api import Node
from ..errors import InvariantError

REGION_LABELS = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
ZONE_LABELS = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")

Zone = tuple[str, str]


def zone_of(node: Node) -> Zone:
    """Return region and zone of a node; the beta labels win, a missing label counts as empty."""
    labels = node.labels
    region, zone = (
        next((labels[key] for key in keys if key in labels), "") for keys in (REGION_LABELS, ZONE_LABELS)
    )
    return region, zone


@record(eq=False)
class NodeOrder:
    """Zones in order of appearance, names within a zone in order of arrival.

    Every change is O(1). ``names()`` is O(nodes) when the set of names is another than at the last call, else
    O(1): a node that only changed its zone, or left and came back, keeps its place until another one comes
    or goes.
    """

    _zones: dict[Zone, dict[str, None]] = field(factory=dict)
    _zone_of: dict[str, Zone] = field(factory=dict)
    _names: list[str] = field(factory=list)
    _arrived: set[str] = field(factory=set)
    _left: set[str] = field(factory=set)
    undo: UndoLog = field(factory=UndoLog)

    def add(self, node: Node) -> None:
        """Add a node, or replace the one of that name."""
        name, zone = node.name, zone_of(node)
        old = self._zone_of.get(name)
        if old == zone:
            return
        if self.undo.marks:
            self._save()
        if old is not None:
            self._drop(name, old)
        elif name in self._left:
            self._left.discard(name)
        else:
            self._arrived.add(name)
        self._zones.setdefault(zone, {})[name] = None
        self._zone_of[name] = zone

    def remove(self, name: str) -> None:
        """Remove a node, if it is here."""
        if name not in self._zone_of:
            return
        if self.undo.marks:
            self._save()
        self._drop(name, self._zone_of.pop(name))
        if name in self._arrived:
            self._arrived.discard(name)
        else:
            self._left.add(name)

    def names(self) -> list[str]:
        """Return all names: the first of each zone, then the second of each, and so on. Read-only."""
        if self._arrived or self._left:
            if self.undo.marks:
                self._save()
            self._names = self._interleave()
            self._arrived.clear()
            self._left.clear()
        return self._names

    def members(self) -> set[str]:
        """Return all names in no order, without rebuilding the list of :meth:`names`."""
        return set(self._zone_of)

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if zones and names disagree; O(nodes)."""
        filed = {name: zone for zone, members in self._zones.items() for name in members}
        if filed != self._zone_of or not all(self._zones.values()):
            raise InvariantError(f"zones {self._zones} do not hold the nodes {self._zone_of}")
        if (set(self._names) | self._arrived) - self._left != filed.keys() or self._arrived & self._left:
            raise InvariantError(f"{self._names} and {self._arrived} less {self._left} are not {list(filed)}")

    def copied(self) -> NodeOrder:
        """Return an independent copy with a log of its own; O(nodes)."""
        zones = {zone: dict(names) for zone, names in self._zones.items()}
        arrived, left = set(self._arrived), set(self._left)
        return NodeOrder(zones, dict(self._zone_of), list(self._names), arrived, left)

    def _save(self) -> None:
        """Let a trial take back all that follows; O(nodes), once for each trial that changes the order."""
        if self.undo.is_saved(id(self)):
            return
        zones = {zone: dict(names) for zone, names in self._zones.items()}
        arrived, left = set(self._arrived), set(self._left)
        self.undo.save(
            id(self), (self._set_back, zones, dict(self._zone_of), list(self._names), arrived, left)
        )

    def _set_back(
        self,
        zones: dict[Zone, dict[str, None]],
        zone_of: dict[str, Zone],
        names: list[str],
        arrived: set[str],
        left: set[str],
    ) -> None:
        self._zones, self._zone_of, self._names = zones, zone_of, names
        self._arrived, self._left = arrived, left

    def _drop(self, name: str, zone: Zone) -> None:
        members = self._zones[zone]
        del members[name]
        if not members:
            del self._zones[zone]

    def _interleave(self) -> list[str]:
        names: list[str] = []
        columns = [iter(members) for members in self._zones.values()]
        while columns:
            remaining = []
            for column in columns:
                name = next(column, None)
                if name is not None:
                    names.append(name)
                    remaining.append(column)
            columns = remaining
        return names
