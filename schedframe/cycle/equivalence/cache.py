"""The remembered classes of all profiles, within a bound on memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any
from weakref import WeakValueDictionary

from attrs import define, field, frozen

from ...api import Pod
from ...framework import Framework
from ...state import ObjectStore
from .cacheability import SplitPlan, split
from .equivalence_class import PodClass
from .node_columns import NodeView
from .spec_memo import Known
from .status_codes import MOST_STATUSES

DEFAULT_BYTES = 256 * 2**20
MAX_CLASSES = 4096
"""Classes that are kept unless ``remember`` says otherwise. One that was not used while that many others were
has nearly every row to evaluate again, so keeping it saves little."""
MADE_AT_ONCE = 16
"""Beyond so many classes one is made for the second of its pods: to make it costs more than to do without."""
MOST_OUTLINED = 32
"""Of more classes each one is away for so long that too much of what it knows of groups is no more."""
MOST_ONCE = 8192
"""So many kinds of pods that were seen once are known."""
PODS_WITHOUT_CLASS = 1000
"""Pods with the key of a class that failed before the class is made again."""
_MEMO = object()
"""Key under which a pod's spec remembers its class."""


@frozen(cache_hash=True)
class ClassKey:
    """What pods of a class have in common. Its hash is that of all that plugins read, so it is kept."""

    profile: str
    of_nodes: tuple[Any, ...]
    """Signatures for the plugins that look at nodes alone."""
    of_pods: tuple[Any, ...]
    """Signatures for the other remembered ones."""


