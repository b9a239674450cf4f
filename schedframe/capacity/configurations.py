"""Two configurations on the same pods: which ones are placed otherwise, and by which plugin's score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Unpack

from typing_extensions import override

from .._base.brief import brief_of
from .._base.tables import Cell, Table, Tabular
from .._base.validators import collection
from .._base.value import record
from ..api import AnyObject, Pod
from ..config import ConfigSource
from ..cycle import Decision
from ..cycle.search.search import Search
from ..errors import InputError
from ..fork.parts import ForkOptions
from ..framework import Framework
from ..simulate import Evaluation, Simulation
from ..simulate.amounts import unit_of
from .advice import API_VERSION

MOST_EXPLAINED: Final = 200
"""Pods of which the plugin is found; each is evaluated on all nodes, 10 ms at 1,000 nodes."""
_COUNTED: Final = "pods"


@record(frozen=True)
class Amount:
    """Amount of a resource that no pod requests, over all nodes, in milli-CPU, bytes or counts."""

    free: int
    allocatable: int
    unit: str


@record(frozen=True)
class ConfigurationRun:
    """Result of one configuration for the pods."""

    name: str
    placed: int
    pending: int
    preempted: int
    nodes_in_use: int
    """Nodes with a pod, those of daemon sets aside."""
    left: Mapping[str, Amount]
    """Resource → what is left over."""

    def to_dict(self) -> dict[str, Any]:
        """Return the run in plain types."""
        return {
            "configuration": self.name,
            "placed": self.placed,
            "pending": self.pending,
            "preempted": self.preempted,
            "nodesInUse": self.nodes_in_use,
            "left": {
                name: {"free": each.free, "allocatable": each.allocatable, "unit": each.unit}
                for name, each in self.left.items()
            },
        }


@record(frozen=True)
class PlacedOtherwise:
    """A pod that the two configurations place on different nodes."""

    pod: str
    """``namespace/name``."""
    nodes: tuple[str | None, str | None]
    """Where each one places it; ``None``: it stays pending."""
    plugin: str = ""
    """The plugin that decided it in the second run; empty if no plugin did, or it was not looked at."""
    lead: int | None = None
    """The points by which that plugin preferred the second node; ``None`` if it rejected the first one."""
    why: str = ""
    """The same as a text."""


@record(frozen=True, repr=False)
class ConfigurationComparison(Tabular):
    """Two configurations on the same pods. ``str()`` and notebooks show the pods placed otherwise."""

    runs: tuple[ConfigurationRun, ConfigurationRun]
    pods: tuple[PlacedOtherwise, ...]
    """In the order in which the pods were given."""
    same: int
    """Pods that both place alike."""

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison in plain types."""
        return {
            "apiVersion": API_VERSION,
            "kind": "ConfigurationComparison",
            "runs": [each.to_dict() for each in self.runs],
            "same": self.same,
            "different": len(self.pods),
            "pods": [
                {
                    "pod": each.pod,
                    "nodes": list(each.nodes),
                    "plugin": each.plugin or None,
                    "lead": each.lead,
                    "why": each.why,
                }
                for each in self.pods
            ],
        }

    @override
    def __repr__(self) -> str:
        return brief_of(self, runs=[each.name for each in self.runs], different=len(self.pods))

    @override
    def _table(self) -> Table:
        rows: list[tuple[Cell, ...]] = [(each.pod, *each.nodes, each.why) for each in self.pods]
        return Table({"pod": str, "a": str, "b": str, "why": str}, rows)


def compare_configurations(
    objects: Iterable[AnyObject],
    configurations: Mapping[str, ConfigSource],
    **options: Unpack[ForkOptions],
) -> ConfigurationComparison:
    """Return what two *configurations*, by name, make of the pods among *objects* that have no node.

    ``options``: those of :class:`Simulation`. Of the first 200 pods that are placed otherwise the plugin is
    found, by placing them a second time and evaluating each at its turn. Raises :class:`InputError` unless
    there are two configurations, and :class:`ConfigError` for one that is refused.
    """
    if len(configurations) != 2:
        raise InputError("configurations", f"there are {len(configurations)}", "give two, with their names")
    given = collection("objects", objects, "give a list of API values or manifests")
    (first, config_a), (second, config_b) = configurations.items()
    run_a, placed_a, _ = _run(given, first, config_a, options)
    run_b, placed_b, _ = _run(given, second, config_b, options)
    otherwise = {
        key: (node, placed_b.get(key)) for key, node in placed_a.items() if node != placed_b.get(key)
    }
    wanted = dict(list(otherwise.items())[:MOST_EXPLAINED])
    found = _run(given, second, config_b, options, wanted)[2] if wanted else {}
    pods = [found.get(key) or PlacedOtherwise(key, nodes) for key, nodes in otherwise.items()]
    return ConfigurationComparison((run_a, run_b), tuple(pods), len(placed_a) - len(pods))


