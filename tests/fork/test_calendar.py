"""Time in a fork, against a naive simulation of one machine and of several."""

from __future__ import annotations

from heapq import heappop, heappush
from random import Random

import pytest

from schedframe.errors import InputError
from schedframe.fork import Fork
from schedframe.testing import node, pod

from ..profiles import scaled


def fork_of(nodes: int, durations: list[int]) -> Fork:
    """Return a fork with pods of those seconds, each of which fills a node."""
    pods = [pod(f"p{i:03}").requests(cpu=1) for i in range(len(durations))]
    fork = Fork.of([*(node(f"n{i}", cpu=1) for i in range(nodes)), *pods])
    for each, seconds in zip(fork.cluster.list("Pod"), durations, strict=True):
        fork.durations[each.uid] = seconds
    return fork


def naive_ends(nodes: int, durations: list[int]) -> list[int]:
    """Return when each job ends if the first that waits starts whenever one of the nodes is free."""
    free, ends = [0] * nodes, []
    for seconds in durations:
        start = heappop(free)
        ends.append(start + seconds)
        heappush(free, start + seconds)
    return ends


def test_pods_end_as_in_a_naive_simulation() -> None:
    for seed in range(scaled(8)):
        rng = Random(seed)
        nodes, durations = rng.randrange(1, 4), [rng.randrange(20, 60) for _ in range(rng.randrange(1, 9))]
        with fork_of(nodes, durations) as fork:
            start, names = fork.clock(), [each.key for each in fork.cluster.list("Pod")]
            ends = dict(zip(names, naive_ends(nodes, durations), strict=True))
            for key, end in sorted(ends.items(), key=lambda item: item[1]):
                gone = fork.advance(until=lambda fork, key=key: fork.cluster.get("Pod", key) is None)
                assert gone is not None
                # Where ends follow each other within seconds, backoffs delay starts.
                latest = end if nodes == 1 else end + 10 * len(durations)
                assert end <= gone - start <= latest


def test_time_passes_exactly_where_no_pod_backs_off() -> None:
    with fork_of(1, [10]) as fork:
        start = fork.clock()
        assert fork.advance(start + 5) == start + 5
        uid = fork.cluster.list("Pod")[0].uid
        assert fork.ends == {uid: start + 10}
        fork.ends[uid] = start + 7
        assert fork.advance(until=lambda fork: not fork.cluster.list("Pod")) == start + 7
        assert fork.advance(until=lambda fork: False) is None
        assert fork.clock() == start + 7


def test_ends_of_one_moment_come_together() -> None:
    seen = []
    with fork_of(2, [10, 10]) as fork:
        fork.advance(
            fork.clock() + 20, until=lambda fork: seen.append(len(fork.cluster.list("Pod"))) or False
        )
    assert set(seen) == {2, 0}


def test_a_trial_takes_time_back() -> None:
    with fork_of(1, [10, 20]) as fork:
        start = fork.clock()
        with fork.trial():
            fork.advance(start + 100)
            assert not fork.cluster.list("Pod")
        assert (fork.clock(), fork.ends) == (start, {})
        fork.advance(start + 1)
        (end,) = fork.ends.values()
        with fork.trial():
            fork.advance(start + 100)
        assert [*fork.ends.values()] == [end]
        assert fork.advance(until=lambda fork: len(fork.cluster.list("Pod")) == 1) == end


def test_a_deadline_of_a_pod_is_its_duration() -> None:
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"activeDeadlineSeconds": 30, "containers": [{"name": "c"}]},
    }
    with Fork.of([node("n"), manifest]) as fork:
        start = fork.clock()
        assert fork.ends == {}
        assert fork.advance(until=lambda fork: not fork.cluster.list("Pod")) == start + 30


def test_time_needs_an_end() -> None:
    with Fork.of([node("n")]) as fork, pytest.raises(InputError, match="give one of them, or both"):
        fork.advance()