@define(eq=False)
class RememberedClasses:
    """Finds the class of a pod.

    O(1) for a pod that shares its spec with the last one that did, and equals it in namespace, labels,
    annotations and owners, O(plugins) otherwise. Classes are dropped when there are too many, or too large
    ones: the oldest that was not used since it was last spared.
    """

    objects: ObjectStore
    limit: int | None = None
    """Classes kept at most, besides ``max_bytes``; ``None``: :data:`MAX_CLASSES`."""
    max_bytes: int = DEFAULT_BYTES
    _classes: OrderedDict[ClassKey, PodClass] = field(factory=OrderedDict)
    _views: WeakValueDictionary[Any, NodeView] = field(factory=WeakValueDictionary)
    """What classes share; gone with the last of them."""
    _splits: dict[Framework, SplitPlan | None] = field(factory=dict)
    _once: dict[ClassKey, bool] = field(factory=dict)
    """Keys of pods that were seen once, the last one at the end; the value is always false."""
    _faulty: dict[ClassKey, int] = field(factory=dict)
    """Key of a class that failed → pods for which it is not made again."""
    _bytes: int = 0
    _trusted: int = 0
    """For so many more looks at it ``_bytes`` is believed without counting again."""

    def lookup(self, framework: Framework, pod: Pod) -> Known | None:
        """What is known of pods like *pod*, its class made if need be; ``None`` if it has none."""
        known: Known | None = pod.spec.memo.get(_MEMO)
        if known is None or not known.is_of(framework, pod):
            parts = self._parts(framework)
            key = None if parts is None else self._key(framework, parts, pod)
            if parts is None or key is None or (self._faulty and self._is_faulty(key)):
                return None
            found = self._get(key, framework, parts, pod)
            if found is None:
                return None
            known = Known(framework, pod.metadata, key, found)
            pod.spec.memo[_MEMO] = known
        known.found.recent = True
        return known

    def _parts(self, framework: Framework) -> SplitPlan | None:
        try:
            return self._splits[framework]
        except KeyError:
            parts = self._splits[framework] = split(framework)
            return parts

    def _key(self, framework: Framework, parts: SplitPlan, pod: Pod) -> ClassKey | None:
        of_nodes, of_pods = signed(parts.node_signatures, pod), signed(parts.pod_signatures, pod)
        if of_nodes is None or of_pods is None:
            return None
        return ClassKey(framework.profile_name, of_nodes, of_pods)

    def _get(self, key: ClassKey, framework: Framework, parts: SplitPlan, pod: Pod) -> PodClass | None:
        """The class of that key; ``None`` for the first pod of one of many kinds: there may be no other."""
        found = self._classes.get(key)
        if found is not None:
            return found
        if len(self._classes) >= MADE_AT_ONCE and self._once.pop(key, True) and not self._takes_turns(key):
            self._once[key] = False
            if len(self._once) > MOST_ONCE:
                del self._once[next(iter(self._once))]
            return None
        view = self._view((key.profile, key.of_nodes), framework, parts, pod)
        outline = len(self._classes) < MOST_OUTLINED
        found = self._classes[key] = PodClass(framework, parts, pod, self.objects, view, outline=outline)
        self._bytes += found.nbytes
        while len(self._classes) > 1 and self._too_much():
            dropped = self._pop_oldest()
            self._bytes -= dropped.nbytes
            dropped.forget()
        return found

    def drop(self, framework: Framework, pod: Pod) -> ClassKey | None:
        """Evict the class of *pod* after a fault, and all that share columns with it; its key, if it has one.

        The class is not made again for the next :data:`PODS_WITHOUT_CLASS` pods with that key.
        """
        parts = self._parts(framework)
        key = None if parts is None else self._key(framework, parts, pod)
        if key is None:
            return None
        self._faulty[key] = PODS_WITHOUT_CLASS
        view = self._views.pop((key.profile, key.of_nodes), None)
        for each, found in list(self._classes.items()):
            if each == key or found.view is view:
                del self._classes[each]
                found.forgotten, found.usable = True, False
        self._trusted = 0  # count again before anything is evicted for its size
        return key

    def _is_faulty(self, key: ClassKey) -> bool:
        left = self._faulty.get(key)
        if left is None:
            return False
        if left > 1:
            self._faulty[key] = left - 1
        else:
            del self._faulty[key]
        return True

    def _pop_oldest(self) -> PodClass:
        # To note that a class was used costs next to nothing, to keep classes in order as much as to use one.
        key, found = next(iter(self._classes.items()))
        while found.recent:
            found.recent = False
            self._classes.move_to_end(key)
            key, found = next(iter(self._classes.items()))
        return self._classes.pop(key)

    def _takes_turns(self, key: ClassKey) -> bool:
        """Whether to make a class for the pod costs no more than to do without."""
        view = self._views.get((key.profile, key.of_nodes))
        if view is None or not view.takes_turns(view.users + len(self._once) + 1):
            return False
        return view.board().welcomes_new()

    def _view(self, key: Any, framework: Framework, parts: SplitPlan, pod: Pod) -> NodeView:
        view = self._views.get(key)
        # A plugin that words its reasons anew for each pod would fill the numbering, which many share.
        if view is None or not view.refresh() or len(view.numbering.statuses) > MOST_STATUSES:
            view = self._views[key] = NodeView(framework, parts, pod, self.objects)
            self._bytes += view.nbytes
        return view

    def _too_much(self) -> bool:
        if len(self._classes) > (MAX_CLASSES if self.limit is None else self.limit):
            return True
        if not self._trusted:
            self._bytes = self._counted()
            self._trusted = len(self._classes)
        self._trusted -= 1
        return self._bytes > self.max_bytes

    def _counted(self) -> int:
        """What all classes take now: they grow with the table, and with the answers that they keep.

        As much work as there are classes, and so not done more often than for every so many looks.
        """
        views = {id(kept.view): kept.view for kept in self._classes.values()}
        classes = sum(kept.nbytes for kept in self._classes.values())
        return classes + sum(view.nbytes for view in views.values())

    def __len__(self) -> int:
        return len(self._classes)


def signed(signatures: Iterable[Any], pod: Pod) -> tuple[Any, ...] | None:
    """What plugins read of *pod*; ``None`` if one of them cannot say: such pods go the long way, which needs
    no signature.
    """
    found = []
    for signature in signatures:
        try:
            value = signature(pod)
            hash(value)
        except Exception:  # noqa: BLE001 - as if it had said that it cannot
            return None
        if value is None:
            return None
        found.append(value)
    return tuple(found)
