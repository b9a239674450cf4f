"""Traces: pods that arrive and run, and nodes that join and leave, as columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from attrs import evolve, field

from .._base.brief import brief_of
from .._base.checked import checked
from .._base.validators import number
from .._base.value import record
from ..api import (
    GangSchedulingPolicy,
    Node,
    ObjectMeta,
    Pod,
    PodGroup,
    PodGroupSchedulingPolicy,
    PodGroupSpec,
)
from ..api.resources import PODS
from ..errors import InputError
from .columns import NONE, Array, ColumnTable, Ids, Ints, digest_of, first_uses, read_only
from .describe import Description, describe
from .draws import Draws
from .node_events import NodeEvent, failures
from .template import NodeTemplate, PodTemplate
from .times import Span, micros

FOREVER: Final = NONE
"""Run time of a pod that does not end."""
_NAME: Final = re.compile(rb"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


@record(frozen=True, eq=False)
class Trace:
    """Pods in the order of their arrival, and nodes. Times are microseconds from ``epoch``.

    ``pods`` has a row for each pod: ``submit`` (arrival), ``run`` (run time, −1 never ends), ``requested``
    (the run time that the user stated, −1 none), ``template``, ``owner``, ``group`` (−1 none) and, if the
    pods have names, ``name``. ``templates`` has what pods have in common, such as their requests;
    ``min_count`` by group how many of its pods must be able to start together. ``nodes`` has ``name`` and
    ``template``, and ``node_events`` has ``time``, ``node`` and ``event``. ``treated`` counts rows of a file
    that were changed or left out, by treatment.
    """

    pods: ColumnTable
    templates: tuple[PodTemplate, ...]
    min_count: Ints
    nodes: ColumnTable
    node_templates: tuple[NodeTemplate, ...]
    node_events: ColumnTable
    epoch: int = 0
    """Seconds since 1970; 0 if the trace has no dates."""
    treated: Mapping[str, int] = field(factory=dict)
    _memo: dict[str, Any] = field(factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.pods)

    def __repr__(self) -> str:
        return brief_of(self, pods=len(self.pods), nodes=len(self.nodes), templates=len(self.templates))

    # ---- values ------------------------------------------------------------------------------------------

    @property
    def resources(self) -> tuple[str, ...]:
        """The resources that pods request and nodes have, by name; the number of pods is none of them."""
        self._amounts()
        found: tuple[str, ...] = self._memo["resources"]
        return found

    @property
    def requests(self) -> Ints:
        """Requests by template and resource: milli-CPU, bytes, units."""
        return self._amounts()[0]

    @property
    def allocatable(self) -> Ints:
        """Allocatable amounts by node template and resource."""
        return self._amounts()[1]

    def _amounts(self) -> tuple[Ints, Ints]:
        if "amounts" not in self._memo:
            pods = [each.requests for each in self.templates]
            nodes = [each.allocatable for each in self.node_templates]
            resources = sorted({name for each in (*pods, *nodes) for name in each if name != PODS})
            self._memo["resources"] = tuple(resources)
            self._memo["amounts"] = tuple(
                np.array([[each.get(name, 0) for name in resources] for each in amounts], np.int64).reshape(
                    len(amounts), len(resources)
                )
                for amounts in (pods, nodes)
            )
        found: tuple[Ints, Ints] = self._memo["amounts"]
        return found

    def capacity(self) -> dict[str, int]:
        """Return resource → what all nodes of the trace have together."""
        total = self.allocatable[self.nodes["template"]].sum(0) if len(self.nodes) else []
        return dict(zip(self.resources, map(int, total), strict=True)) if len(self.nodes) else {}

    def names(self) -> Array | None:
        """Return the names that pods may have in a cluster; ``None`` if they are numbered.

        They are numbered if a name is no name of Kubernetes, or two pods have the same.
        """
        if "names" not in self._memo:
            column = self.pods.columns.get("name")
            usable = column is not None and len(np.unique(column)) == len(column)
            usable = usable and all(map(_NAME.fullmatch, column.tolist() if column is not None else ()))
            self._memo["names"] = column if usable else None
        found: Array | None = self._memo["names"]
        return found

    def name(self, index: int) -> str:
        """Return the name of a pod in a cluster."""
        names = self.names()
        return f"pod-{index}" if names is None else names[index].decode()

    def pod(self, index: int, attempt: int = 0) -> Pod:
        """Return a pod. *attempt* counts how often it was evicted; each one has another name and uid."""
        template: PodTemplate = self.templates[self.pods["template"][index]]
        suffix = f"-r{attempt}" if attempt else ""
        group = int(self.pods["group"][index])
        name = self.name(index) + suffix
        return template.build(name, f"{index}{suffix}", "" if group == NONE else f"group-{group}")

    def pod_group(self, group: int, namespace: str = "default") -> PodGroup:
        """Return the object of a group of pods."""
        policy = PodGroupSchedulingPolicy(gang=GangSchedulingPolicy(int(self.min_count[group])))
        meta = ObjectMeta(name=f"group-{group}", namespace=namespace, uid=f"group-{group}")
        return PodGroup(meta, PodGroupSpec(scheduling_policy=policy))

    def node(self, index: int) -> Node:
        """Return a node."""
        template: NodeTemplate = self.node_templates[self.nodes["template"][index]]
        return template.build(self.nodes["name"][index].decode())

    def digest(self) -> str:
        """Return the SHA-256 of all values."""
        from hashlib import sha256

        digest = sha256()
        for table in (self.pods, self.nodes, self.node_events):
            digest.update(digest_of(table).encode())
        templates = [(dict(each.requests), each.priority, dict(each.only_on)) for each in self.templates]
        digest.update(
            repr((templates, self.min_count.tolist(), self.allocatable.tolist(), self.epoch)).encode()
        )
        return digest.hexdigest()

    def describe(self) -> Description:
        """Return counts, times and requests as a table, and how rows were treated."""
        return describe(self.pods, self.requests, self.resources, self.capacity(), self.treated)

    # ---- other traces ------------------------------------------------------------------------------------

    @checked
    def window(self, start: Span, end: Span) -> Trace:
        """Return the pods that arrive from *start* to *end*, exclusive; *start* becomes 0.

        Events of nodes move along; those before *start* happen at 0, those after *end* are left out.
        """
        first, last = micros(start, "start"), micros(end, "end")
        if last <= first:
            raise InputError("end", "is not after start", "give a later end")
        submit, time = self.pods["submit"], self.node_events["time"]
        chosen = (submit >= first) & (submit < last)
        pods = self.pods.taken(chosen)
        events = self.node_events.taken(time < last)
        return evolve(
            self,
            pods=pods.with_columns(submit=pods["submit"] - first),
            node_events=events.with_columns(time=np.maximum(events["time"] - first, 0)),
        )

    @checked
    def rate(self, times: float) -> Trace:
        """Return the trace with arrivals and events of nodes *times* as fast; run times stay."""
        number("times", times, "give a number above 0")
        if times <= 0:
            raise InputError("times", f"{times} is not above 0", "give a number above 0")
        pods = self.pods.with_columns(submit=_divided(self.pods["submit"], times))
        events = self.node_events.with_columns(time=_divided(self.node_events["time"], times))
        return evolve(self, pods=pods, node_events=events)

    @checked
    def scale(self, *, run: float = 1.0, requests: float | Mapping[str, float] = 1.0) -> Trace:
        """Return the trace with multiplied run times (stated ones too) and *requests*, all or by resource."""
        number("run", run, "give a factor from 0", least=0)
        factors = requests if isinstance(requests, Mapping) else dict.fromkeys(self.resources, requests)
        for name, factor in factors.items():
            number(f"requests[{name}]", factor, "give a factor from 0", least=0)
        columns = {name: _times(self.pods[name], run) for name in ("run", "requested")}
        templates = tuple(each.scaled(factors) for each in self.templates)
        return evolve(self, pods=self.pods.with_columns(**columns), templates=templates)

    def with_nodes(self, other: Trace) -> Trace:
        """Return the trace with the nodes of another one, and their events."""
        return evolve(
            self, nodes=other.nodes, node_templates=other.node_templates, node_events=other.node_events
        )

    @checked
    def with_failures(
        self, between: Span, repair: Span, *, until: Span | None = None, seed: int = 0
    ) -> Trace:
        """Return the trace with nodes that fail and are repaired, until the last arrival or *until*.

        The times between a repair and the next failure, and those of repairs, have exponential distributions
        with these means. They are drawn by node and number of the failure: equal for each scheduler.
        """
        mean, mend = micros(between, "between"), micros(repair, "repair")
        end = int(self.pods["submit"].max(initial=0)) if until is None else micros(until, "until")
        if mean <= 0:
            raise InputError("between", "is 0", "give a time such as 30d")
        events = self.node_events
        joins = events["event"] == NodeEvent.JOIN
        added = failures(events["time"][joins], events["node"][joins], (mean, mend, end), Draws(seed))
        columns = {name: np.concatenate([events[name], added[name]]) for name in events.columns}
        order = np.argsort(columns["time"], kind="stable")
        return evolve(self, node_events=events.with_columns(**{n: c[order] for n, c in columns.items()}))

    def without_groups(self) -> Trace:
        """Return the trace with pods that start one by one."""
        group = np.full(len(self), NONE, np.int32)
        return evolve(self, pods=self.pods.with_columns(group=group), min_count=np.zeros(0, np.int64))

    def endless(self) -> Trace:
        """Return the trace with pods that do not end: what a cluster holds."""
        return evolve(self, pods=self.pods.with_columns(run=np.full(len(self), FOREVER)))

    @checked
    def shuffle(self, seed: int = 0) -> Trace:
        """Return the trace with its pods in random order at the same times; groups stay together."""
        start, unit = self._units()
        order = Draws(seed).order(len(start), "shuffle")
        rows, place = _rows_of(order, start, unit)
        submit = self.pods["submit"][np.searchsorted(place, place)]  # that of the first row of the unit
        return self._selected(rows, submit, np.zeros(len(rows), np.int64))

    @checked
    def replicate(self, copies: int, *, spread: Span | None = None, seed: int = 0) -> Trace:
        """Return the trace with *copies* of each pod.

        The first copy arrives as before, each other one up to *spread* later: uniformly drawn, by default
        from the mean time between arrivals. Copies of a group arrive together.
        """
        number("copies", copies, "give a whole number from 1", whole=True, least=1)
        start, unit = self._units()
        width = self._mean_gap() if spread is None else micros(spread, "spread")
        submit, rows, copy = [], [], []
        for number_ in range(copies):
            drawn = Draws(seed).uniform(len(start), "replicate", number_)
            shift = np.zeros(len(start), np.int64) if number_ == 0 else (drawn * width).astype(np.int64)
            submit.append(self.pods["submit"] + shift[unit])
            rows.append(np.arange(len(self)))
            copy.append(np.full(len(self), number_))
        return self._selected(np.concatenate(rows), np.concatenate(submit), np.concatenate(copy))

    @checked
    def inflate(self, ratio: float, resource: str, *, capacity: int | None = None, seed: int = 0) -> Trace:
        """Return pods that together request *ratio* times the *capacity* of a resource.

        *capacity* is by default that of all nodes of the trace. The last pods are left out if there are too
        many; others are drawn again, with repetition, and arrive behind the last one at the mean distance.
        Groups are taken as a whole.
        """
        number("ratio", ratio, "give a number from 0", least=0)
        total = self.capacity().get(resource, 0) if capacity is None else capacity
        if resource not in self.resources or total <= 0:
            fix = f"name one of {', '.join(self.resources)}, and give capacity= if the trace has no nodes"
            raise InputError("resource", f"there is no capacity of {resource}", fix)
        start, unit = self._units()
        column = self.requests[self.pods["template"], self.resources.index(resource)]
        sizes = np.zeros(len(start), np.int64)
        np.add.at(sizes, unit, column)
        chosen = _up_to(round(ratio * total), sizes, Draws(seed))
        rows, place = _rows_of(chosen, start, unit)
        gap, last = self._mean_gap(), int(self.pods["submit"].max(initial=0))
        late = np.maximum(place - len(start) + 1, 0)
        submit = np.where(late > 0, last + late * gap, self.pods["submit"][rows])
        return self._selected(rows, submit, _occurrence(chosen)[place])

    def _mean_gap(self) -> int:
        submit = self.pods["submit"]
        return int(submit[-1] - submit[0]) // max(1, len(submit) - 1) if len(submit) else 0

    def _units(self) -> tuple[Ints, Ints]:
        """Return the first row of each unit, and the unit of each row: a group, or a pod without one."""
        group = self.pods["group"].astype(np.int64)
        key = np.where(group == NONE, -1 - np.arange(len(group)), group)
        _, unit = first_uses(key)
        return np.unique(unit, return_index=True)[1].astype(np.int64), unit

    def _selected(self, rows: Ints, submit: Ints, copy: Ints) -> Trace:
        """Return the trace of *rows* at other times; those with a *copy* above 0 are others of that name."""
        order = np.argsort(submit, kind="stable")
        rows, copy = rows[order], copy[order]
        columns = {name: column[rows] for name, column in self.pods.columns.items()}
        columns["submit"] = submit[order]
        columns["group"], min_count = self._regrouped(columns["group"], copy)
        if "name" in columns:
            suffix = np.where(copy > 0, np.char.add(b"-", copy.astype("S")), b"")
            columns["name"] = np.char.add(columns["name"], suffix)
        table = ColumnTable(read_only(columns), self.pods.names, self.pods.optional)
        return evolve(self, pods=table, min_count=min_count)

    def _regrouped(self, group: Ids, copy: Ints) -> tuple[Ids, Ints]:
        """Return groups of which each copy is one of its own, and their counts."""
        if not len(self.min_count):
            return group, self.min_count
        key = np.where(group == NONE, NONE, copy * len(self.min_count) + group)
        kept, ids = np.unique(key, return_inverse=True)
        shift = 1 if len(kept) and kept[0] == NONE else 0
        return (ids - shift).astype(np.int32), self.min_count[kept[shift:] % len(self.min_count)]


def _divided(times: Ints, by: float) -> Ints:
    result: Ints = np.rint(times / by).astype(np.int64)
    return result


def _times(values: Ints, factor: float) -> Ints:
    result: Ints = np.where(values == NONE, NONE, np.rint(values * factor).astype(np.int64))
    return result


def _rows_of(units: Ints, start: Ints, unit: Ints) -> tuple[Ints, Ints]:
    """Return the rows of *units* one after another, and the place of its unit for each of them."""
    by_unit = np.argsort(unit, kind="stable")
    size = np.bincount(unit, minlength=len(start))
    begin = np.cumsum(size) - size
    place = np.repeat(np.arange(len(units)), size[units])
    first = np.cumsum(size[units]) - size[units]
    rows = by_unit[begin[units][place] + np.arange(len(place)) - first[place]]
    return rows, place


def _up_to(target: int, sizes: Ints, draws: Draws) -> Ints:
    """Return units in their order, then drawn ones, until their sizes reach *target*."""
    total = np.cumsum(sizes)
    if not len(sizes) or int(total[-1]) == 0:
        return np.arange(len(sizes))
    if int(total[-1]) >= target:
        return np.arange(int(np.searchsorted(total, target, "right")))
    chosen, missing, block = [np.arange(len(sizes))], target - int(total[-1]), 0
    while missing > 0:
        drawn = (draws.uniform(len(sizes), "inflate", block) * len(sizes)).astype(np.int64)
        summed = np.cumsum(sizes[drawn])
        count = min(int(np.searchsorted(summed, missing, "left")) + 1, len(drawn))
        chosen.append(drawn[:count])
        missing, block = missing - int(summed[count - 1]), block + 1
    return np.concatenate(chosen)


def _occurrence(values: Ints) -> Ints:
    """Return how often each value occurred before."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    is_first = np.r_[True, ordered[1:] != ordered[:-1]] if len(ordered) else np.zeros(0, bool)
    place = np.arange(len(ordered))
    begin = np.maximum.accumulate(np.where(is_first, place, 0))
    result = np.empty(len(values), np.int64)
    result[order] = place - begin
    return result
