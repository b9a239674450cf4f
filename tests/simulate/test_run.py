"""Runs of traces: the order of an instant, what is lost, when a run ends; against a naive simulator."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe import CycleState, InputError, NodeInfo, Pod, Simulation, hookimpl
from schedframe.cycle import Tuning
from schedframe.framework import Depends
from schedframe.runs import Run, RunEvent
from schedframe.simulate.driver import Driver
from schedframe.simulate.timed import EPOCH, TimedCluster
from schedframe.testing import node, pod
from schedframe.traces import FOREVER, NodeEvent, NodeTemplate, PodPart, PodTemplate, Trace, TraceBuilder
from tests.profiles import many

from .naive import Naive

SECOND = 1_000_000
STEP = 20 * SECOND
"""More than a back-off: pods that wait are ready when anything happens."""


class FirstNode:
    """Prefers the nodes in the order of their numbers, so that no tie is drawn."""

    depends_on: ClassVar = Depends.NODE_OBJECT

    def __init__(self, args: object, handle: object) -> None:
        pass

    @hookimpl
    def pod_signature(self, pod: Pod) -> tuple[()]:
        return ()

    @hookimpl
    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> int:
        return 100 - int(node_info.node.name.removeprefix("n"))


CONFIG: dict[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "podMaxBackoffSeconds": 1,
    "profiles": [
        {
            "plugins": {
                "multiPoint": {
                    "disabled": [{"name": "*"}],
                    "enabled": [
                        {"name": "PrioritySort"},
                        {"name": "NodeResourcesFit", "weight": 0},
                        {"name": "DefaultBinder"},
                    ],
                },
                "score": {"disabled": [{"name": "NodeResourcesFit"}]},
            }
        }
    ],
}


WORLD = Simulation(config=CONFIG, plugins=[FirstNode])
DEFAULT = Simulation()
"""Runs leave them as they are."""


def make(
    pods: list[tuple[int, int, dict[str, int], int]],
    nodes: list[dict[str, int]],
    events: list[tuple[int, int, NodeEvent]] = [],  # noqa: B006  # is not changed
) -> Trace:
    """Return a trace of (arrival, run time, requests, priority); times of all are in steps."""
    builder = TraceBuilder()
    for index, room in enumerate(nodes):
        builder.add_nodes([f"n{index}"], NodeTemplate(room))
    for time, number, event in events:
        builder.node_event(time * STEP, number, event)
    ids = [
        builder.template(PodTemplate(r, priority), index) for index, (_, _, r, priority) in enumerate(pods)
    ]
    part = PodPart(
        np.array([each[0] * STEP for each in pods], np.int64),
        np.array([FOREVER if each[1] < 0 else each[1] * STEP for each in pods], np.int64),
        {},
        template=np.array(ids, np.int32),
    )
    builder.add(part)
    return builder.build()


def happened(run: Run) -> Counter[tuple[int, RunEvent, int, int]]:
    names = ("time", "event", "pod", "node")
    rows = zip(*(run.events[name].tolist() for name in names), strict=True)
    return Counter((time, RunEvent(event), pod, node) for time, event, pod, node in rows)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    count = draw(st.integers(1, 10))
    priorities = draw(st.permutations(range(count)))
    request = st.fixed_dictionaries(
        {"cpu": st.integers(1, 8).map(lambda n: n * 500)}, optional={"gpu/x": st.integers(1, 2)}
    )
    pods = [
        (draw(st.integers(0, 4)), draw(st.integers(-1, 3)), draw(request), priority)
        for priority in priorities
    ]
    nodes = draw(
        st.lists(st.sampled_from([{"cpu": 4000}, {"cpu": 2000, "gpu/x": 2}]), min_size=1, max_size=3)
    )
    events = []
    for number in range(len(nodes)):
        time = 0
        for kind in draw(st.lists(st.sampled_from([NodeEvent.FAIL, NodeEvent.DRAIN]), max_size=2)):
            time += draw(st.integers(1, 3))
            events.append((time, number, kind))
            time += draw(st.integers(1, 3))
            events.append((time, number, NodeEvent.REPAIRED))
    return make(pods, nodes, events)


@many
@given(traces(), st.booleans())
def test_a_naive_simulator_agrees(trace: Trace, drops: bool) -> None:
    run = play(trace, on_reject="drop" if drops else "wait")
    run.check_invariants()
    assert happened(run) == Counter(Naive(trace, drops).run())


# ---- one rule after another ------------------------------------------------------------------------------

ONE = [{"cpu": 1000}]


def starts(run: Run) -> list[tuple[int, int]]:
    """Return time in steps and pod of each start."""
    rows = zip(
        run.events["time"].tolist(), run.events["event"].tolist(), run.events["pod"].tolist(), strict=True
    )
    return [(time // STEP, pod) for time, event, pod in rows if event == RunEvent.STARTED]


def play(trace: Trace, **options: Any) -> Run:
    return WORLD.run(trace, **options)


def test_a_pod_without_run_time_takes_room_for_its_instant() -> None:
    full = {"cpu": 1000}
    run = play(make([(0, 0, full, 2), (0, 1, full, 1), (0, 0, full, 0)], ONE))
    assert starts(run) == [(0, 0), (0, 1), (1, 2)]
    assert run.pods["end"].tolist() == [0, STEP, STEP]


def test_a_node_that_fails_at_the_end_of_a_pod_evicts_it() -> None:
    run = play(make([(0, 2, {"cpu": 1000}, 0)], ONE, [(2, 0, NodeEvent.FAIL), (3, 0, NodeEvent.REPAIRED)]))
    assert starts(run) == [(0, 0), (3, 0)]
    assert run.pods["lost"].tolist() == [2 * STEP]
    assert run.summary["lost"] == 1
    assert run.end == 5 * STEP


def test_room_of_an_instant_is_used_in_it() -> None:
    run = play(make([(0, 1, {"cpu": 1000}, 0), (1, 1, {"cpu": 1000}, 0)], ONE))
    assert starts(run) == [(0, 0), (1, 1)]
    assert run.summary["wait_max"] == 0


def test_a_pod_that_never_fits_ends_no_run() -> None:
    run = play(make([(0, 3, {"cpu": 1000}, 0), (1, 1, {"cpu": 9000}, 0)], ONE))
    assert run.end == 3 * STEP
    assert run.pods.decoded("state") == ["ended", "waiting"]
    assert run.pods.decoded("waited_for") == [None, "NodeResourcesFit"]
    assert run.summary["wait_max"] == 2 * STEP / SECOND
    assert run.summary["waiting"] == 1


def test_endless_pods_end_no_run() -> None:
    run = play(make([(0, -1, {"cpu": 1000}, 0), (2, 1, {"cpu": 1000}, 0)], ONE))
    assert run.end == 2 * STEP
    assert run.pods.decoded("state") == ["running", "waiting"]


def test_a_run_can_be_cut() -> None:
    run = play(make([(0, 5, {"cpu": 1000}, 0), (9, 1, {"cpu": 1000}, 0)], ONE), until=3 * STEP / SECOND)
    assert run.end == 3 * STEP
    assert run.pods.decoded("state") == ["running"]


def test_pods_that_fit_nowhere_are_dropped() -> None:
    run = play(
        make([(0, 5, {"cpu": 1000}, 0), (1, 1, {"cpu": 1000}, 0), (5, 1, {"cpu": 1000}, 0)], ONE),
        on_reject="drop",
    )
    assert run.pods.decoded("state") == ["ended", "rejected", "ended"]
    assert run.pods["wait"].tolist() == [0, 0, 0]


def test_pods_of_lower_priority_are_preempted_and_come_back() -> None:
    trace = make([(0, 4, {"cpu": 1000}, 0), (1, 2, {"cpu": 1000}, 9)], ONE)
    with Simulation() as world:
        run = world.run(trace)
    assert starts(run) == [(0, 0), (1, 1), (3, 0)]
    assert run.summary["preempted"] == 1
    assert run.pods["lost"].tolist() == [STEP, 0]
    assert run.pods["end"].tolist() == [7 * STEP, 3 * STEP]


def test_a_group_starts_as_a_whole() -> None:
    builder = TraceBuilder()
    builder.add_nodes(["n0"], NodeTemplate({"cpu": 2000}))
    group = builder.new_groups(np.array([2]))
    submit, run_time = np.array([0, SECOND, SECOND]), np.array([STEP] * 3)
    part = PodPart(
        submit, run_time, {"cpu": np.array([1000] * 3)}, group=np.array([-1, group[0], group[0]], np.int32)
    )
    builder.add(part)
    trace = builder.build()
    gates = {"GenericWorkload": True, "GangScheduling": True}
    with Simulation(feature_gates=gates) as world:
        run = world.run(trace)
    assert run.pods["start"].tolist() == [0, STEP, STEP]
    with Simulation() as world:
        with pytest.raises(InputError, match=r"trace: it has pods that start together; .*without_groups"):
            world.run(trace)
        assert world.run(trace.without_groups()).pods["start"].tolist() == [0, SECOND, STEP]


def test_the_nodes_of_a_simulation_are_used_and_it_stays_as_it_is() -> None:
    trace = make([(0, 1, {"cpu": 1000}, 0)], [])
    with Simulation([node("mine").allocatable(cpu="1", pods=9)]) as world:
        run = world.run(trace)
        assert world.cluster.list("Pod") == []
    assert run.pods.decoded("node") == ["mine"]
    assert run.nodes["up"].tolist() == [STEP]
    assert run.summary["utilisation[cpu]"] == 1.0


def test_daemon_pods_take_room_on_nodes_that_join() -> None:
    daemon = {
        "kind": "DaemonSet",
        "apiVersion": "apps/v1",
        "metadata": {"name": "agent"},
        "spec": {
            "selector": {"matchLabels": {"app": "agent"}},
            "template": {
                "metadata": {"labels": {"app": "agent"}},
                "spec": {
                    "containers": [{"name": "c", "image": "a", "resources": {"requests": {"cpu": "500m"}}}]
                },
            },
        },
    }
    trace = make([(1, 1, {"cpu": 600}, 0), (1, 1, {"cpu": 500}, 0)], ONE)
    with Simulation([daemon]) as world:
        run = world.run(trace)
    assert run.pods.decoded("state") == ["waiting", "ended"]


# ---- equal runs ------------------------------------------------------------------------------------------


@st.composite
def crowded(draw: st.DrawFn) -> Trace:
    """Draw a trace whose pods do not fit at once, at any microsecond, with ties and equal pods."""
    time = st.sampled_from([0, 1, SECOND, 3 * SECOND + 7, 11 * SECOND])
    count = draw(st.integers(1, 12))
    builder = TraceBuilder()
    for number in range(draw(st.integers(1, 3))):
        builder.add_nodes([f"n{number}"], NodeTemplate({"cpu": 2000}))
    for number in range(draw(st.integers(0, 1))):
        builder.node_event(draw(time), number, NodeEvent.FAIL)
        builder.node_event(15 * SECOND, number, NodeEvent.REPAIRED)
    part = PodPart(
        np.array([draw(time) for _ in range(count)]),
        np.array([draw(st.sampled_from([0, 1, SECOND, 40 * SECOND])) for _ in range(count)]),
        {"cpu": np.array([draw(st.sampled_from([600, 1000, 2000])) for _ in range(count)])},
        priority=np.array([draw(st.sampled_from([0, 0, 5])) for _ in range(count)]),
    )
    builder.add(part)
    return builder.build()


@given(crowded())
def test_waiting_together_and_the_cache_change_no_run(trace: Trace) -> None:
    digests = set()
    digests.add(DEFAULT.run(trace).digest())
    for changes in ({"tuning": Tuning(wait_together=False)}, {"tuning": Tuning(remember=0)}):
        with TimedCluster(DEFAULT, EPOCH, **changes) as copy:  # type: ignore[misc]  # keywords of a scheduler
            digests.add(Driver(trace, copy, EPOCH, drops=False).run(None).digest())
    assert len(digests) == 1


def test_pods_that_wait_in_the_simulation_are_placed_too() -> None:
    waiting = pod("first").requests(cpu="1").build()
    with Simulation([waiting]) as world:
        run = world.run(make([(0, 1, {"cpu": 1000}, 0)], ONE))
    assert run.pods.decoded("state") == ["waiting"]
    assert len(run.trace) == 1


def test_an_event_of_a_node_that_is_down_changes_nothing() -> None:
    events = [
        (1, 0, NodeEvent.FAIL),
        (2, 0, NodeEvent.DRAIN),
        (3, 0, NodeEvent.REPAIRED),
        (4, 0, NodeEvent.JOIN),
    ]
    run = play(make([(0, -1, {"cpu": 1000}, 0)], ONE, events))
    assert run.nodes["up"].tolist() == [STEP]
    assert starts(run) == [(0, 0), (3, 0)]
