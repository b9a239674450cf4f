"""Scratch space of one scheduling cycle, shared by the plugins of a profile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

from typing_extensions import override

from .._base.brief import brief_of
from .._base.checked import checked
from .._base.wording import described
from ..errors import InputError, InvariantError, SchedframeError

T = TypeVar("T")


class CycleStateError(SchedframeError, KeyError):
    """A plugin read an entry that was not written in this cycle."""

    @override
    def __str__(self) -> str:
        return str(self.args[0])


@checked
class StateKey(Generic[T]):
    """A typed name for one entry of a :class:`CycleState`; make one module constant per entry.

    Keys compare by identity, so two plugins never collide by choosing the same name.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name
        """For people: in errors and reprs."""

    @override
    def __repr__(self) -> str:
        return f"StateKey({self.name!r})"


def _no_key(key: object) -> InputError:
    fix = f"make a constant of the module, StateKey({described(key)}), and use it to write and read"
    return InputError("key", f"{described(key)} is not a StateKey", fix)


class CycleState:
    """Entries written and read by the plugins of one cycle; every operation is O(1), ``clone`` O(entries).

    A value with a ``clone()`` method is cloned with the state, any other value is shared: values without
    that method must not be changed once written.
    """

    __slots__ = ("_entries", "skip_filter_plugins", "skip_score_plugins")

    def __init__(self) -> None:
        self._entries: dict[StateKey[Any], Any] = {}
        self.skip_filter_plugins: set[str] = set()
        """Plugins whose pre_filter answered Skip: their filter, add_pod and remove_pod are left out."""
        self.skip_score_plugins: set[str] = set()
        """Plugins whose pre_score answered Skip: their score and normalize_scores are left out."""

    def write(self, key: StateKey[T], value: T) -> None:
        """Set the entry of *key*."""
        if not isinstance(key, StateKey):
            raise _no_key(key)
        self._entries[key] = value

    def read(self, key: StateKey[T]) -> T:
        """Return the entry of *key*; :class:`CycleStateError` if there is none."""
        try:
            value: T = self._entries[key]
        except KeyError:
            if not isinstance(key, StateKey):
                raise _no_key(key) from None
            raise CycleStateError(
                f"{key.name} is not in the cycle state; it is written by an earlier extension point of the "
                "same plugin, which is disabled in this profile or returned before writing it"
            ) from None
        return value

    def get(self, key: StateKey[T], default: T | None = None) -> T | None:
        """Return the entry of *key*, or *default*."""
        if not isinstance(key, StateKey):
            raise _no_key(key)
        return self._entries.get(key, default)

    def delete(self, key: StateKey[Any]) -> None:
        """Remove the entry of *key* if there is one."""
        if not isinstance(key, StateKey):
            raise _no_key(key)
        self._entries.pop(key, None)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return brief_of(self, keys=[key.name for key in self._entries])

    def clone(self) -> CycleState:
        """Return an independent copy for a dry run."""
        copy = CycleState()
        copy._entries = {
            key: value.clone() if hasattr(value, "clone") else value for key, value in self._entries.items()
        }
        copy.skip_filter_plugins = set(self.skip_filter_plugins)
        copy.skip_score_plugins = set(self.skip_score_plugins)
        return copy

    def template(self) -> Callable[[], CycleState]:
        """Return a function that makes what :meth:`clone` makes now, without looking at each entry again."""
        entries = self._entries.copy()
        cloneable = [(key, value) for key, value in entries.items() if hasattr(value, "clone")]
        filters, scores = set(self.skip_filter_plugins), set(self.skip_score_plugins)

        def make() -> CycleState:
            copy = CycleState.__new__(CycleState)
            copy._entries = entries.copy()
            for key, value in cloneable:
                copy._entries[key] = value.clone()
            copy.skip_filter_plugins = filters.copy()
            copy.skip_score_plugins = scores.copy()
            return copy

        return make

    def take_over(self, other: CycleState, *, but: CycleState) -> None:
        """Copy the entries and skips of *other* that *but* does not have."""
        for path, state in ("other", other), ("but", but):
            if not isinstance(state, CycleState):
                raise InputError(path, f"{described(state)} is not a CycleState", "give the state of a cycle")
        self._entries.update({k: value for k, value in other._entries.items() if k not in but._entries})
        self.skip_filter_plugins |= other.skip_filter_plugins - but.skip_filter_plugins
        self.skip_score_plugins |= other.skip_score_plugins - but.skip_score_plugins

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if an entry is not filed under a :class:`StateKey`."""
        for key in self._entries:
            if not isinstance(key, StateKey):
                raise InvariantError(f"cycle state holds an entry under {key!r}, which is no StateKey")
        for name in (*self.skip_filter_plugins, *self.skip_score_plugins):
            if not isinstance(name, str) or not name:
                raise InvariantError(f"cycle state skips {name!r}, which is no plugin name")


RECORDED: Final = StateKey[Mapping[str, Callable[[Sequence[str]], Any]]]("Recorded")
"""What a plugin adds to the record of an evaluation: field → a function that is given the names of the
feasible nodes and answers in plain types; an empty answer is left out."""
