"""A priority queue whose items can be looked up, replaced and removed by key."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from copy import copy
from itertools import count, pairwise
from typing import Any, Final, Generic, Self, TypeAlias, TypeVar, overload

from .._base.brief import brief_of
from .._base.checked import checked
from ..errors import InvariantError

T = TypeVar("T")
D = TypeVar("D")

_Entry: TypeAlias = list[Any]
"""[*sort key, arrival, key, item]; the item of a removed entry is ``ABSENT``."""

ABSENT: Final[Any] = object()
"""Stands for no item: any value of a caller, ``None`` too, may be one."""

_MIN_GARBAGE = 64
"""Removed entries up to which a heap is not swept: below, a sweep costs more than the entries do."""


@checked
class Heap(Generic[T]):
    """Items by *key*, ordered by ``sort_key`` (a comparable value) or by ``less``.

    Equal items leave in the order of arrival. Items that arrive in their final order, as most pods do, go to
    a sorted run beside the heap, and cost O(1) to add and to pop. Removal only marks the entry: it is dropped
    when it reaches the top, and :meth:`add` and :meth:`pop` sweep all marked entries once they outnumber the
    items, so memory is O(items) under any churn. Sort keys that are tuples must all have the same length. The
    order of an item must not change while it is here: replace it with :meth:`add`. With ``less`` every
    comparison is a Python call or two; ``sort_key`` is computed once per :meth:`add` and about ten times
    faster. A removed item may change: what is left of it is compared as its shallow copy.

    An exception of the key, the sort key or a comparison leaves the method that called it, and the heap is as
    it was before. :meth:`delete` compares nothing. Any value may be an item: a heap that may hold ``None``
    needs a *default* that is no item where it may be empty.
    """

    __slots__ = ("_garbage", "_heap", "_key", "_next", "_run", "_sort_key", "entries")

    def __init__(
        self,
        key: Callable[[T], Hashable],
        *,
        sort_key: Callable[[T], Any] | None = None,
        less: Callable[[T, T], bool] | None = None,
    ) -> None:
        self._key = key
        self._sort_key: Callable[[T], Any]
        if sort_key is not None and less is None:
            self._sort_key = sort_key
        elif less is not None and sort_key is None:
            self._sort_key = _by(less)
        else:
            raise TypeError("a heap is ordered by sort_key or by less: give exactly one of them")
        # Flat lists compare faster than nested tuples. The arrival breaks ties, so that neither keys nor
        # items are ever compared.
        self._heap: list[_Entry] = []
        self._run: deque[_Entry] = deque()  # ascending
        self.entries: dict[Hashable, _Entry] = {}
        """By key, one for each item; read-only."""
        self._next = count().__next__
        self._garbage = 0

    def add(self, item: T) -> None:
        """Add *item*, in place of the one with the same key if there is one. O(log n) amortised.

        A replacement that is equal in order keeps the place of the old item; any other one goes behind the
        items that it is equal to now.
        """
        key = self._key(item)
        rank = self._sort_key(item)
        old = self.entries.get(key)
        if old is not None and self._replace(old, rank, item):
            return
        if self._garbage >= _MIN_GARBAGE:
            self._sweep()
        entry = [*rank, self._next(), key, item] if type(rank) is tuple else [rank, self._next(), key, item]
        run = self._run
        if not run or run[-1] < entry:
            run.append(entry)
        else:
            _push(self._heap, entry)
        try:
            self.entries[key] = entry
        except BaseException:
            self._discard(entry)
            raise
        if old is not None:
            self._discard(old)

    @overload
    def pop(self) -> T | None: ...
    @overload
    def pop(self, default: D) -> T | D: ...
    def pop(self, default: Any = None) -> Any:
        """Remove and return the first item; *default* if there is none. O(log n) amortised."""
        if self._garbage >= _MIN_GARBAGE:
            self._sweep()
        heap, run = self._heap, self._run
        while heap or run:
            if run and (not heap or run[0] < heap[0]):
                entry = run[0]
                if entry[-1] is not ABSENT:
                    del self.entries[entry[-2]]
                    run.popleft()
                    return entry[-1]
                run.popleft()
            else:
                entry = heap[0]
                if entry[-1] is not ABSENT:
                    return self._take_out(entry)
                _pop(heap)
            self._garbage -= 1
        return default

    def _take_out(self, entry: _Entry) -> Any:
        """Remove the entry at the top of the heap; return its item."""
        key = entry[-2]
        del self.entries[key]
        try:
            _pop(self._heap)
        except BaseException:
            self.entries[key] = entry
            raise
        return entry[-1]

    @overload
    def peek(self) -> T | None: ...
    @overload
    def peek(self, default: D) -> T | D: ...
    def peek(self, default: Any = None) -> Any:
        """Return the first item; *default* if there is none. O(1), amortised over removals."""
        entry = self._first()
        return default if entry is None else entry[-1]

    def _first(self) -> _Entry | None:
        """Return the entry of the first item, and drop the removed ones before it."""
        heap, run = self._heap, self._run
        while heap or run:
            in_run = bool(run) and (not heap or run[0] < heap[0])
            entry = (run if in_run else heap)[0]
            if entry[-1] is not ABSENT:
                return entry
            if in_run:
                run.popleft()
            else:
                _pop(heap)
            self._garbage -= 1
        return None

    def first_rank(self) -> list[Any] | None:
        """Return the parts of the sort key of the first item; ``None`` without one. O(1) amortised."""
        first = self._first()
        return None if first is None else first[:-3]

    def rank(self, item: T) -> Any:
        """Return what *item* is sorted by."""
        return self._sort_key(item)

    @overload
    def delete(self, key: Hashable) -> T | None: ...
    @overload
    def delete(self, key: Hashable, default: D) -> T | D: ...
    def delete(self, key: Hashable, default: Any = None) -> Any:
        """Remove and return the item with that key; *default* if there is none. O(1) amortised."""
        entry = self.entries.pop(key, None)
        if entry is None:
            return default
        item = entry[-1]
        self._discard(entry)
        return item

    @overload
    def get(self, key: Hashable) -> T | None: ...
    @overload
    def get(self, key: Hashable, default: D) -> T | D: ...
    def get(self, key: Hashable, default: Any = None) -> Any:
        """Return the item with that key, else *default*. O(1)."""
        entry = self.entries.get(key)
        return default if entry is None else entry[-1]

    def sorted(self) -> list[T]:
        """Return all items in the order in which they would be popped. O(n log n)."""
        return [entry[-1] for entry in sorted(self.entries.values())]

    def list(self) -> list[T]:
        """Return all items in no particular order; also for a thread that is not the owner's. O(n)."""
        return [entry[-1] for entry in list(self.entries.values())]

    def clear(self) -> None:
        """Remove everything."""
        self._heap.clear()
        self._run.clear()
        self.entries.clear()
        self._garbage = 0

    def __bool__(self) -> bool:
        return bool(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return brief_of(self, len=len(self))

    def __contains__(self, key: object) -> bool:
        return key in self.entries

    def __iter__(self) -> Iterator[T]:
        return iter(self.list())

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` unless order, keys and garbage count are consistent. O(n)."""
        heap = self._heap
        for child in range(1, len(heap)):
            if heap[child] < heap[(child - 1) >> 1]:
                raise InvariantError(f"heap entry {child} sorts before its parent")
        if any(not one < other for one, other in pairwise(self._run)):
            raise InvariantError("the entries beside the heap are not ascending")
        kept = [*heap, *self._run]
        live = [entry for entry in kept if entry[-1] is not ABSENT]
        if len(kept) - len(live) != self._garbage:
            raise InvariantError(f"{len(kept) - len(live)} removed entries, counted {self._garbage}")
        if len(live) != len(self.entries) or any(
            self.entries.get(self._key(entry[-1])) is not entry for entry in live
        ):
            raise InvariantError("the keys of the heap are not those of its items")

    def _replace(self, entry: _Entry, rank: Any, item: T) -> bool:
        """Put *item* into *entry* if that has the same rank; return whether it did."""
        if type(rank) is tuple:
            if len(entry) != len(rank) + 3 or not all(map(_equal, entry, rank)):
                return False
        elif type(rank) is _Rank:
            if not rank.ties(entry[0]):
                return False
            rank.arrival = entry[0].arrival
            entry[0] = rank
        elif len(entry) != 4 or entry[0] != rank:
            return False
        entry[-1] = item
        return True

    def _discard(self, entry: _Entry) -> None:
        """Mark *entry* as removed. O(1)."""
        if type(entry[0]) is _Rank:
            entry[0].settle()
        entry[-1] = ABSENT
        self._garbage += 1

    def _sweep(self) -> None:
        """Drop all removed entries if they outnumber the items. O(n)."""
        if self._garbage > len(self.entries):
            heap = [entry for entry in self._heap if entry[-1] is not ABSENT]
            heapq.heapify(heap)
            self._heap = heap
            self._run = deque(entry for entry in self._run if entry[-1] is not ABSENT)
            self._garbage = 0


def _push(heap: list[_Entry], entry: _Entry) -> None:
    """``heapq.heappush`` that leaves *heap* as it was if a comparison raises."""
    try:
        heapq.heappush(heap, entry)
    except BaseException:
        # heapq swaps the entry with one parent after the other: those moved down by one place of its path.
        path = [len(heap) - 1]
        while path[-1] and heap[path[-1]] is not entry:
            path.append((path[-1] - 1) >> 1)
        for upper, lower in pairwise(reversed(path)):
            heap[upper] = heap[lower]
        del heap[-1]
        raise


def _pop(heap: list[_Entry]) -> None:
    """``heapq.heappop`` that leaves *heap* as it was if a comparison raises."""
    first, last = heap[0], heap[-1]
    try:
        heapq.heappop(heap)
    except BaseException:
        # heapq puts the last entry on top and swaps it downwards: the others on its path moved up by one.
        place = next(place for place, entry in enumerate(heap) if entry is last)
        while place:
            parent = (place - 1) >> 1
            heap[place] = heap[parent]
            place = parent
        heap[0] = first
        heap.append(last)
        raise


def _equal(one: Any, other: Any) -> bool:
    return bool(one == other)


class _Rank(Generic[T]):
    """An item as a sort key: compared by ``less``, and by arrival if neither goes before the other.

    Equality is identity: Python compares lists at their first elements that are not equal, and an ``__eq__``
    by ``less`` would double the number of its calls.
    """

    __slots__ = ("arrival", "item", "less")

    def __init__(self, item: T, less: Callable[[T, T], bool], arrival: int) -> None:
        self.item = item
        self.less = less
        self.arrival = arrival

    def __lt__(self, other: Self) -> bool:
        if self.less(self.item, other.item):
            return True
        return self.arrival < other.arrival and not self.less(other.item, self.item)

    def settle(self) -> None:
        """Keep the order that the item has now: it is removed, and may change while others pass it."""
        # Removing must not fail: an item that cannot be copied keeps its order after its removal, too.
        with suppress(Exception):
            self.item = copy(self.item)

    def ties(self, other: Self) -> bool:
        """Return whether neither goes before the other."""
        return not self.less(self.item, other.item) and not self.less(other.item, self.item)


def _by(less: Callable[[T, T], bool]) -> Callable[[T], _Rank[T]]:
    arrivals = count()
    return lambda item: _Rank(item, less, next(arrivals))
