"""Which calls of plugins are counted and measured; else nothing is between a plan and its plugins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe import (
    CycleState,
    InMemoryCluster,
    NodeInfo,
    Pod,
    PreFilterResult,
    Rows,
    RowVerdicts,
    Scheduler,
    Status,
    hookimpl,
)
from schedframe.cycle import SchedulerObserver, Tuning
from schedframe.cycle.latency import BATCH, Histograms
from schedframe.cycle.metering import counts as metering
from schedframe.cycle.metering.calls import POINT_OF_HOOK, SAMPLED, PluginCalls
from schedframe.cycle.metering.catalogue import POINT_SECONDS
from schedframe.cycle.metering.counts import EVENTS_FOR_EACH_MEASURED, FOLDED
from schedframe.cycle.sampled_calls import SampledCycles
from schedframe.framework.plan import compile_plan
from schedframe.framework.points import HOOK_ARGUMENTS, HOOKS_OF_POINT
from schedframe.metrics import SchedulerMetrics
from schedframe.testing import node, pod
from tests.meters import counts_of

DEFAULT = "default-scheduler"
NODES = 6
CALLED = Counter[tuple[str, str, str]]()
"""Calls that did not skip, by plugin, extension point and profile."""


def counted(plugin: object, point: str, answer: Any) -> Any:
    """Count a call with *answer*, and give the answer."""
    if isinstance(answer, str):
        CALLED[type(plugin).__name__, point, DEFAULT] += 1
        raise RuntimeError("as the label says")
    if not (isinstance(answer, Status) and answer.is_skip):
        CALLED[type(plugin).__name__, point, DEFAULT] += 1
    return answer


def says(pod: Pod, hook: str) -> Any:
    """Return the answer of *hook* that the labels of *pod* name; ``None`` without such a label."""
    return {
        "skip": Status.skip(),
        "reject": Status.unschedulable("by label"),
        "for-good": Status.unresolvable("by label"),
        "none": PreFilterResult(frozenset()),
        "raise": "raise",
    }.get(pod.labels.get(hook, ""))


class ByNode:
    """Filters and scores node by node."""

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod, nodes: Rows) -> Any:
        return counted(self, "PreFilter", says(pod, "pre_filter"))

    @hookimpl
    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Any:
        rejected = node_info.name == pod.labels.get("not")
        return counted(self, "Filter", Status.unschedulable("not here") if rejected else None)

    @hookimpl
    def pre_score(self, state: CycleState, pod: Pod, nodes: Rows) -> Any:
        return counted(self, "PreScore", says(pod, "pre_score"))

    @hookimpl
    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Any:
        return counted(self, "Score", len(node_info.pods))


class ByRows(ByNode):
    """Filters and scores all rows at once."""

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod, nodes: Rows) -> Any:
        return counted(self, "PreFilter", Status.skip() if "quiet" in pod.labels else None)

    @hookimpl
    def filter_rows(self, state: CycleState, pod: Pod, rows: Rows) -> RowVerdicts | None:
        counted(self, "Filter", None)
        return None

    @hookimpl
    def score_rows(self, state: CycleState, pod: Pod, rows: Rows) -> Any:
        return counted(self, "Score", np.zeros(len(rows), np.int64))


class OnlyRows(ByRows):
    """Has no form for single nodes."""

    filter = score = None  # type: ignore[assignment]  # no hooks any more


def world(labels: Sequence[dict[str, str]], **options: Any) -> tuple[Scheduler, SchedulerMetrics]:
    """A scheduler with both plugins that tried a pod with each of *labels* once."""
    CALLED.clear()
    nodes = [node(f"n{i}").allocatable(cpu="64", pods=500) for i in range(NODES)]
    pods = [pod(f"p{i:03}").labels(**each) for i, each in enumerate(labels)]
    metrics = SchedulerMetrics()
    scheduler = Scheduler(
        InMemoryCluster([*nodes, *pods]),
        seed=0,
        plugins=[ByNode, OnlyRows],
        **{**options, "observers": [metrics, *options.get("observers", ())]},
    )
    scheduler.run_until_idle()
    return scheduler, metrics


def evaluations(metrics: SchedulerMetrics) -> dict[tuple[str, ...], Any]:
    """``plugin_evaluation_total`` of the plugins here."""
    (family,) = [f for f in metrics.families() if f.metric.name == "scheduler_plugin_evaluation_total"]
    return {labels: count for labels, count in family.samples.items() if labels[0] in ("ByNode", "OnlyRows")}


LABELS = st.fixed_dictionaries(
    {},
    optional={
        "pre_filter": st.sampled_from(["skip", "reject", "for-good", "none", "raise"]),
        "pre_score": st.sampled_from(["skip", "raise"]),
        "quiet": st.just("1"),
        "not": st.sampled_from([f"n{i}" for i in range(NODES)]),
    },
)


@pytest.mark.parametrize("options", [{}, {"tuning": Tuning(remember=0)}, {"score_all_nodes": False}])
@given(labels=st.lists(LABELS, min_size=1, max_size=30))
def test_all_calls_that_do_not_skip_are_counted(
    options: dict[str, Any], labels: list[dict[str, str]]
) -> None:
    scheduler, metrics = world(labels, **options)
    assert evaluations(metrics) == CALLED
    assert evaluations(metrics) == CALLED, "to read the counts changes none"
    scheduler.close()
    assert evaluations(metrics) == CALLED


class Watches(SchedulerObserver):
    """An observer, which sees each call."""

    def __init__(self) -> None:
        self.seen = Counter[tuple[str, str]]()

    def plugin_called(self, profile: str, hook: str, plugin: str, seconds: float, result: Any) -> None:
        self.seen[plugin, hook] += 1


def test_an_observer_sees_each_call_that_is_counted() -> None:
    observer = Watches()
    _, metrics = world([{}] * 30, observers=[observer])
    assert evaluations(metrics) == CALLED
    assert observer.seen["ByNode", "filter"] == CALLED["ByNode", "Filter", DEFAULT]
    assert observer.seen["ByNode", "score"] == CALLED["ByNode", "Score", DEFAULT] > 0


def test_a_reload_keeps_what_was_counted() -> None:
    scheduler, metrics = world([{}] * 3 + [{"pre_filter": "skip"}])
    scheduler.reload({"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"})
    scheduler.core.cluster.create(pod("later").build())
    scheduler.run_until_idle()
    assert evaluations(metrics) == CALLED


def test_the_first_event_is_measured_and_then_one_after_each_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metering, "random_gap", lambda mean: 3)
    scheduler, _ = world([])
    meter, cluster = counts_of(scheduler), scheduler.core.cluster
    assert isinstance(cluster, InMemoryCluster)
    for number in range(8):
        cluster.create(pod(f"p{number}"))
        scheduler.sync()
        events = len(cluster.list("Node")) + number + 1
        measured = sum(durations.distribution().count for durations in meter.events.values())
        assert measured == (events + 2) // 3
    scheduler.close()


def test_each_hook_is_measured_and_none_twice() -> None:
    cycles = SampledCycles(SAMPLED)
    calls = PluginCalls(cycles, Histograms(POINT_SECONDS.bounds))
    functions = {
        hook: hookimpl(eval(f"lambda {', '.join(('self', *HOOK_ARGUMENTS[hook]))}: None"))
        for hook in POINT_OF_HOOK
    }
    sort = type("Sort", (), {"queue_sort_key": hookimpl(lambda self, pod_info: 0)})()
    plugins = {"All": type("All", (), functions)(), "Sort": sort}
    enabled = {point: [("All", 1)] for point in HOOKS_OF_POINT if point != "queueSort"}
    plan = compile_plan(plugins, {**enabled, "queueSort": [("Sort", 0)]}, guards=[calls])
    holders: dict[str, Callable[[], Any]] = {
        "pod_signature": lambda: dict(plan.signatures)["All"],
        "pre_bind_pre_flight": lambda: plan.pre_flight["All"].call,
        "normalize_scores": lambda: plan.score[0].normalize,
        **{hook: partial(getattr, plan.pod_hooks[0], hook) for hook in ("add_pod", "remove_pod")},
        **{hook: partial(getattr, plan.filter[0], hook) for hook in functions if hook.startswith("filter")},
        **{hook: partial(getattr, plan.score[0], hook) for hook in functions if hook.startswith("score")},
    }
    for measured in (False, True):
        cycles.now = measured
        for hook in functions:
            call = holders[hook]() if hook in holders else getattr(plan, hook)[0].call
            call(*range(len(HOOK_ARGUMENTS[hook])))
    durations = {point: each.durations["Success"] for (_, point), each in calls.series.items()}
    found = {point: each.distribution().count for point, each in durations.items()}
    assert found == Counter(POINT_OF_HOOK[hook] for hook in functions)
    runs = {point: each.distribution().count for (point, _), each in calls.points.items()}
    assert runs == {"PreBind": 2, "Bind": 2}


def test_one_cycle_in_ten_is_measured() -> None:
    cycles, measured = SampledCycles(SAMPLED), 0
    for _ in range(200_000):
        cycles.begin()
        measured += cycles.now
    assert 19_000 < measured < 21_000


def test_of_calls_for_each_node_one_cycle_in_a_hundred_is_measured() -> None:
    cycles = SampledCycles(SAMPLED)
    calls = PluginCalls(cycles, Histograms(POINT_SECONDS.bounds))
    plain: Callable[..., None] = lambda *_: None  # noqa: E731 - compared below
    chosen = calls.in_loops(plain, "filter", "Own")
    assert [chosen(5) is plain for _ in range(100)] == [True] * 100, "no cycle is measured"
    cycles.now = True
    measured = [each for each in (chosen(5) for _ in range(1000)) if each is not plain]
    assert 50 < len(measured) < 170
    for _ in range(5):
        measured[0](None, None, None)
    series = calls.of("Own", "Filter")
    assert series.evaluations == 1100 * 5
    assert series.durations["Success"].distribution().count == 5


def test_durations_of_bound_pods_do_not_pile_up_until_they_are_read() -> None:
    pods = [pod(f"p{i}").requests(cpu="1m") for i in range(5000)]
    cluster = InMemoryCluster([node("n").allocatable(cpu="8", pods=6000), *pods])
    with Scheduler(cluster, seed=0, observers=[SchedulerMetrics()]) as scheduler:
        scheduler.run_until_idle()
        counts = counts_of(scheduler).profiles[DEFAULT]
        binds = counts.points["Bind", "Success"]
        kept = [counts.scheduled, counts.search, counts.pod_seconds[1], binds]
        waiting = [len(each._new) for each in kept]
    assert max(waiting) < BATCH + FOLDED * 2 * EVENTS_FOR_EACH_MEASURED
    assert [each.distribution().count for each in kept] == [5000] * 4
