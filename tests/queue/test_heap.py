from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from operator import itemgetter
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from schedframe.queue import Heap

Item = tuple[str, int, str]
"""(key, rank, content)"""


def by_rank(**options: Any) -> Heap[Item]:
    return Heap(itemgetter(0), sort_key=itemgetter(1), **options)


def by_less() -> Heap[Item]:
    return Heap(itemgetter(0), less=lambda one, other: one[1] < other[1])


def by_tuple() -> Heap[Item]:
    return Heap(itemgetter(0), sort_key=lambda item: (item[1], 0))


KINDS = pytest.mark.parametrize("make", [by_rank, by_less, by_tuple])


def drain(heap: Heap[Item]) -> list[Item]:
    found = []
    while (item := heap.pop()) is not None:
        found.append(item)
    return found


@KINDS
def test_pops_in_order_and_equal_items_in_order_of_arrival(make: Callable[[], Heap[Item]]) -> None:
    heap = make()
    items = [("a", 2, ""), ("b", 1, ""), ("c", 2, ""), ("d", 1, "")]
    for item in items:
        heap.add(item)
    assert heap.peek() == ("b", 1, "")
    assert heap.sorted() == [items[1], items[3], items[0], items[2]]
    assert sorted(heap.list()) == sorted(items)
    assert sorted(heap) == sorted(items)
    assert drain(heap) == [items[1], items[3], items[0], items[2]]
    assert heap.peek() is None


@KINDS
def test_a_replacement_of_equal_rank_keeps_its_place(make: Callable[[], Heap[Item]]) -> None:
    heap = make()
    for key in "abc":
        heap.add((key, 1, "old"))
    heap.add(("a", 1, "new"))
    assert drain(heap) == [("a", 1, "new"), ("b", 1, "old"), ("c", 1, "old")]


@KINDS
def test_a_replacement_of_another_rank_moves(make: Callable[[], Heap[Item]]) -> None:
    heap = make()
    for key in "abc":
        heap.add((key, 1, ""))
    heap.add(("a", 2, ""))
    heap.add(("c", 0, ""))
    assert len(heap) == 3
    assert heap.get("a") == ("a", 2, "")
    assert [key for key, _, _ in drain(heap)] == ["c", "b", "a"]


@KINDS
def test_back_to_an_earlier_rank(make: Callable[[], Heap[Item]]) -> None:
    heap = make()
    for rank in (1, 2, 1, 2, 1):
        heap.add(("a", rank, ""))
    heap.add(("b", 1, ""))
    heap.check_invariants()
    assert [key for key, _, _ in drain(heap)] == ["a", "b"]


@KINDS
def test_delete_by_key(make: Callable[[], Heap[Item]]) -> None:
    heap = make()
    heap.add(("a", 1, ""))
    heap.add(("b", 2, ""))
    assert heap.delete("a") == ("a", 1, "")
    assert heap.delete("a") is None
    assert "a" not in heap
    assert "b" in heap
    assert heap.get("a") is None
    assert heap.peek() == ("b", 2, "")
    heap.clear()
    assert len(heap) == 0
    assert heap.pop() is None


def test_items_of_equal_rank_are_never_compared_themselves() -> None:
    heap: Heap[dict[str, str]] = Heap(itemgetter("key"), sort_key=lambda item: 0)
    for key in "abc":
        heap.add({"key": key})
    assert [heap.pop(), heap.pop()] == [{"key": "a"}, {"key": "b"}]


def test_needs_exactly_one_order() -> None:
    with pytest.raises(TypeError, match="exactly one"):
        Heap(itemgetter(0))
    with pytest.raises(TypeError, match="exactly one"):
        Heap(itemgetter(0), sort_key=itemgetter(1), less=lambda one, other: True)


@KINDS
def test_churn_leaves_no_garbage(make: Callable[[], Heap[Item]]) -> None:
    heap = make()
    for key in range(100):
        heap.add((f"k{key}", 0, ""))
    for turn in range(1, 100):
        for key in range(100):
            heap.add((f"k{key}", turn, ""))
        heap.delete(f"k{turn}")
        heap.add((f"k{turn}", 0, ""))
        heap.check_invariants()
    gc.collect()
    assert sys.getsizeof(heap._heap) < 10_000


class HeapMachine(RuleBasedStateMachine):
    """A heap against a list that is searched."""

    heap: Heap[Item]

    @initialize(make=st.sampled_from([by_rank, by_less, by_tuple]))
    def start(self, make: Callable[[], Heap[Item]]) -> None:
        self.heap = make()
        self.items: list[tuple[int, Item]] = []
        self.arrivals = 0

    @rule(key=st.sampled_from("abcdefgh"), rank=st.integers(0, 3), content=st.sampled_from("xy"))
    def add(self, key: str, rank: int, content: str) -> None:
        self.heap.add((key, rank, content))
        self.arrivals += 1
        arrival = self.arrivals
        for place, (number, item) in enumerate(self.items):
            if item[0] == key:
                arrival = number if item[1] == rank else arrival
                del self.items[place]
                break
        self.items.append((arrival, (key, rank, content)))

    @rule(key=st.sampled_from("abcdefgh"))
    def delete(self, key: str) -> None:
        found = [item for _, item in self.items if item[0] == key]
        assert self.heap.delete(key) == (found[0] if found else None)
        self.items = [(number, item) for number, item in self.items if item[0] != key]

    @rule()
    def pop(self) -> None:
        ordered = self.ordered()
        assert self.heap.pop() == (ordered[0] if ordered else None)
        if ordered:
            self.items = [(number, item) for number, item in self.items if item != ordered[0]]

    @rule()
    def peek(self) -> None:
        ordered = self.ordered()
        assert self.heap.peek() == (ordered[0] if ordered else None)

    @invariant()
    def agree(self) -> None:
        if not hasattr(self, "items"):
            return
        self.heap.check_invariants()
        assert self.heap.sorted() == self.ordered()
        assert len(self.heap) == len(self.items)

    def ordered(self) -> list[Item]:
        return [item for _, item in sorted(self.items, key=lambda entry: (entry[1][1], entry[0]))]


TestHeapMachine = HeapMachine.TestCase
