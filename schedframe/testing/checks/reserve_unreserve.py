"""reserve and unreserve; and what instances of one plugin have in common, which is nothing."""

from __future__ import annotations

from itertools import count
from typing import Any

from attrs import evolve

from ...api import Pod
from ...framework import CycleState
from ..worlds.naming import node_renamed, placed, renamed
from ..worlds.world import World
from .contract import of_class, of_hook
from .fingerprint import memory_of
from .probe import Probe, Raised
from .subject import Subject
from .violation import FILTERS, SCORES, Check, Violation, having, having_any

_SERIAL = count(1)
ASIDE = frozenset({"args", "handle"})
"""Attributes that are not a plugin's memory."""


class _Course:
    """Pods that are placed and given up again, with all that the plugin says on the way."""

    def __init__(self, subject: Subject, world: World, *, careless: bool = False) -> None:
        self.probe = Probe(subject, world)
        self.world = world
        self.careless = careless
        """Whether unreserve is called more often than it needs to be."""
        self.journal: list[Any] = []
        self.reserved: dict[str, tuple[Pod, CycleState, str]] = {}

    def run(self, turns: int = 6, *, undo: bool = True) -> None:
        """Some turns; in the end everything is given up, if *undo*."""
        for turn in range(turns):
            pod = self.world.pods[self.world.choice(turn) % len(self.world.pods)]
            if pod.uid in self.reserved and undo:
                self._give_up(*self.reserved.pop(pod.uid))
            elif pod.uid not in self.reserved:
                self._place(pod, turn)
            self.journal.append((turn, self.opinions()))
        if undo:
            for pod, state, node in reversed(list(self.reserved.values())):
                self._give_up(pod, state, node)
            self.reserved.clear()

    def opinions(self) -> list[Any]:
        """Return the plugin's answers about each pod now."""
        return [self.probe.answers(pod) for pod in self.world.pods]

    def _place(self, pod: Pod, turn: int) -> None:
        search = self.probe.search(pod)
        if not (search.goes_on or search.status.is_skip):
            return
        feasible = search.feasible(self.probe.table.rows()).names()
        allowed = [name for name in feasible if search.node_names is None or name in search.node_names]
        if not allowed:
            return
        node = allowed[self.world.choice(turn + 1) % len(allowed)]
        if self.careless:
            self._unreserve(pod, search.state, node)
        status = self.probe.status("reserve", search.state, pod, node)
        if status.is_success:
            status = self.probe.status("permit", search.state, pod, node)
        self.journal.append(("reserve", turn, node, status))
        if status.is_success or status.is_wait:
            self.reserved[pod.uid] = (pod, search.state, node)
        else:
            self._give_up(pod, search.state, node)

    def _give_up(self, pod: Pod, state: CycleState, node: str) -> None:
        for _ in range(2 if self.careless else 1):
            self._unreserve(pod, state, node)

    def _unreserve(self, pod: Pod, state: CycleState, node: str) -> None:
        if "unreserve" in self.probe.hooks:
            self.probe.call("unreserve", state, pod, node)


def unreserve(subject: Subject, world: World) -> None:
    """Called twice, or without reserve, it does no more than called once; it never fails."""
    if not world.pods:
        return
    try:
        _unreserve_often(subject, world)
    except Raised as error:
        if error.hook == "unreserve":
            raise Violation(f"{error}, called twice or for a pod that was not reserved") from error
        raise


def _unreserve_often(subject: Subject, world: World) -> None:
    once = _Course(subject, world)
    before = once.opinions()
    once.run()
    often = _Course(subject, world, careless=True)
    often.opinions()
    often.run()
    for one, other in zip(once.journal, often.journal, strict=False):
        if one != other:
            raise Violation(
                "the plugin decides differently once unreserve was called twice, or for a pod that was not "
                f"reserved: {_brief(one)} without that, {_brief(other)} with it"
            )
    kept, other_kept = (memory_of(course.probe.plugin, ASIDE) for course in (once, often))
    for name, value in kept.items():
        if value != other_kept.get(name):
            raise Violation(
                f"unreserve called twice, or for a pod that was not reserved, leaves {name} = "
                f"{getattr(often.probe.plugin, name)!r:.200} "
                f"instead of {getattr(once.probe.plugin, name)!r:.200}"
            )
    after = once.opinions()
    if after != before:
        raise Violation(
            "after unreserve of all pods that were reserved the plugin does not decide as it did before: "
            f"{_brief(before)} at first, {_brief(after)} in the end"
        )


def _brief(answer: Any) -> str:
    text = repr(answer)
    return text if len(text) < 400 else f"{text[:400]}…"


def sharing(subject: Subject, world: World) -> None:
    """An instance decides the same whatever other instances did before it, or do beside it."""
    if not world.pods:
        return
    world = _unheard_of(world)
    beside = Probe(subject, world)
    calm = [beside.answers(pod) for pod in world.pods]
    first = _Course(subject, world)
    first.run(undo=False)
    _compare_elsewhere(subject, _elsewhere(world))
    now = [beside.answers(pod) for pod in world.pods]
    if now != calm:
        raise Violation(
            "an instance decides differently after another one was at work: "
            f"{_brief(calm)} before, {_brief(now)} after"
        )
    second = _Course(subject, world)
    second.run(undo=False)
    for one, other in zip(first.journal, second.journal, strict=False):
        if one != other:
            raise Violation(
                "two instances decide differently about the same pods in the same cluster, the second after "
                f"the first: {_brief(one)}, then {_brief(other)}"
            )


def _compare_elsewhere(subject: Subject, world: World) -> None:
    """In another cluster, with some pods of the first one and some others."""
    known = _Course(subject, world)
    known.run(undo=False)
    unknown = _Course(subject, evolve(world, pods=tuple(_of_other_uid(pod) for pod in world.pods)))
    unknown.run(undo=False)
    for one, other in zip(known.journal, unknown.journal, strict=False):
        if one != other:
            raise Violation(
                "an instance decides differently about pods that an instance elsewhere was asked about "
                f"before: {_brief(one)}, and {_brief(other)} about the same pods with other uids"
            )


def _of_other_uid(pod: Pod) -> Pod:
    metadata = evolve(pod.metadata, uid=f"{pod.uid}-{next(_SERIAL)}")
    return Pod(metadata, evolve(pod.spec), pod.status)


def _unheard_of(world: World) -> World:
    """The same with pods whose names were never used before."""
    number = next(_SERIAL)
    return evolve(world, pods=tuple(renamed(pod, f"{pod.name}-{number}") for pod in world.pods))


def _elsewhere(world: World) -> World:
    """Nodes and running pods of the same names, which are something else each."""
    contents = (*world.nodes[1:], world.nodes[0])
    nodes = tuple(node_renamed(other, node.name) for node, other in zip(world.nodes, contents, strict=True))
    places = [*(pod.node_name for pod in world.running[1:]), world.nodes[0].name]
    running = tuple(placed(pod, pod.name, place) for pod, place in zip(world.running, places, strict=False))
    return evolve(world, nodes=nodes, running=running, changes=())


CHECKS = (
    Check(
        "instances_share_nothing",
        of_class("instances"),
        sharing,
        having_any(*FILTERS, *SCORES, "pre_filter", "pre_enqueue", "reserve", "permit"),
    ),
    Check(
        "unreserve_is_idempotent",
        of_hook("unreserve", "Must be idempotent and must not fail."),
        unreserve,
        having("unreserve"),
    ),
)
