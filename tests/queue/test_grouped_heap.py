"""A heap with one entry for each group, against a list that is searched."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from schedframe.queue.grouped_heap import GroupedHeap

Item = tuple[str, str, tuple[int, int]]
"""(key, group, rank)"""


def key_of(item: Item) -> str:
    return item[0]


def group_of(item: Item) -> str:
    return item[1]


def rank_of(item: Item) -> tuple[int, int]:
    return item[2]


def by_rank() -> GroupedHeap[Item]:
    return GroupedHeap(key_of, group_of, sort_key=rank_of)


def by_less() -> GroupedHeap[Item]:
    return GroupedHeap(key_of, group_of, less=lambda one, other: one[2] < other[2])


def test_a_group_is_one_entry_with_the_place_of_its_foremost_item() -> None:
    heap = by_rank()
    for item in (("a", "g", (5, 0)), ("x", "", (3, 0)), ("b", "g", (1, 0)), ("c", "g", (9, 0))):
        heap.add(item)
    assert set(heap.entries) == {"b", "x"}
    assert len(heap) == 4
    assert [key for key, _, _ in heap.sorted()] == ["b", "x", "a", "c"]
    head = heap.pop()
    assert head is not None
    assert head[0] == "b"
    assert set(heap.entries) == {"a", "x"}
    assert [key for key, _, _ in heap.take_group("g")] == ["a", "c"]
    assert heap.take_group("g") == []
    assert [key for key, _, _ in heap] == ["x"]


def test_an_item_that_changes_its_group_leaves_the_former_one() -> None:
    heap = by_rank()
    heap.add(("a", "g", (1, 0)))
    heap.add(("b", "g", (2, 0)))
    heap.add(("a", "h", (3, 0)))
    heap.add(("b", "", (4, 0)))
    heap.check_invariants()
    assert heap.take_group("g") == []
    assert heap.take_group("h") == [("a", "h", (3, 0))]
    assert heap.pop() == ("b", "", (4, 0))


class GroupedHeapMachine(RuleBasedStateMachine):
    heap: GroupedHeap[Item]

    @initialize(make=st.sampled_from([by_rank, by_less]))
    def start(self, make: Callable[[], GroupedHeap[Item]]) -> None:
        self.heap = make()
        self.items: dict[str, Item] = {}
        self.number = 0

    @rule(key=st.sampled_from("abcdefgh"), group=st.sampled_from(["", "g", "h"]), rank=st.integers(0, 3))
    def add(self, key: str, group: str, rank: int) -> None:
        self.number += 1
        self.items[key] = item = (key, group, (rank, self.number))
        self.heap.add(item)

    @rule(key=st.sampled_from("abcdefgh"))
    def delete(self, key: str) -> None:
        assert self.heap.delete(key) == self.items.pop(key, None)

    @rule()
    def pop(self) -> None:
        item = self.heap.pop()
        assert item == min(self.items.values(), key=rank_of, default=None)
        if item is not None:
            del self.items[item[0]]

    @rule(group=st.sampled_from("gh"))
    def take_group(self, group: str) -> None:
        expected = sorted((item for item in self.items.values() if item[1] == group), key=rank_of)
        assert self.heap.take_group(group) == expected
        for item in expected:
            del self.items[item[0]]

    @rule()
    def clear(self) -> None:
        self.heap.clear()
        self.items.clear()

    @invariant()
    def agree(self) -> None:
        if not hasattr(self, "items"):
            return
        self.heap.check_invariants()
        items = sorted(self.items.values(), key=rank_of)
        assert self.heap.sorted() == items
        assert sorted(self.heap.list(), key=rank_of) == items
        assert len(self.heap) == len(items)
        assert bool(self.heap) == bool(items)
        assert self.heap.peek() == (items[0] if items else None)
        assert set(self.heap.groups()) == {item[1] for item in items} - {""}
        assert all(self.heap.get(key) == self.items.get(key) for key in "abcdefgh")
        assert all((key in self.heap) == (key in self.items) for key in "abcdefgh")


TestGroupedHeapMachine = GroupedHeapMachine.TestCase
