"""The order of the queue: what fails in it costs a pod its place and nothing else.

A key or a comparison that raised in the middle of a move would leave a pod in two pools, or in none.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import ne
from typing import Any

from attrs import field
from typing_extensions import override

from .._base.plugin_faults import plugin_faults, shown
from .._base.value import record
from ..api import Pod
from ..errors import PluginError
from .hints import FaultFn
from .queued_pod import QueuedPodInfo


class _Last:
    """Sorts after every key, whatever its type."""

    @override
    def __eq__(self, other: object) -> bool:
        return self is other

    @override
    def __hash__(self) -> int:
        return id(self)

    def __lt__(self, other: object) -> bool:
        return False

    def __gt__(self, other: object) -> bool:
        return self is not other


LAST = _Last()


_PLAIN = frozenset({int, float, str})
"""Types whose values all compare with each other."""


@record(eq=False)
class SortKey:
    """``queue_sort_key`` of a plugin; a pod without a key that compares with the others' goes last."""

    plugin: str
    key: Callable[[QueuedPodInfo], Any]
    on_fault: FaultFn
    _sample: Any = field(default=LAST, init=False)
    _plain: tuple[type, ...] = field(default=(), init=False)
    """The types of the parts of the sample, if it is a tuple of plain values."""
    _float_at: tuple[int, ...] = field(default=(), init=False)
    """Positions of the floats among them, which may be NaN."""

    def of(self, info: QueuedPodInfo) -> Any:
        """Return the key of *info*; O(1) on top of the plugin's."""
        try:
            key = self.key(info)
        except BaseException as error:  # noqa: BLE001 - a pod must not be lost between two pools
            self.on_fault(self.plugin, error, info.pod)
            return LAST
        if self._plain and type(key) is tuple and tuple(map(type, key)) == self._plain:
            for at in self._float_at:
                if key[at] != key[at]:  # NaN
                    break
            else:
                return key
        if _compare(key, key) and (self._sample is LAST or _compare(key, self._sample)):
            if self._sample is LAST:
                self._take_sample(key)
            return key
        wanted = "a value that can be compared with those of the other pods"
        _invalid(self, "queue_sort_key", key, wanted, info.pod)
        return LAST

    def _take_sample(self, key: Any) -> None:
        self._sample = key
        if type(key) is tuple and _PLAIN.issuperset(types := tuple(map(type, key))):
            self._plain = types
            self._float_at = tuple(at for at, each in enumerate(types) if each is float)


def _compare(one: Any, other: Any) -> bool:
    """Return whether two keys compare in every part: tuples are compared by the first part that differs.

    A value that differs from itself, as NaN does, has no place in an order.
    """
    if (type(one) is tuple) is not (type(other) is tuple):
        return False
    if type(one) is tuple:
        return len(one) == len(other) and all(map(_compare, one, other))
    try:
        bool(one < other)
        return not ne(one, one)
    except plugin_faults():  # the comparison is the plugin's code
        return False


@record(eq=False)
class SortLess:
    """``queue_sort_less`` of a plugin; where it fails, neither pod goes before the other."""

    plugin: str
    less: Callable[[QueuedPodInfo, QueuedPodInfo], Any]
    on_fault: FaultFn

    def __call__(self, first: QueuedPodInfo, second: QueuedPodInfo) -> bool:
        """Return whether *first* goes before *second*."""
        try:
            answer = self.less(first, second)
        except BaseException as error:  # noqa: BLE001 - as above
            self.on_fault(self.plugin, error, first.pod)
            return False
        if answer is True or answer is False:
            return answer
        _invalid(self, "queue_sort_less", answer, "True or False", first.pod)
        return False


def _invalid(order: SortKey | SortLess, hook: str, answer: Any, wanted: str, pod: Pod) -> None:
    text = f"plugin {order.plugin} answered {shown(answer)} at {hook}; return {wanted}"
    order.on_fault(order.plugin, PluginError(text), pod)
