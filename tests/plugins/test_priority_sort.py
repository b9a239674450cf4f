"""PrioritySort: order of the queue."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from plugins_builtin.priority_sort import PrioritySort
from schedframe.api import ObjectMeta, Pod, PodSpec
from schedframe.queue import QueuedPodInfo

PLUGIN = PrioritySort()


def queued(name: str, priority: int | None, timestamp: float) -> QueuedPodInfo:
    return QueuedPodInfo(Pod(ObjectMeta(name=name, uid=name), PodSpec(priority=priority)), timestamp)


def in_order(*pods: QueuedPodInfo) -> list[str]:
    return [info.pod.name for info in sorted(pods, key=PLUGIN.queue_sort_key)]


def test_higher_priority_goes_first_at_any_time() -> None:
    assert in_order(queued("low", 1, 0.0), queued("high", 10, 99.0)) == ["high", "low"]


def test_equal_priorities_go_first_come_first_served() -> None:
    assert in_order(queued("late", 5, 2.0), queued("early", 5, 1.5)) == ["early", "late"]


def test_no_priority_is_zero() -> None:
    first, second, third = queued("a", 1, 3.0), queued("b", None, 1.0), queued("c", 0, 2.0)
    assert in_order(queued("d", -1, 0.0), third, second, first) == ["a", "b", "c", "d"]


@given(
    first=st.tuples(st.none() | st.integers(-3, 3), st.integers(0, 3)),
    second=st.tuples(st.none() | st.integers(-3, 3), st.integers(0, 3)),
)
def test_the_key_orders_by_the_rule(first: tuple[int | None, int], second: tuple[int | None, int]) -> None:
    one, other = queued("one", *first), queued("other", *second)
    before = (first[0] or 0) > (second[0] or 0) or (
        (first[0] or 0) == (second[0] or 0) and first[1] < second[1]
    )
    assert (PLUGIN.queue_sort_key(one) < PLUGIN.queue_sort_key(other)) == before


def test_no_event_is_registered() -> None:
    assert PLUGIN.events_to_register() == ()
