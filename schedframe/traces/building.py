"""Traces from parts of columns: templates are found, names are made, rows are put in the order of arrival."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from .._base.checked import unchecked
from .._base.value import record
from .columns import NONE, Array, ColumnTable, Ids, Ints, Names, first_uses, read_only, texts
from .node_events import NodeEvent
from .reading import Rows, Treated, concatenated
from .template import NodeTemplate, PodTemplate
from .trace import Trace


@record
class PodPart:
    """Columns of a part of the pods. Amounts are those of templates; ``None`` is nothing for all rows."""

    submit: Ints
    run: Ints
    requests: Mapping[str, Ints]
    name: Array | None = None
    requested: Ints | None = None
    priority: Ints | None = None
    owner: Ids | None = None
    group: Ids | None = None
    labels: Mapping[str, tuple[Ids, Names]] = {}  # node label → ids of the allowed values
    template: Ids | None = None
    """Templates, if they are known; the amounts and labels above do not count then."""
    split: str = "|"
    """What stands between several values that a label may have."""


class TraceBuilder:
    """Collects parts of a trace; :meth:`build` returns it."""

    def __init__(self, treated: Treated | None = None, namespace: str = "default") -> None:
        self.treated = Treated() if treated is None else treated
        self.owners = Names()
        self._namespace = namespace
        self._templates: dict[tuple[Any, ...], int] = {}
        self._made: list[PodTemplate] = []
        self._parts: dict[str, list[Array]] = {}
        self._min_count: list[Array] = []
        self._groups = 0
        self._node_names: list[str] = []
        self._node_template: list[int] = []
        self._node_templates: list[NodeTemplate] = []
        self._node_keys: dict[tuple[Any, ...], int] = {}
        self._events: list[tuple[int, int, int]] = []

    def add(self, part: PodPart, rows: Rows | None = None) -> None:
        """Add pods; those that *rows* leaves out are not added."""
        size = len(part.submit)
        columns = {
            "submit": part.submit,
            "run": part.run,
            "requested": _or_none(part.requested, size, np.int64),
            "template": self._template_ids(part, size) if part.template is None else part.template,
            "owner": _or_none(part.owner, size, np.int32),
            "group": _or_none(part.group, size, np.int32),
            "name": texts([""] * size) if part.name is None else part.name,
        }
        kept = slice(None) if rows is None or not rows.dropped.any() else ~rows.dropped
        for name, column in columns.items():
            self._parts.setdefault(name, []).append(column[kept])

    def new_groups(self, min_count: Ints) -> Ids:
        """Return ids of new groups of pods, of which *min_count* must be able to start together."""
        first = self._groups
        self._groups += len(min_count)
        self._min_count.append(min_count.astype(np.int64))
        return np.arange(first, self._groups, dtype=np.int32)

    def template(self, template: PodTemplate, key: object) -> int:
        """Return the id of a template; templates of equal *keys* are one."""
        return self._id_of(("given", key), lambda: template)

    def add_nodes(self, names: Sequence[str], template: NodeTemplate, time: int = 0) -> None:
        """Add nodes that join at *time*."""
        amounts, labels = template.allocatable.items(), template.labels.items()
        key = (tuple(sorted(amounts)), tuple(sorted(labels)), template.price, id(template.node))
        found = self._node_keys.setdefault(key, len(self._node_templates))
        if found == len(self._node_templates):
            self._node_templates.append(template)
        for name in names:
            self._events.append((time, len(self._node_names), NodeEvent.JOIN))
            self._node_names.append(name)
            self._node_template.append(found)

    def node_event(self, time: int, node: int, kind: NodeEvent) -> None:
        """Add an event of the node with that number."""
        self._events.append((time, node, kind))

    def build(self, *, epoch: int = 0) -> Trace:
        """Return the trace, with pods in the order of arrival; those of one instant stay as they are."""
        parts = {name: concatenated(self._parts.get(name, ()), kind) for name, kind in _KINDS.items()}
        order = np.argsort(parts["submit"], kind="stable")
        columns = {name: column[order] for name, column in parts.items()}
        if len(order) and not columns["name"].any():
            del columns["name"]
        pods = ColumnTable(
            read_only(columns), {"owner": self.owners.all()}, frozenset({"run", "requested", "group"})
        )
        return Trace(
            pods=pods,
            templates=tuple(self._made),
            min_count=concatenated(self._min_count),
            nodes=self._nodes(),
            node_templates=tuple(self._node_templates),
            node_events=node_events(self._events, self._node_names),
            epoch=epoch,
            treated=dict(self.treated),
        )

    def _nodes(self) -> ColumnTable:
        columns: dict[str, Array] = {
            "name": texts(self._node_names),
            "template": np.array(self._node_template, np.int32),
        }
        return ColumnTable(read_only(columns))

    def _template_ids(self, part: PodPart, size: int) -> Ids:
        """Return the template of each row. One look into a dict for each combination of a part."""
        keys: list[Array] = [each.astype(np.int64) for each in part.requests.values()]
        keys += [_or_zero(part.priority, size), *(ids.astype(np.int64) for ids, _ in part.labels.values())]
        first, inverse = combinations(keys, size)
        ids = [self._id_of(*self._described(part, index)) for index in first.tolist()]
        return np.array(ids, np.int32)[inverse] if ids else np.zeros(size, np.int32)

    def _described(self, part: PodPart, row: int) -> tuple[tuple[Any, ...], Callable[[], PodTemplate]]:
        """Return the key of a row's template, and what makes it."""
        requests = {name: int(column[row]) for name, column in part.requests.items() if column[row]}
        priority = 0 if part.priority is None else int(part.priority[row])
        only_on = {
            label: tuple(filter(None, names.all()[ids[row]].split(part.split)))
            for label, (ids, names) in part.labels.items()
            if ids[row] != NONE
        }
        key = (tuple(sorted(requests.items())), priority, tuple(sorted(only_on.items())))
        return key, lambda: _template(requests, priority, self._namespace, only_on=only_on)

    def _id_of(self, key: tuple[Any, ...], make: Callable[[], PodTemplate]) -> int:
        found = self._templates.get(key)
        if found is None:
            found = self._templates[key] = len(self._made)
            self._made.append(make())
        return found