Nodes = tuple[str | None, str | None]


def _run(
    objects: Sequence[Any],
    name: str,
    config: ConfigSource,
    options: Any,
    wanted: Mapping[str, Nodes] | None = None,
) -> tuple[ConfigurationRun, dict[str, str | None], dict[str, PlacedOtherwise]]:
    """Place the pods; return the run, pod → node, and what decided about those of *wanted*."""
    with Simulation(objects, config, **options) as simulation:
        before = {pod.key for pod in simulation.cluster.list(Pod.KIND) if pod.spec.node_name}
        search = _Looking(simulation, wanted or {})
        if wanted:
            simulation.scheduler.core.search = search
        placements = simulation.schedule()
        placed = {each.pod.key: each.node_name for each in placements}
        count = sum(node is not None for node in placed.values())
        preempted = sum(simulation.cluster.get(Pod.KIND, key) is None for key in before)
        run = ConfigurationRun(
            name, count, len(placed) - count, preempted, _nodes_in_use(simulation), _left(simulation)
        )
        return run, placed, search.found


class _Looking(Search):
    """A search that evaluates some pods on all nodes just before their turn, which changes nothing."""

    __slots__ = ("_simulation", "_wanted", "found")

    def __init__(self, simulation: Simulation, wanted: Mapping[str, Nodes]) -> None:
        real = simulation.scheduler.core.search
        super().__init__(real.cache, real.rng, real.sampling, real.shortcuts, real.fast, real.extending)
        self._simulation, self._wanted = simulation, wanted
        self.found: dict[str, PlacedOtherwise] = {}

    def decide(self, framework: Framework, pod: Pod) -> Decision:
        """Decide as the replaced search does."""
        nodes = self._wanted.get(pod.key)
        if nodes is not None:
            self.found[pod.key] = _decided(self._simulation.evaluate(pod), pod.key, nodes)
        return super().decide(framework, pod)


def _decided(evaluation: Evaluation, key: str, nodes: Nodes) -> PlacedOtherwise:
    """Return which plugin preferred the second of *nodes*, or rejected the first."""
    first, second = nodes
    if first is None:
        return PlacedOtherwise(key, nodes, why="pending in the first run only")
    status = evaluation.statuses.get(first)
    if status is not None:
        plugin = status.plugin
        return PlacedOtherwise(key, nodes, plugin, why=f"{plugin} rejects {first}: {status.message}")
    totals = evaluation.total
    if second is None or first not in totals or second not in totals:
        return PlacedOtherwise(key, nodes, why=evaluation.message or "pending in the second run only")
    leads = {plugin: scores[second] - scores[first] for plugin, scores in evaluation.scores.items()}
    plugin = max(leads, key=lambda name: leads[name], default="")
    if not plugin or leads[plugin] <= 0:
        return PlacedOtherwise(key, nodes, why="a tie that was drawn otherwise")
    every = sorted((name for name in leads if leads[name]), key=lambda name: -leads[name])
    lead = ", ".join(f"{name} {leads[name]:+d}" for name in every)
    return PlacedOtherwise(key, nodes, plugin, leads[plugin], lead)


def _nodes_in_use(simulation: Simulation) -> int:
    return sum(
        any(not _is_of_daemon_set(pod) for pod in info.pods.values())
        for info in simulation.scheduler.core.cache.table.rows()
    )


def _is_of_daemon_set(pod: Pod) -> bool:
    owner = pod.metadata.controller
    return owner is not None and owner.kind == "DaemonSet"


def _left(simulation: Simulation) -> dict[str, Amount]:
    table = simulation.scheduler.core.cache.table
    rows = table.rows()
    found = {}
    for name in table.resources():
        if name != _COUNTED:
            allocatable = int(rows.take(table.allocatable(name)).sum())
            free = allocatable - int(rows.take(table.requested(name)).sum())
            if allocatable:
                found[name] = Amount(free, allocatable, unit_of(name))
    return found
