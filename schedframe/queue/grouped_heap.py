"""A priority queue in which a group of items has one entry: that of its foremost item."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, TypeVar, overload

from ..errors import InvariantError
from .heap import ABSENT, Heap

T = TypeVar("T")
D = TypeVar("D")


class GroupedHeap(Heap[T]):
    """A :class:`Heap` in which items of one group are attached to the foremost of them, its *head*.

    Only the head is an entry of the heap, so that a group is popped where its foremost item would be, and
    leaves as a whole by :meth:`take_group`. Items of no group are entries of their own. Items of equal order
    leave in the order of their arrival; a group counts as arriving when its head changes.

    Unlike that of a :class:`Heap`, its order must not raise: an item may be entered in two heaps.
    """

    __slots__ = ("_group_of", "_groups", "_in_group", "_order")

    def __init__(
        self,
        key: Callable[[T], Hashable],
        group_of: Callable[[T], str],
        *,
        sort_key: Callable[[T], Any] | None = None,
        less: Callable[[T, T], bool] | None = None,
    ) -> None:
        self._order: dict[str, Any] = {"sort_key": sort_key, "less": less}
        Heap.__init__(self, key, sort_key=sort_key, less=less)
        self._group_of = group_of
        self._groups: dict[str, Heap[T]] = {}
        """Group → all of its items, the head included."""
        self._in_group: dict[Hashable, str] = {}
        """Key of an item → its group, for items that have one."""

    # ---- groups ------------------------------------------------------------------------------------------

    def take_group(self, group: str) -> list[T]:
        """Remove all items of *group* and return them in order. O(items log items)."""
        items = self._groups.pop(group, None)
        if items is None:
            return []
        found = items.sorted()
        Heap.delete(self, self._key(found[0]))
        for item in found:
            del self._in_group[self._key(item)]
        return found

    def has_group(self, group: str) -> bool:
        """Return whether any item of *group* is here. O(1)."""
        return group in self._groups

    def groups(self) -> Iterable[str]:
        """Return the groups that have an entry: a live view."""
        return self._groups.keys()

    # ---- items -------------------------------------------------------------------------------------------

    def add(self, item: T) -> None:
        """See :class:`Heap`; an item that is not foremost in its group is attached. O(log n)."""
        group, key = self._group_of(item), self._key(item)
        if key in self and self._in_group.get(key, "") != group:
            self.delete(key)
        if not group:
            Heap.add(self, item)
            return
        items = self._groups.get(group)
        if items is None:
            items = self._groups[group] = Heap(self._key, **self._order)
        before = items.peek(ABSENT)
        items.add(item)
        self._in_group[key] = group
        self._follow(items, before)

    @overload
    def delete(self, key: Hashable) -> T | None: ...
    @overload
    def delete(self, key: Hashable, default: D) -> T | D: ...
    def delete(self, key: Hashable, default: Any = None) -> Any:
        """See :class:`Heap`. O(log n) amortised for the head of a group, else O(1)."""
        group = self._in_group.pop(key, None)
        if group is None:
            return Heap.delete(self, key, default)
        items = self._groups[group]
        before = items.peek(ABSENT)
        item = items.delete(key)
        self._follow(items, before)
        if not items:
            del self._groups[group]
        return item

    @overload
    def pop(self) -> T | None: ...
    @overload
    def pop(self, default: D) -> T | D: ...
    def pop(self, default: Any = None) -> Any:
        """See :class:`Heap`; the next item of the same group becomes its head. O(log n) amortised."""
        head = Heap.pop(self, ABSENT)
        if head is ABSENT:
            return default
        if (group := self._in_group.pop(self._key(head), None)) is None:
            return head
        items = self._groups[group]
        items.pop()
        if (follower := items.peek(ABSENT)) is not ABSENT:
            Heap.add(self, follower)
        else:
            del self._groups[group]
        return head

    @overload
    def get(self, key: Hashable) -> T | None: ...
    @overload
    def get(self, key: Hashable, default: D) -> T | D: ...
    def get(self, key: Hashable, default: Any = None) -> Any:
        """See :class:`Heap`."""
        group = self._in_group.get(key)
        return Heap.get(self, key, default) if group is None else self._groups[group].get(key, default)

    def sorted(self) -> list[T]:
        """Return the items in the order in which pops of one item at a time return them. O(n log n)."""
        entries = Heap.sorted(self)
        attached = [item for items in self._groups.values() for item in items.sorted()[1:]]
        return sorted([*entries, *attached], key=self._sort_key) if attached else entries

    def list(self) -> list[T]:
        """See :class:`Heap`."""
        found = Heap.list(self)
        for items in list(self._groups.values()):
            found += [item for item in items.list() if self._key(item) not in self.entries]
        return found

    def clear(self) -> None:
        """See :class:`Heap`."""
        Heap.clear(self)
        self._groups.clear()
        self._in_group.clear()

    def __len__(self) -> int:
        """Return the number of items, attached ones included. O(1)."""
        return len(self.entries) + len(self._in_group) - len(self._groups)

    def __contains__(self, key: object) -> bool:
        return key in self._in_group or key in self.entries

    def __iter__(self) -> Iterator[T]:
        return iter(self.list())

    def check_invariants(self) -> None:
        """See :class:`Heap`; also that each group has its foremost item as its only entry. O(n)."""
        Heap.check_invariants(self)
        counted = 0
        for group, items in self._groups.items():
            items.check_invariants()
            counted += len(items)
            entries = [item for item in items if self._key(item) in self.entries]
            if len(entries) != 1 or entries[0] is not items.peek(ABSENT):
                raise InvariantError(
                    f"group {group} has {len(entries)} entries, or not that of its first item"
                )
            if any(self._in_group.get(self._key(item)) != group for item in items):
                raise InvariantError(f"an item of group {group} is not filed under it")
        if counted != len(self._in_group):
            raise InvariantError(f"{counted} items are in groups, {len(self._in_group)} are filed")

    def _follow(self, items: Heap[T], before: Any) -> None:
        """Let the entry of a group be that of its foremost item, after a change; *before*: the former one."""
        head = items.peek(ABSENT)
        if head is before:
            return
        if before is not ABSENT and (head is ABSENT or self._key(head) != self._key(before)):
            Heap.delete(self, self._key(before))
        if head is not ABSENT:
            Heap.add(self, head)
