"""An order that fails costs a pod its place, and no pod is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from schedframe import QueuedPodInfo
from schedframe.api import Pod
from schedframe.errors import PluginError
from schedframe.queue import GroupQueue, PriorityQueue, QueueOptions, QueueProfile

from .support import NODE_ADD, PROFILE, ManualClock, fail, node, on, pod, popped

QUEUES = pytest.mark.parametrize("make", [PriorityQueue, GroupQueue])


def rank(info: QueuedPodInfo) -> int:
    return int(info.pod.metadata.labels["rank"])


def goes_first(one: QueuedPodInfo, other: QueuedPodInfo) -> bool:
    return rank(one) < rank(other)


ORDERS: dict[str, dict[str, Any]] = {"sort_key": {"sort_key": rank}, "less": {"less": goes_first}}


def ranked(name: str, value: object = None) -> Pod:
    return pod(name, labels={} if value is None else {"rank": str(value)})


@QUEUES
@pytest.mark.parametrize("order", ORDERS)
def test_an_order_that_raises_is_reported_and_the_pod_stays(
    order: str, make: type[PriorityQueue], clock: ManualClock
) -> None:
    faults: list[tuple[str, type[BaseException]]] = []

    def on_fault(plugin: str, error: BaseException, pod: Pod) -> None:
        faults.append((plugin, type(error)))

    pending = make(QueueOptions(clock=clock, sorter="Ranks", on_fault=on_fault, **ORDERS[order]))
    for each in (ranked("b", 2), ranked("odd"), ranked("a", 1)):
        pending.add(each)
    pending.check_invariants()
    assert set(faults) == {("Ranks", KeyError)}
    assert sorted(popped(pending)) == ["a", "b", "odd"]


@QUEUES
def test_a_key_that_raises_or_does_not_compare_goes_last(
    make: type[PriorityQueue], clock: ManualClock
) -> None:
    faults: list[str] = []

    def on_fault(plugin: str, error: BaseException, pod: Pod) -> None:
        assert isinstance(error, PluginError | KeyError)
        faults.append(pod.name)

    def key(info: QueuedPodInfo) -> Any:
        return info.pod.name if info.pod.name == "text" else rank(info)

    pending = make(QueueOptions(clock=clock, sort_key=key, on_fault=on_fault))
    for each in (ranked("b", 2), ranked("odd"), ranked("text", 0), ranked("a", 1)):
        pending.add(each)
    assert faults == ["odd", "text"]
    assert popped(pending) == ["a", "b", "odd", "text"]


@QUEUES
@pytest.mark.parametrize(
    "move",
    [
        lambda pending: pending.move_all(NODE_ADD, None, node()),
        lambda pending: pending.activate([ranked("p", 1)]),
        lambda pending: pending.flush(),
        lambda pending: pending.update(ranked("p", 1), pod("p", version="2", labels={"rank": "1"})),
    ],
    ids=["event", "activate", "flush", "update"],
)
@pytest.mark.parametrize("after", [0, 5, 400])
def test_a_pod_stays_where_it_is_if_the_report_of_its_order_raises(
    after: int, move: Callable[[PriorityQueue], None], make: type[PriorityQueue], clock: ManualClock
) -> None:
    broken = False

    def key(info: QueuedPodInfo) -> int:
        return 1 // (0 if broken else 1)

    def on_fault(plugin: str, error: BaseException, pod: Pod) -> None:
        raise error

    profile = QueueProfile((), {"P": (on(NODE_ADD),)})
    options = QueueOptions(clock=clock, profiles={PROFILE: profile}, sort_key=key, on_fault=on_fault)
    pending = make(options)
    pending.add(ranked("p", 1))
    fail(pending, "P")
    for _ in range(2):  # in the unschedulable pool, then in backoff
        clock.advance(after)
        broken = True
        try:
            move(pending)
        except ZeroDivisionError:
            pending.check_invariants()
            assert pending.get("default/p") is not None
        broken = False
        move(pending)
        pending.check_invariants()
    assert pending.get("default/p") is not None
    assert len(pending) == 1
