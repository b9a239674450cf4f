"""The log of a trial: what takes back every change of the structures that write into it.

A trial has one mark and one revert, however many structures it changes. Each of them appends what undoes a
change, in order; a revert makes these calls, the last one first. Versions and logs of changes for readers are
no part of it: to those a revert is one more change. See docs/explanation/what-if.md.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any, Final, TypeVar

from ..errors import InvariantError

Key = TypeVar("Key")
Value = TypeVar("Value")
Entry = tuple[Any, ...]
"""A function and its arguments."""


class UndoLog:
    """Changes of the trials under way. Trials nest; each is identified by its depth.

    A structure appends to ``entries`` only while there are ``marks``: outside of trials it costs the test.
    """

    __slots__ = ("_saved", "entries", "marks", "when_over")

    def __init__(self) -> None:
        self.marks: list[int] = []
        """Length of ``entries`` at the beginning of each trial under way, the outermost first."""
        self.entries: list[Entry] = []
        """A function and its arguments for each change, in the order of the changes."""
        self.when_over: list[Callable[[], None]] = []
        """Called when no trial is under way any more."""
        self._saved: dict[Hashable, tuple[int, Entry]] = {}
        """Owner → place of the entry that sets it back as a whole, and that entry."""

    def begin(self) -> int:
        """Begin a trial, or one within it; return its depth."""
        self.marks.append(len(self.entries))
        return len(self.marks) - 1

    def revert(self, depth: int) -> None:
        """End the trial at *depth* and those within it: undo their changes. O(changes).

        Raises :class:`InvariantError` if that trial is over.
        """
        self.back_to(self._start(depth))
        self._end(depth)

    def keep(self, depth: int) -> None:
        """End the trial at *depth* and those within it; their changes become those of the one around it.

        Raises :class:`InvariantError` if that trial is over.
        """
        self._start(depth)
        self._end(depth)

    def back_to(self, length: int) -> None:
        """Undo the last changes of the innermost trial: those beyond *length* entries."""
        entries = self.entries
        while len(entries) > length:
            entry = entries.pop()
            entry[0](*entry[1:])

    def is_saved(self, owner: Hashable) -> bool:
        """Return whether the innermost trial has an entry that sets *owner* back as a whole. O(1)."""
        place, entry = self._saved.get(owner, _NOWHERE)
        entries = self.entries
        return self.marks[-1] <= place < len(entries) and entries[place] is entry

    def save(self, owner: Hashable, entry: Entry) -> None:
        """Append *entry*, which sets *owner* back as a whole: further changes of it need none."""
        self._saved[owner] = len(self.entries), entry
        self.entries.append(entry)

    def _start(self, depth: int) -> int:
        if not 0 <= depth < len(self.marks):
            raise InvariantError(f"trial {depth} is over: {len(self.marks)} trials are under way")
        return self.marks[depth]

    def _end(self, depth: int) -> None:
        del self.marks[depth:]
        if not self.marks:
            self.entries.clear()
            self._saved.clear()
            for call in self.when_over:
                call()

    def __repr__(self) -> str:
        return f"UndoLog(trials={len(self.marks)}, changes={len(self.entries)})"


_NOWHERE: Final[tuple[int, Entry]] = (-1, ())
_ABSENT: Final = object()


class UndoDict(dict[Key, Value]):
    """A dictionary whose changes a trial takes back, its order included. Each operation is O(1).

    A removed key comes back at the end, and its place is restored when the dictionary is iterated over next:
    that is O(n), once after a revert, and nothing where only keys are looked up. *undone* is called with each
    key that a revert changes. ``clear``, ``update`` and the like are not for trials.
    """

    __slots__ = ("_log", "_next", "_order", "_undone", "_unsorted")

    def __init__(
        self, log: UndoLog, items: dict[Key, Value] | None = None, undone: Callable[[Key], None] | None = None
    ) -> None:
        dict.__init__(self, items or {})
        self._log, self._undone = log, undone
        self._order: dict[Key, int] | None = None
        """The place of each key, from the first removal in a trial on."""
        self._next, self._unsorted = 0, False

    def __setitem__(self, key: Key, value: Value) -> None:
        log = self._log
        if log.marks:
            log.entries.append((self._put_back, key, self.get(key, _ABSENT)))
        if self._order is not None and key not in self:
            self._order[key] = self._next
            self._next += 1
        dict.__setitem__(self, key, value)

    def __delitem__(self, key: Key) -> None:
        value = self[key]
        log = self._log
        if log.marks:
            if self._order is None:
                self._order = dict(zip(self, range(len(self)), strict=True))
                self._next = len(self)
            log.entries.append((self._return, key, value, self._order[key]))
        dict.__delitem__(self, key)
        if self._order is not None:
            del self._order[key]

    def pop(self, key: Key, default: Any = _ABSENT) -> Any:
        """Remove *key* and return its value, *default* if it is not there."""
        value = self.get(key, default)
        if key in self:
            del self[key]
        elif default is _ABSENT:
            raise KeyError(key)
        return value

    def setdefault(self, key: Key, default: Any = None) -> Any:
        """Return the value of *key*, which is set to *default* if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def _put_back(self, key: Key, value: Any) -> None:
        if value is not _ABSENT:
            dict.__setitem__(self, key, value)
        else:
            dict.__delitem__(self, key)
            if self._order is not None:
                del self._order[key]
        if self._undone is not None:
            self._undone(key)

    def _return(self, key: Key, value: Any, place: int) -> None:
        assert self._order is not None
        self._order[key] = place
        dict.__setitem__(self, key, value)
        self._unsorted = True
        if self._undone is not None:
            self._undone(key)

    # ---- looking at all of it ----------------------------------------------------------------------------

    def _sort(self) -> None:
        if self._unsorted:
            order = self._order
            assert order is not None
            items = sorted(dict.items(self), key=lambda item: order[item[0]])
            dict.clear(self)
            dict.update(self, items)
            self._unsorted = False

    def __iter__(self) -> Iterator[Key]:
        self._sort()
        return dict.__iter__(self)

    def __reversed__(self) -> Iterator[Key]:
        self._sort()
        return dict.__reversed__(self)

    def keys(self) -> Any:
        """Return the keys in order."""
        self._sort()
        return dict.keys(self)

    def values(self) -> Any:
        """Return the values in order."""
        self._sort()
        return dict.values(self)

    def items(self) -> Any:
        """Return keys and values in order."""
        self._sort()
        return dict.items(self)
