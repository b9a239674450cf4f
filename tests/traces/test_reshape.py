"""Other traces of a trace: windows, rates, copies, inflation, order. And what stays equal."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe import InputError
from schedframe.traces import FOREVER, Draws, NodeEvent, NodeTemplate, PodPart, Trace, TraceBuilder

SECOND = 1_000_000


def make(rows: list[tuple[int, int, int, int]], nodes: int = 2) -> Trace:
    """Return a trace of (submit, run, cpu, group); a negative group is none."""
    builder = TraceBuilder()
    table = np.array(rows, np.int64).reshape(-1, 4)
    group = table[:, 3].astype(np.int32)
    builder.new_groups(
        np.array([int((group == each).sum()) for each in range(int(group.max(initial=-1)) + 1)])
    )
    owner = builder.owners.ids(f"o{cpu % 3}" for cpu in table[:, 2].tolist())
    name = np.array([f"p{index}" for index in range(len(table))] or [b""], np.bytes_)[: len(table)]
    part = PodPart(table[:, 0], table[:, 1], {"cpu": table[:, 2]}, name=name, owner=owner, group=group)
    builder.add(part)
    builder.add_nodes([f"n{index}" for index in range(nodes)], NodeTemplate({"cpu": 50}))
    builder.node_event(30, 0, NodeEvent.FAIL)
    return builder.build()


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    rows = []
    for group in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, 100))
        rows += [(at, draw(st.integers(-1, 50)), draw(st.integers(1, 9)), group)] * draw(st.integers(1, 3))
    single = st.tuples(st.integers(0, 100), st.integers(-1, 50), st.integers(1, 9), st.just(-1))
    return make(rows + draw(st.lists(single, max_size=12)))


def check(trace: Trace) -> None:
    """Assert what holds for each trace."""
    pods = trace.pods
    assert len({len(column) for column in pods.columns.values()}) == 1
    assert (np.diff(pods["submit"]) >= 0).all()
    assert pods["submit"].min(initial=0) >= 0
    assert pods["run"].min(initial=0) >= -1
    groups = pods["group"][pods["group"] >= 0]
    assert sorted(set(groups.tolist())) == list(range(len(trace.min_count)))
    for group in set(groups.tolist()):
        assert len(set(pods["submit"][pods["group"] == group].tolist())) == 1
    assert len(set(pods.decoded("name"))) == len(trace)
    with pytest.raises(ValueError, match="read-only"):
        pods["submit"][:] = 0


def bag(trace: Trace) -> Counter[tuple[int, int]]:
    return Counter(zip(trace.pods["run"].tolist(), trace.pods["template"].tolist(), strict=True))


@given(traces(), st.integers(0, 3))
def test_shuffled_pods_are_the_same_at_the_same_times(trace: Trace, seed: int) -> None:
    other = trace.shuffle(seed)
    check(other)
    assert bag(other) == bag(trace)
    assert set(other.pods["submit"].tolist()) <= set(trace.pods["submit"].tolist())
    assert other.digest() == trace.shuffle(seed).digest()


@given(traces(), st.integers(1, 4), st.integers(0, 3))
def test_copies_are_as_many_and_not_before_their_original(trace: Trace, copies: int, seed: int) -> None:
    other = trace.replicate(copies, spread="10us", seed=seed)
    check(other)
    assert bag(other) == Counter({key: copies * count for key, count in bag(trace).items()})
    assert len(other.min_count) == copies * len(trace.min_count)
    names = dict(zip(other.pods.decoded("name"), other.pods["submit"].tolist(), strict=True))
    for name, at in names.items():
        assert 0 <= at - names[name.partition("-")[0]] < 10


@given(traces(), st.sampled_from([0.0, 0.3, 1.0, 2.5]), st.integers(0, 3))
def test_inflated_pods_request_the_share_that_is_wanted(trace: Trace, ratio: float, seed: int) -> None:
    other = trace.inflate(ratio, "cpu", seed=seed) if len(trace) else trace
    check(other)
    total = int(other.requests[other.pods["template"]].sum()) if len(other) else 0
    target = round(ratio * 100)
    most = 3 * 9
    if len(trace):
        assert target - most < total < target + most
        few = min(len(trace), len(other))
        assert other.pods["submit"].tolist()[:few] == trace.pods["submit"].tolist()[:few]


@given(traces(), st.integers(0, 90), st.integers(1, 90))
def test_a_window_has_the_pods_that_arrive_in_it(trace: Trace, start: int, length: int) -> None:
    other = trace.window(f"{start}us", f"{start + length}us")
    submit = trace.pods["submit"]
    chosen = (submit >= start) & (submit < start + length)
    assert other.pods.decoded("name") == [
        n for n, is_in in zip(trace.pods.decoded("name"), chosen, strict=True) if is_in
    ]
    assert (other.pods["submit"] + start).tolist() == submit[chosen].tolist()
    joins = other.node_events["time"][other.node_events["event"] == NodeEvent.JOIN]
    assert joins.tolist() == [0, 0]


def test_rates_and_scales() -> None:
    trace = make([(0, 10, 4, -1), (100, -1, 6, -1)])
    faster = trace.rate(4)
    assert faster.pods["submit"].tolist() == [0, 25]
    assert faster.pods["run"].tolist() == [10, FOREVER]
    assert faster.node_events["time"].tolist() == [0, 0, 8]
    larger = trace.scale(run=1.5, requests={"cpu": 0.5})
    assert larger.pods["run"].tolist() == [15, FOREVER]
    assert larger.requests.tolist() == [[2], [3]]
    assert trace.scale(requests=2).requests.tolist() == [[8], [12]]
    assert trace.endless().pods["run"].tolist() == [FOREVER, FOREVER]


def test_an_inflated_trace_goes_on_at_the_mean_distance() -> None:
    trace = make([(0, 1, 40, -1), (10, 1, 40, -1), (20, 1, 40, -1)])
    other = trace.inflate(2.0, "cpu")
    assert other.pods["submit"].tolist() == [0, 10, 20, 30, 40]
    assert len(set(other.pods.decoded("name"))) == 5


def test_arguments_that_mean_nothing_are_refused() -> None:
    trace = make([(0, 1, 1, -1)])
    for call, message in (
        (lambda: trace.window("2d", "1d"), "end: is not after start"),
        (lambda: trace.window("soon", 1), "start: 'soon' is not a span of time"),
        (lambda: trace.rate(0), "times: 0 is not above 0"),
        (lambda: trace.replicate(0), "copies: 0 is below 1"),
        (lambda: trace.inflate(1.3, "gpu"), "there is no capacity of gpu; name one of cpu"),
        (lambda: trace.scale(run=-1), "run: -1 is below 0"),
        (lambda: trace.scale(requests={"cpu": float("nan")}), "nan is not a finite number"),
    ):
        with pytest.raises(InputError, match=message):
            call()


def test_an_empty_trace_can_be_reshaped() -> None:
    trace = make([])
    for other in (
        trace.shuffle(1),
        trace.replicate(2),
        trace.rate(2),
        trace.scale(run=2),
        trace.window(0, 1),
    ):
        assert len(other) == 0
    assert trace.describe()["pods"] == 0


def test_names_of_a_cluster_are_names_of_kubernetes() -> None:
    trace = make([(0, 1, 1, -1), (1, 1, 1, -1)])
    assert trace.pod(1).name == "p1"
    builder = TraceBuilder()
    part = PodPart(np.zeros(2, np.int64), np.zeros(2, np.int64), {}, name=np.array([b"Job_1", b"x"]))
    builder.add(part)
    assert builder.build().pod(0).name == "pod-0"


def test_draws_depend_on_seed_entity_and_purpose_only() -> None:
    draws = Draws(0)
    assert draws.uniform(3, "failure", 1).tolist() == Draws(0).uniform(9, "failure", 1).tolist()[:3]
    assert [draws.uniform_of(each, "x") for each in range(9)] == draws.uniform(9, "x").tolist()
    assert draws.uniform(3, "a").tolist() != draws.uniform(3, "b").tolist()
    assert draws.uniform(3, "a").tolist() != Draws(1).uniform(3, "a").tolist()


def test_draws_stay_the_same_in_all_versions() -> None:
    """The stream of Philox is guaranteed by NumPy; these are its values."""
    assert [round(each, 12) for each in Draws(7).uniform(3, "golden").tolist()] == GOLDEN
    assert sorted(Draws(7).order(5, "golden").tolist()) == [0, 1, 2, 3, 4]


GOLDEN = [0.080838178173, 0.134618937126, 0.104311729778]


def test_moments_of_draws() -> None:
    draws, count = Draws(3), 20_000
    assert abs(sum(draws.exponential(count, "e")) / count - 1) < 0.03
    normal = draws.normal(count, "n")
    assert abs(sum(normal) / count) < 0.03
    assert abs(sum(each * each for each in normal) / count - 1) < 0.05


def test_nodes_fail_and_are_repaired_at_times_of_their_own() -> None:
    trace = make([(0, 1, 1, -1), (10_000_000, 1, 1, -1)], nodes=40)
    failing = trace.with_failures("1s", "100ms", seed=5)
    events = failing.node_events
    assert (np.diff(events["time"]) >= 0).all()
    failures = [
        t
        for t, k in zip(events["time"].tolist(), events["event"].tolist(), strict=True)
        if k == NodeEvent.FAIL
    ]
    assert abs(len(failures) / 40 / (10 / 1.1) - 1) < 0.15
    for number in range(40):
        mine = events["event"][events["node"] == number].tolist()
        drawn = mine[2:] if number == 0 else mine[1:]  # the first node has a failure of its own
        assert drawn[::2] == [NodeEvent.FAIL] * len(drawn[::2])
        assert drawn[1::2] == [NodeEvent.REPAIRED] * len(drawn[1::2])
    fewer = make([(0, 1, 1, -1), (10_000_000, 1, 1, -1)], nodes=2).with_failures("1s", "100ms", seed=5)
    for number in range(2):
        both = [
            each.node_events["time"][each.node_events["node"] == number].tolist() for each in (failing, fewer)
        ]
        assert both[0] == both[1]
    with pytest.raises(InputError, match="between: is 0"):
        trace.with_failures(0, "1s")
