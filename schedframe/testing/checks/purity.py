"""filter and score depend on what they are given, and change nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...api import Pod
from ..worlds.world import World
from .contract import of_class, of_hook
from .fingerprint import columns, contents
from .form_agreement import shown
from .probe import PASSES, Probe, Search, rows_of
from .subject import Subject
from .violation import FILTERS, SCORES, Check, Violation, having_any

Answers = dict[str, Any]


def filter_purity(subject: Subject, world: World) -> None:
    """A verdict is the same twice, in any order of nodes, for a copy of the node, and amid other pods."""
    for pod in world.pods[:2]:
        search = Probe(subject, world).search(pod)
        if not search.goes_on:
            continue
        for form in (form for form in FILTERS if form in subject.hooks):
            _check_repeated(search, form, search.verdicts)
        if "filter" in subject.hooks:
            for info in search.probe.table.rows():
                _same(pod, info.name, search.verdict(info), search.verdict(info.clone()), "of a copy of it")
            _check_clone(search)
    _amid_others(subject, world, _verdicts_of)


def score_purity(subject: Subject, world: World) -> None:
    """A score is the same twice, in any order of nodes, and amid other pods."""
    for pod in world.pods[:2]:
        search = Probe(subject, world).search(pod)
        if not (search.goes_on or search.status.is_skip) or not search.pre_score(search.probe.table.rows()):
            continue
        for form in (form for form in SCORES if form in subject.hooks):
            _check_repeated(search, form, search.raw_scores)
    _amid_others(subject, world, _scores_of)


def _check_repeated(search: Search, form: str, ask: Callable[..., Sequence[Any]]) -> None:
    table = search.probe.table
    rows = table.rows()
    backwards = rows_of(table, rows.positions.tolist()[::-1])
    first = dict(zip(rows.names(), ask(rows, form), strict=True))
    second = dict(zip(backwards.names(), ask(backwards, form), strict=True))
    for name, answer in first.items():
        _same(search.pod, name, answer, second[name], "asked again, in another order of nodes", form)
    third = dict(zip(rows.names(), ask(rows, form), strict=True))
    for name, answer in first.items():
        _same(search.pod, name, answer, third[name], "asked a third time", form)


def _check_clone(search: Search) -> None:
    """A dry run looks at a clone of the cycle state."""
    clone = search.state.clone()
    for info in search.probe.table.rows():
        one, other = search.verdict(info), search.verdict(info, clone)
        _same(search.pod, info.name, one, other, "with a clone of the cycle state")


def _amid_others(subject: Subject, world: World, ask: Callable[[Search], Answers]) -> None:
    """Results of pre_filter and pre_score belong into the cycle state, not into the plugin."""
    if len(world.pods) < 2:
        return
    first, second = world.pods[:2]
    alone = ask(Probe(subject, world).search(first))
    probe = Probe(subject, world)
    search = probe.search(first)
    ask(search)
    ask(probe.search(second))
    for name, answer in ask(search).items():
        if name in alone:
            _same(first, name, alone[name], answer, f"after pod {second.key} was looked at in between")


def _verdicts_of(search: Search) -> Answers:
    return search.by_name(search.probe.table.rows()) if search.goes_on else {}


def _scores_of(search: Search) -> Answers:
    rows = search.probe.table.rows()
    if not (search.goes_on or search.status.is_skip):
        return {}
    if not search.state.skip_score_plugins:
        if not search.pre_score(rows):
            return {}
        search.state.skip_score_plugins.add("")  # pre_score runs once in a cycle
    return dict(zip(rows.names(), search.raw_scores(rows), strict=True))


def _same(pod: Pod, name: str, one: Any, other: Any, how: str, form: str = "") -> None:
    if one != other:
        by = f" by {form}" if form else ""
        raise Violation(f"pod {pod.key} on node {name}{by}: {shown(one)}, and {shown(other)} {how}")


def nothing_changes(subject: Subject, world: World) -> None:
    """No hook of the scheduling cycle changes a pod, a node, a node info or a column."""
    probe = Probe(subject, world)
    objects: dict[str, Any] = {
        **{f"node {node.name}": node for node in world.nodes},
        **{f"running pod {pod.key}": pod for pod in world.running},
        **{f"pod {pod.key}": pod for pod in world.pods},
        **{f"{obj.KIND} {obj.key}": obj for obj in world.objects},
    }
    before = {name: contents(obj) for name, obj in objects.items()}
    table = columns(probe.table)
    for pod in world.pods[:1]:
        for hooks in _walk(probe, pod):
            for name, obj in objects.items():
                if contents(obj) != before[name]:
                    raise Violation(f"{hooks} changed {name}")
            if columns(probe.table) != table:
                raise Violation(f"{hooks}, asked about pod {pod.key}, changed the node table or a node info")


def _walk(probe: Probe, pod: Pod) -> Iterator[str]:
    """Call the hooks up to score, telling after each step which were called."""
    rows = probe.table.rows()
    probe.status("pre_enqueue", pod)
    if "pod_signature" in probe.hooks:
        probe.call("pod_signature", pod)
    yield "pre_enqueue or pod_signature"
    search = probe.search(pod)
    yield "pre_filter"
    if search.goes_on:
        for form in (form for form in FILTERS if form in probe.hooks):
            search.verdicts(rows, form)
            yield form
    if not (search.goes_on or search.status.is_skip):
        return
    if search.pre_score(rows):
        for form in (form for form in SCORES if form in probe.hooks):
            search.raw_scores(rows, form)
            yield form
        if probe.score_form is not None:
            search.scores(rows)
    yield "pre_score or normalize_scores"


def pre_filter_nodes(subject: Subject, world: World) -> None:
    """Nodes that pre_filter leaves out are rejected by filter too; after Skip, filter has no objection."""
    for pod in world.pods:
        probe = Probe(subject, world)
        search = probe.search(pod)
        form = probe.filter_form
        if form is None:
            continue
        rows = probe.table.rows()
        if search.node_names is not None:
            left_out = np.array([name not in search.node_names for name in rows.names()], np.bool_)
            for name, status in search.by_name(rows.select(left_out)).items():
                if status == PASSES:
                    raise Violation(
                        f"pod {pod.key}: pre_filter names only {sorted(search.node_names)}, but {form} "
                        f"accepts node {name}"
                    )


def skip_means_no_objection(subject: Subject, world: World) -> None:
    """pre_filter answers Skip only for pods that filter rejects nowhere."""
    from .probe import Raised

    for pod in world.pods:
        probe = Probe(subject, world)
        search = probe.search(pod)
        if probe.filter_form is None or not search.status.is_skip:
            continue
        try:
            verdicts = search.by_name(probe.table.rows())
        except Raised:
            return  # it relies on what pre_filter did not write, and rightly so
        for name, status in verdicts.items():
            if status.is_rejected:
                raise Violation(
                    f"pod {pod.key}: pre_filter says Skip, and {probe.filter_form} would reject node {name}: "
                    f"{shown(status)}"
                )


CHECKS = (
    Check(
        "nothing_is_changed",
        of_class("common"),
        nothing_changes,
        having_any(*FILTERS, *SCORES, "pre_filter", "pre_score", "pre_enqueue", "pod_signature"),
    ),
    Check(
        "filter_is_pure",
        of_hook("filter", "Pure in (state, pod, node_info)."),
        filter_purity,
        having_any(*FILTERS),
    ),
    Check(
        "score_is_pure",
        of_hook("score", "Pure in (state, pod, node_info)."),
        score_purity,
        having_any(*SCORES),
    ),
    Check(
        "pre_filter_nodes_are_true",
        of_hook("pre_filter", "name the only candidates"),
        pre_filter_nodes,
        having_any("pre_filter"),
    ),
    Check(
        "skip_is_true",
        of_hook("pre_filter", "``Status.skip()`` leaves the plugin's filter out"),
        skip_means_no_objection,
        having_any("pre_filter"),
    ),
)
