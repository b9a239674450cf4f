"""A heap whose keys, sort keys and comparisons raise, and ``None`` as an item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import count
from operator import itemgetter
from typing import Any

import pytest
from attrs import define
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from typing_extensions import override

from schedframe.queue import Heap

Item = tuple[str, int, str]
"""(key, rank, content)"""
ABSENT = object()


def name_of(item: Item | None) -> str:
    return item[0] if item else "none"


def value_of(item: Item | None) -> int:
    return item[1] if item else 1


class Boom(Exception):
    pass


@define
class Fuse:
    """Blows at one of the next calls, once."""

    left: int | None = None

    def burn(self) -> None:
        if self.left is not None:
            if self.left == 0:
                raise Boom
            self.left -= 1


@define(eq=False)
class Rank:
    """A sort key whose comparisons may raise."""

    value: int
    fuse: Fuse

    @override
    def __eq__(self, other: object) -> bool:
        self.fuse.burn()
        return isinstance(other, Rank) and self.value == other.value

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Rank) -> bool:
        self.fuse.burn()
        return self.value < other.value


@define(eq=False)
class Key:
    """A key whose hash and comparisons may raise."""

    name: str
    fuse: Fuse

    @override
    def __eq__(self, other: object) -> bool:
        self.fuse.burn()
        return isinstance(other, Key) and self.name == other.name

    @override
    def __hash__(self) -> int:
        self.fuse.burn()
        return hash(self.name)


def test_an_item_that_compares_with_no_other_is_not_added() -> None:
    heap: Heap[tuple[str, object]] = Heap(itemgetter(0), sort_key=itemgetter(1))
    heap.add(("a", 1))
    with pytest.raises(TypeError, match="not supported between"):
        heap.add(("b", "x"))
    with pytest.raises(TypeError, match="not supported between"):
        heap.add(("a", "x"))
    heap.check_invariants()
    assert "b" not in heap
    assert heap.get("a") == ("a", 1)
    assert [heap.pop(), heap.pop(), len(heap)] == [("a", 1), None, 0]


def test_a_key_that_fails_adds_nothing() -> None:
    heap: Heap[dict[str, int]] = Heap(itemgetter("key"), sort_key=itemgetter("rank"))
    heap.add({"key": 1, "rank": 1})
    for lacking in ({"rank": 1}, {"key": 2}):
        with pytest.raises(KeyError):
            heap.add(lacking)
    with pytest.raises(TypeError, match="unhashable"):
        heap.add({"key": [], "rank": 2})  # type: ignore[dict-item]
    heap.check_invariants()
    assert heap.list() == [{"key": 1, "rank": 1}]


def test_delete_compares_nothing() -> None:
    fuse = Fuse()
    heap: Heap[int] = Heap(lambda item: item, sort_key=lambda item: Rank(item, fuse))
    for item in range(200, 0, -1):
        heap.add(item)
    fuse.left = 0
    for item in range(1, 200):
        assert heap.delete(item) == item
    fuse.left = None
    heap.check_invariants()
    assert [heap.pop(), heap.pop()] == [200, None]


@define
class Changing:
    """An item that changes once it has left the heap, as a pod does."""

    name: int
    order: int


@pytest.mark.parametrize("removed", ["popped", "deleted", "replaced"])
def test_an_item_may_change_once_it_is_removed(removed: str) -> None:
    """Its order counts no more, although its entry may still be there."""
    heap: Heap[Changing] = Heap(lambda item: item.name, less=lambda one, other: one.order < other.order)
    items = [Changing(number, order) for number, order in enumerate((4, 2, 6, 1, 5, 3))]
    for item in items:
        heap.add(item)
    if removed == "popped":
        gone = heap.pop()
        assert gone is items[3]
    elif removed == "deleted":
        gone = heap.delete(3)
    else:
        gone = items[3]
        heap.add(Changing(3, 9))
    assert gone is not None
    gone.order = 100
    heap.check_invariants()
    heap.add(Changing(10, 0))
    heap.check_invariants()
    gone.order = -100
    heap.check_invariants()
    orders = [item.order for item in iter(heap.pop, None) if item is not None]
    assert orders == [0, 2, 3, 4, 5, 6] + [9] * (removed == "replaced")


def test_none_is_an_item_like_any_other() -> None:
    heap: Heap[str | None] = Heap(lambda item: item or "none", sort_key=lambda item: item or "k")
    absent = object()
    for item in ("a", None, "z"):
        heap.add(item)
    heap.add(None)
    heap.check_invariants()
    assert len(heap) == 3
    assert [heap.pop(absent), heap.peek(absent), heap.get("none", absent)] == ["a", None, None]
    assert heap.sorted() == [None, "z"]
    assert heap.delete("none", absent) is None
    assert heap.delete("none", absent) is absent
    heap.add(None)
    drained = []
    while heap:
        drained.append(heap.pop())
    assert drained == [None, "z"]
    assert [heap.pop(absent), heap.peek(absent), heap.get("none", absent)] == [absent] * 3


@pytest.mark.parametrize("kind", ["rank", "less"])
def test_each_comparison_may_fail_and_nothing_has_changed(kind: str) -> None:
    fuse = Fuse()

    def rank_of(item: int) -> Rank:
        return Rank(item * 37 % 64, fuse)

    heap: Heap[int] = (
        Heap(abs, sort_key=rank_of)
        if kind == "rank"
        else Heap(abs, less=lambda one, other: rank_of(one) < rank_of(other))
    )
    failed = Counter[str]()

    def insist(name: str, method: Callable[..., Any], *arguments: Any) -> Any:
        """Call *method*, and let one comparison after the other fail before it."""
        for left in count():
            before = heap.sorted()
            fuse.left = left
            try:
                answer = method(*arguments)
            except Boom:
                fuse.left = None
                heap.check_invariants()
                assert heap.sorted() == before
                failed[name] += 1
            else:
                fuse.left = None
                return answer
        raise AssertionError

    for item in range(64):
        insist("add", heap.add, item)
    expected = sorted(range(64), key=lambda item: item * 37 % 64)
    assert [insist("pop", heap.pop) for _ in range(64)] == expected
    assert min(failed["add"], failed["pop"]) > 64


class FailingMachine(RuleBasedStateMachine):
    """A heap whose keys, ranks and comparisons raise now and then, and which has ``None`` among its items."""

    heap: Heap[Item | None]

    @initialize(kind=st.sampled_from(["rank", "tuple", "less"]))
    def start(self, kind: str) -> None:
        fuse = self.fuse = Fuse()

        def key_of(item: Item | None) -> Key:
            fuse.burn()
            return Key(item[0] if item else "none", fuse)

        def rank_of(item: Item | None) -> Rank:
            fuse.burn()
            return Rank(item[1] if item else 1, fuse)

        if kind == "less":
            self.heap = Heap(key_of, less=lambda one, other: rank_of(one) < rank_of(other))
        elif kind == "tuple":
            self.heap = Heap(key_of, sort_key=lambda item: (rank_of(item), Rank(0, fuse)))
        else:
            self.heap = Heap(key_of, sort_key=rank_of)
        self.items: list[tuple[int, Item | None]] = []
        self.arrivals = 0

    def attempt(self, left: int, method: Callable[..., Any], *arguments: Any) -> Any:
        """Call *method* with a fuse for that number of calls; return ``Boom`` if it blew."""
        self.fuse.left = left
        try:
            return method(*arguments)
        except Boom:
            return Boom
        finally:
            self.fuse.left = None

    @rule(
        item=st.none() | st.tuples(st.sampled_from("abcdefghijkl"), st.integers(0, 9), st.sampled_from("xy")),
        left=st.integers(0, 12),
    )
    def add(self, item: Item | None, left: int) -> None:
        if self.attempt(left, self.heap.add, item) is Boom:
            return
        self.arrivals += 1
        arrival = self.arrivals
        for place, (number, old) in enumerate(self.items):
            if name_of(old) == name_of(item):
                arrival = number if value_of(old) == value_of(item) else arrival
                del self.items[place]
                break
        self.items.append((arrival, item))

    @rule(name=st.sampled_from([*"abcdefghijkl", "none"]), left=st.integers(0, 3))
    def delete(self, name: str, left: int) -> None:
        found = [item for _, item in self.items if name_of(item) == name]
        answer = self.attempt(left, self.heap.delete, Key(name, self.fuse), ABSENT)
        if answer is not Boom:
            assert answer == (found[0] if found else ABSENT)
            self.items = [entry for entry in self.items if name_of(entry[1]) != name]

    @rule(left=st.integers(0, 12))
    def pop(self, left: int) -> None:
        ordered = self.ordered()
        answer = self.attempt(left, self.heap.pop, ABSENT)
        if answer is not Boom:
            assert answer == (ordered[0] if ordered else ABSENT)
            self.items = [entry for entry in self.items if entry[1] not in ordered[:1]]

    @rule(left=st.integers(0, 12))
    def peek(self, left: int) -> None:
        ordered = self.ordered()
        assert self.attempt(left, self.heap.peek, ABSENT) in (Boom, ordered[0] if ordered else ABSENT)

    @rule(left=st.integers(0, 12))
    def ask(self, left: int) -> None:
        ordered = self.ordered()
        rank = self.attempt(left, self.heap.first_rank)
        assert rank is Boom or (rank is None) is not bool(ordered)
        assert self.attempt(left, self.heap.sorted) in (Boom, ordered)

    @invariant()
    def agree(self) -> None:
        if not hasattr(self, "items"):
            return
        self.heap.check_invariants()
        assert self.heap.sorted() == self.ordered()
        assert len(self.heap) == len(self.items)

    def ordered(self) -> list[Item | None]:
        return [item for _, item in sorted(self.items, key=lambda entry: (value_of(entry[1]), entry[0]))]


TestFailingMachine = FailingMachine.TestCase