_template: Final = unchecked(PodTemplate)
_KINDS: Final[dict[str, Any]] = {
    "name": "S1",
    "submit": np.int64,
    "run": np.int64,
    "requested": np.int64,
    "template": np.int32,
    "owner": np.int32,
    "group": np.int32,
}


def node_events(events: Sequence[tuple[int, int, int]], names: Sequence[str]) -> ColumnTable:
    """Return *events* (time, node, kind) as a table in the order of time."""
    array = np.array(events, np.int64).reshape(-1, 3)
    array = array[np.argsort(array[:, 0], kind="stable")]
    columns: dict[str, Array] = {
        "time": array[:, 0].copy(),
        "node": array[:, 1].astype(np.int32),
        "event": array[:, 2].astype(np.int8),
    }
    kinds = [each.name.lower() for each in NodeEvent]
    return ColumnTable(read_only(columns), {"node": tuple(names), "event": tuple(kinds)})


def combinations(keys: Sequence[Array], size: int) -> tuple[Array, Array]:
    """Return a row of each combination of *keys*, by first occurrence, and the combination of each row."""
    code = np.zeros(size, np.int64)
    for key in keys:
        _, inverse = np.unique(key, return_inverse=True)
        code = code * (int(inverse.max(initial=0)) + 1) + inverse
        _, code = np.unique(code, return_inverse=True)
    _, place = first_uses(code)
    return np.unique(place, return_index=True)[1], place


def _or_none(column: Array | None, size: int, kind: Any) -> Array:
    return np.full(size, NONE, kind) if column is None else column.astype(kind, copy=False)


def _or_zero(column: Array | None, size: int) -> Array:
    return np.zeros(size, np.int64) if column is None else column
