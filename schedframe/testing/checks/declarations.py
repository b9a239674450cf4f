"""Checks of what a plugin declares about its answers: depends_on, reads, pod_signature."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

import attrs
import numpy as np
from attrs import evolve, fields

from ...api import Node, NodeSpec, ObjectMeta, Pod, PodSpec
from ...framework import Depends
from ...state import Rows
from ..worlds.naming import placed
from ..worlds.world import Change, World
from .contract import of_class, of_hook
from .form_agreement import prepared_for, shown, statuses_of
from .probe import InvalidAnswer, Probe, Search
from .subject import Subject
from .violation import FILTERS, SCORES, Check, Violation, having


class _Remembered:
    """A search whose state is kept while the cluster changes, as the equivalence cache keeps it."""

    def __init__(self, subject: Subject, world: World, pod: Pod) -> None:
        self.probe = Probe(subject, world)
        self.pod = pod
        self.search = self.probe.search(pod)
        self.scored = False
        table = self.probe.table
        if self.usable and self.probe.score_form is not None:
            self.scored = self.search.pre_score(self.search.feasible(table.rows()))
        batch = [self.search]
        self.prepared_filter = prepared_for(batch, "prepare_filter") if self.search.goes_on else None
        self.prepared_score = prepared_for(batch, "prepare_score") if self.scored else None
        self._layout = table.layout

    @property
    def usable(self) -> bool:
        """Return whether answers about pods like this one are kept at all."""
        found = self.search
        return (found.goes_on or found.status.is_skip) and found.node_names is None

    @property
    def signed(self) -> bool:
        """Return whether pod_signature is not ``None``; answers about other pods are not kept."""
        return "pod_signature" not in self.probe.hooks or signature_of(self.probe, self.pod) is not None

    def answers(self, names: list[str]) -> dict[str, dict[str, Any]]:
        """Form → node → verdict, or score if the node passes."""
        return _answers(self.search, names, self.scored) | self._prepared(names)

    def _prepared(self, names: list[str]) -> dict[str, dict[str, Any]]:
        table = self.probe.table
        if table.layout != self._layout:
            return {}
        rows = {name: row for name in names if (row := table.live_row(name)) is not None}
        found = {}
        if self.prepared_filter is not None:
            verdicts = {n: statuses_of(self.prepared_filter(row), 1)[0] for n, row in rows.items()}
            checked = self.probe.checked
            found["prepare_filter"] = {name: checked("filter", each) for name, each in verdicts.items()}
        if self.prepared_score is not None:
            # The contract says nothing about scores on nodes that the filter rejects.
            names = self.search.feasible(self.probe.table.rows()).names()
            found["prepare_score"] = {n: self.prepared_score(rows[n])[0] for n in names if n in rows}
        return found


def _answers(search: Search, names: list[str], scored: bool) -> dict[str, dict[str, Any]]:
    """Form → node → answer, for each form of filter, and of score for nodes that pass."""
    table, hooks = search.probe.table, search.probe.hooks
    live = [(name, row) for name in names if (row := table.live_row(name)) is not None]
    rows = Rows.at(table, np.array([row for _, row in live], np.intp))
    found: dict[str, dict[str, Any]] = {}
    if search.goes_on:
        for form in FILTERS:
            if form in hooks:
                found[form] = search.by_name(rows, form)
    if scored:
        passing = search.feasible(rows)
        for form in SCORES:
            if form in hooks:
                found[form] = dict(zip(passing.names(), search.raw_scores(passing, form), strict=True))
    return found


def row_answers_stay(subject: Subject, world: World) -> None:
    """Kept answers stay true, and so does the state that they are computed from."""
    for pod in world.pods[:2]:
        kept = _Remembered(subject, world, pod)
        if not kept.usable or not kept.signed:
            continue
        names = [node.name for node in world.nodes]
        before = kept.answers(names)
        touched: set[str] = set()
        for change in _changes(subject, world, pod):
            touched.update(_nodes_of(change))
            kept.probe.handle.apply(change)
        fresh = kept.probe.search(pod)
        if fresh.outcome != kept.search.outcome:
            raise Violation(
                f"pod {pod.key}: pre_filter says {shown(fresh.status)} after other rows changed, and said "
                f"{shown(kept.search.status)} before"
            )
        names = kept.probe.table.rows().names()
        now = kept.answers(names)
        for form, answers in before.items():
            for name, answer in answers.items():
                if name not in touched and name in now.get(form, {}):
                    _unmoved(pod, form, name, answer, now[form][name], touched)
        feasible = fresh.feasible(kept.probe.table.rows())
        scored = kept.probe.score_form is not None and fresh.pre_score(feasible)
        again = _answers(fresh, names, scored and kept.scored)
        for form, answers in again.items():
            for name, answer in answers.items():
                if name in now.get(form, {}):
                    _unmoved(pod, form, name, now[form][name], answer, touched, again=True)


def _unmoved(
    pod: Pod, form: str, name: str, one: Any, other: Any, touched: set[str], *, again: bool = False
) -> None:
    if one == other:
        return
    if again:
        raise Violation(
            f"pod {pod.key} on node {name}: {form} says {shown(one)} by what was precomputed before nodes "
            f"{sorted(touched)} changed, and {shown(other)} when everything is computed again"
        )
    raise Violation(
        f"pod {pod.key} on node {name}: {form} said {shown(one)}, and says {shown(other)} after nodes "
        f"{sorted(touched)} changed"
    )


def _changes(subject: Subject, world: World, pod: Pod) -> Iterator[Change]:
    """Yield changes that must not affect kept answers: those of kinds that the plugin does not read."""
    reads = subject.reads
    for change in world.changes:
        about = change.subject
        if isinstance(about, Node) and not {"Node", "Image"}.isdisjoint(reads) and _counts_differ(change):
            continue
        waiting = isinstance(about, Pod) and not about.node_name
        if not waiting and about.KIND not in set(reads) - {"Node"}:
            yield change
    changed = {(change.subject.KIND, change.subject.key) for change in world.changes}
    for obj in world.objects:
        if obj.KIND not in reads and (obj.KIND, obj.key) not in changed:
            yield Change(obj, None)
    gone = {change.old.key for change in world.changes if isinstance(change.old, Pod)}
    for other in world.running[:1]:
        if other.key not in gone:
            yield Change(other, None)
    yield Change(None, placed(pod, "joined", world.nodes[world.choice(0) % len(world.nodes)].name))


def _counts_differ(change: Change) -> bool:
    """Return whether what nodes have in common may be different: their number, and who has which images."""
    old, new = change.old, change.new
    return old is None or new is None or old.status.images != new.status.images


def _nodes_of(change: Change) -> set[str]:
    found = set()
    for obj in (change.old, change.new):
        if isinstance(obj, Node):
            found.add(obj.name)
        elif isinstance(obj, Pod) and obj.node_name:
            found.add(obj.node_name)
    return found


def node_answers_stay(subject: Subject, world: World) -> None:
    """Pods that come and go change no verdict and no score."""

    def changes() -> Iterator[Change]:
        for other in world.running:
            yield Change(other, None)
        for i, node in enumerate(world.nodes):
            yield Change(None, placed(world.pods[i % len(world.pods)], f"joined-{i}", node.name))

    _unmoved_by(subject, world, changes, "pods came to the node and left it")


def resource_answers_stay(subject: Subject, world: World) -> None:
    """Nodes and pods with the same amounts, otherwise plain, get the same verdicts and scores."""

    def changes() -> Iterator[Change]:
        for other in world.running:
            yield Change(other, None)
        for node in world.nodes:
            yield Change(
                node, evolve(node, metadata=ObjectMeta(name=node.name, uid=node.uid), spec=NodeSpec())
            )
        for i, other in enumerate(world.running):
            yield Change(None, _plain(other, f"plain-{i}"))
        for i, node in enumerate(world.nodes):
            if node.allocatable.get("pods", 0) > _pods_on(node, world) + 1:
                yield Change(None, _asking_nothing(f"idle-{i}", node))

    _unmoved_by(subject, world, changes, "nodes and pods lost everything but their amounts")


def _pods_on(node: Node, world: World) -> int:
    return sum(1 for pod in world.running if pod.node_name == node.name)


def _asking_nothing(name: str, node: Node) -> Pod:
    """A pod that changes no amount of the node, as long as another one may come."""
    return Pod(ObjectMeta(name=name, namespace="plain", uid=name), PodSpec(node_name=node.name))


def _plain(pod: Pod, name: str) -> Pod:
    """A pod that asks for as much on the same node and has nothing else in common."""
    spec = pod.spec
    asking = PodSpec(
        node_name=spec.node_name,
        containers=tuple([evolve(container, ports=()) for container in spec.containers]),
        init_containers=tuple([evolve(container, ports=()) for container in spec.init_containers]),
        overhead=spec.overhead,
        resources=spec.resources,
    )
    return Pod(ObjectMeta(name=name, namespace="plain", uid=name), asking, pod.status)


def _unmoved_by(subject: Subject, world: World, changes: Callable[[], Iterator[Change]], what: str) -> None:
    """No answer about any node is another one after *changes*."""
    for pod in world.pods[:2]:
        kept = _Remembered(subject, world, pod)
        if not kept.usable or not kept.signed:
            continue
        names = [node.name for node in world.nodes]
        before = kept.answers(names)
        for change in changes():
            kept.probe.handle.apply(change)
        now = kept.answers(names)
        for form, answers in before.items():
            for name, answer in answers.items():
                other_answer = now[form].get(name, answer)
                if answer != other_answer:
                    raise Violation(
                        f"pod {pod.key} on node {name}: {form} said {shown(answer)}, and says "
                        f"{shown(other_answer)} after {what}"
                    )


# ---- pod_signature -----------------------------------------------------------------------------------------


def pod_signature(subject: Subject, world: World) -> None:
    """Pods with equal signatures get equal answers."""
    for pod, other, difference in _alike(world):
        probe = Probe(subject, world)
        signed = signature_of(probe, pod)
        if signature_of(probe, pod) != signed:
            raise Violation(f"pod {pod.key} is signed {signed!r}, and differently the next time")
        if signed is None or signature_of(probe, other) != signed:
            continue
        one, two = (_all_answers(Probe(subject, world), each) for each in (pod, other))
        for what, answer in one.items():
            if answer != two[what]:
                raise Violation(
                    f"pod {pod.key} and the same with {difference} are both signed {signed!r:.300}, "
                    f"but {what} is {_listed(answer)} for one and {_listed(two[what])} for the other"
                )


def _all_answers(probe: Probe, pod: Pod) -> dict[str, Any]:
    _, outcome, verdicts, scores = probe.answers(pod)
    return {"the answer of pre_filter": outcome, "the verdict": verdicts, "the score": scores}


def _listed(answer: Any) -> str:
    if isinstance(answer, dict):
        return "{" + ", ".join(f"{name}: {shown(each)}" for name, each in answer.items()) + "}"
    return shown(answer[0]) if isinstance(answer, tuple) else shown(answer)


def signature_of(probe: Probe, pod: Pod) -> Hashable:
    """Return the signature of *pod* by the plugin; :class:`InvalidAnswer` if that cannot be hashed."""
    signed = probe.call("pod_signature", pod)
    try:
        hash(signed)
    except TypeError as error:
        raise InvalidAnswer("pod_signature", signed, f"a hashable value ({error})") from error
    return signed  # type: ignore[no-any-return]  # anything that can be hashed


_SPEC_FIELDS = tuple(
    a.name for a in fields(PodSpec) if a.init and a.name not in ("node_name", "scheduler_name")
)


def _alike(world: World) -> Iterator[tuple[Pod, Pod, str]]:
    """Pairs of pods of which the second takes over one thing from another pod."""
    for i, pod in enumerate(world.pods):
        other = world.pods[(i + 1) % len(world.pods)]
        meta, theirs = pod.metadata, other.metadata
        yield pod, Pod(evolve(meta, name="twin", uid="twin"), pod.spec), "another name and uid"
        for name in ("labels", "annotations", "namespace", "owner_references"):
            if getattr(meta, name) != getattr(theirs, name):
                changed = evolve(meta, **{name: getattr(theirs, name)})
                yield pod, Pod(changed, _afresh(pod.spec)), f"{name} {getattr(theirs, name)!r}"
        for name in _SPEC_FIELDS:
            if getattr(pod.spec, name) != getattr(other.spec, name):
                spec = evolve(pod.spec, **{name: getattr(other.spec, name)})
                yield pod, Pod(meta, spec), f"other {name}"


def _afresh(spec: PodSpec) -> PodSpec:
    """An equal spec with a memo of its own."""
    return attrs.evolve(spec)


CHECKS = (
    Check(
        "depends_on_row_is_true",
        of_class("Depends.ROW"),
        row_answers_stay,
        lambda subject: subject.depends_on is not Depends.CLUSTER,
    ),
    Check(
        "depends_on_node_object_is_true",
        of_class("Depends.NODE_OBJECT"),
        node_answers_stay,
        lambda subject: subject.depends_on is Depends.NODE_OBJECT,
    ),
    Check(
        "depends_on_row_resources_is_true",
        of_class("Depends.ROW_RESOURCES"),
        resource_answers_stay,
        lambda subject: subject.depends_on is Depends.ROW_RESOURCES,
    ),
    Check(
        "pod_signature_is_true",
        of_hook(
            "pod_signature",
            "Two pods with equal signatures must get equal verdicts and scores on every node.",
        ),
        pod_signature,
        having("pod_signature"),
    ),
)
