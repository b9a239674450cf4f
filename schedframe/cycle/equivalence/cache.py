"""EquivalenceCache: class key to class for all profiles, least recently used evicted beyond a byte bound."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from attrs import field

from ..._base.value import record
from ...api import Pod
from ...framework import Framework
from ...state import ObjectStore
from . import policy
from .cacheability import CacheablePlan, partition_plan
from .class_key import ClassKey, class_key
from .equivalence_class import EquivalenceClass
from .node_columns import NodeColumns
from .policy import IndexKind, Policy
from .shared import SharedIndexes
from .spec_memo import SpecMemo

_MEMO = object()  # key of the SpecMemo in the memo of a pod's spec


@record(eq=False, repr=False)
class EquivalenceCache:
    """Finds the class of a pod.

    O(1) for a pod that shares its spec with the last one that did, and equals it in namespace, labels,
    annotations and owners, O(plugins) otherwise. Too many or too large classes are evicted by the CLOCK rule:
    the oldest one that was not used since it was last spared. Where pods of ever new keys come and go, those
    that are not used any more are evicted as well.
    """

    objects: ObjectStore
    limit: int | None = None
    """Classes at most, within the byte bound; ``None``: as many as ``policy`` says."""
    policy: Policy = field(factory=lambda: policy.DEFAULT)
    on_signature_failure: Callable[[Framework, Pod], None] = lambda framework, pod: None
    """Called for a pod whose signature some plugin failed to tell."""
    _classes: OrderedDict[ClassKey, EquivalenceClass] = field(factory=OrderedDict)
    _shared: WeakValueDictionary[Any, SharedIndexes] = field(factory=WeakValueDictionary)
    """By profile and node signature; gone with the last class."""
    _plans: dict[Framework, CacheablePlan | None] = field(factory=dict)
    _postponed: dict[int, int] = field(factory=dict)
    """Hash of a key without a class → pods that the full search decides before one is made; last seen at the
    end. A key may take kilobytes, and two that share a hash only lose or gain a visit.
    """
    _new_keys: int = 0
    """Keys without a class that were looked up since the last :meth:`_drop_idle`."""
    _bytes: int = 0
    _trusted: int = 0
    """Checks for which ``_bytes`` is used without counting again."""

    def lookup(self, framework: Framework, pod: Pod) -> SpecMemo | None:
        """Return the class of *pod*, made if need be; ``None`` if it has none."""
        # Pods of a workload share one spec, so most lookups end here without a key.
        memo: SpecMemo | None = pod.spec.memo.get(_MEMO)
        if memo is None or not memo.is_of(framework, pod):
            plan = self._plan(framework)
            if plan is None:
                return None
            failed = partial(self.on_signature_failure, framework, pod)
            key = class_key(framework.profile_name, plan, pod, failed)
            if key is None:
                return None
            eq_class = self._classes.get(key)
            if eq_class is None:
                if self._postpones(key):
                    return None
                eq_class = self._make(key, framework, plan, pod)
            memo = SpecMemo(framework, pod.metadata, key, eq_class)
            pod.spec.memo[_MEMO] = memo
        memo.eq_class.referenced = True
        return memo

    def is_shared_outcome(self, framework: Framework, pod: Pod) -> bool:
        """Return whether the last decision about *pod* goes for pods with equal spec and metadata.

        That is: cached answers alone made it, and no uncached plugin had anything to say. O(kinds).
        """
        memo: SpecMemo | None = pod.spec.memo.get(_MEMO)
        if memo is None or not memo.is_of(framework, pod) or not memo.eq_class.cacheable:
            return False
        eq_class = memo.eq_class
        if eq_class.plan.node_filters and (eq_class.columns is None or eq_class.columns.feasible):
            return False  # filters that never skip rejected some of the rows
        return memo.all_skip(pod, self.objects) is not None

    def classes(self) -> list[EquivalenceClass]:
        """Return all classes, oldest first."""
        return list(self._classes.values())

    def __len__(self) -> int:
        return len(self._classes)

    def _plan(self, framework: Framework) -> CacheablePlan | None:
        if framework not in self._plans:
            self._plans[framework] = partition_plan(framework)
        return self._plans[framework]

    def _postpones(self, key: ClassKey) -> bool:
        """Return whether this pod gets no class: its class failed, or it may be the only one with its key."""
        hashed = hash(key)
        pods = self._postponed.pop(hashed, None)
        if pods is None:
            self._new_keys += 1
            if self._new_keys >= self.policy.idle_keys:
                self._drop_idle()
            pods = int(len(self._classes) >= self.policy.eager_classes and not self._pays_at_once(key))
        if pods:
            self._postponed[hashed] = pods - 1
            if len(self._postponed) > 2 * self.policy.classes:
                # A list of keys seen once must not outgrow the classes that it spares.
                del self._postponed[next(iter(self._postponed))]
        return pods > 0

    def _make(self, key: ClassKey, framework: Framework, plan: CacheablePlan, pod: Pod) -> EquivalenceClass:
        shared = self._shared_by((key.profile, key.node_signature), framework, plan, pod)
        eq_class = self._classes[key] = EquivalenceClass(framework, plan, pod, self.objects, shared)
        self._bytes += eq_class.nbytes
        # The new class stays whatever its size: its pod is decided by it next.
        while len(self._classes) > 1 and self._too_much():
            evicted = self._pop_oldest()
            self._bytes -= evicted.nbytes
            evicted.evict()
        return eq_class

    def _pays_at_once(self, key: ClassKey) -> bool:
        """Return whether a class pays for its first pod: it does in a score matrix."""
        shared = self._shared.get((key.profile, key.node_signature))
        if shared is None:
            return False
        classes = shared.users + len(self._postponed) + 1
        return shared.index_for(classes) is IndexKind.MATRIX

    def _shared_by(self, key: Any, framework: Framework, plan: CacheablePlan, pod: Pod) -> SharedIndexes:
        shared = self._shared.get(key)
        # A plugin that words its reasons differently for each pod would fill the status codes.
        if (
            shared is None
            or not shared.node_columns.refresh()
            or len(shared.node_columns.status_codes.statuses) > self.policy.answers
        ):
            columns = NodeColumns(framework.handle.table, plan, pod, self.objects)
            shared = self._shared[key] = SharedIndexes(columns, self.policy)
            self._bytes += shared.nbytes
        return shared

    # ---- eviction ----------------------------------------------------------------------------------------

    def drop(self, framework: Framework, pod: Pod) -> ClassKey | None:
        """Discard the class of *pod* after a fault, and all that share something with it; return its key.

        The class is not made again for the next ``policy.retry_after`` pods with that key.
        """
        # Without a plan it was the plan that failed: nothing of the profile is cached from now on.
        plan = self._plans.setdefault(framework, None)
        key = None if plan is None else class_key(framework.profile_name, plan, pod)
        if key is None:
            return None
        self._postponed[hash(key)] = self.policy.retry_after
        # Which part is wrong is not known: whatever shares an index or column with the class goes too.
        shared = self._shared.pop((key.profile, key.node_signature), None)
        for each, eq_class in list(self._classes.items()):
            if each == key or eq_class.shared is shared:
                del self._classes[each]
                eq_class.discard()
        self._trusted = 0  # count again before anything is evicted for its size
        return key

    def _drop_idle(self) -> None:
        """Drop the classes that were not used since this was done last. O(classes)."""
        self._new_keys = 0
        for key, eq_class in list(self._classes.items()):
            if eq_class.referenced:
                eq_class.referenced = False
            else:
                del self._classes[key]
                self._bytes -= eq_class.nbytes
                eq_class.evict()

    def _pop_oldest(self) -> EquivalenceClass:
        # Setting a bit at each use costs next to nothing, keeping classes in order as much as using one.
        key, eq_class = next(iter(self._classes.items()))
        while eq_class.referenced:
            eq_class.referenced = False
            self._classes.move_to_end(key)
            key, eq_class = next(iter(self._classes.items()))
        return self._classes.pop(key)

    def _too_much(self) -> bool:
        if len(self._classes) > (self.policy.classes if self.limit is None else self.limit):
            return True
        if not self._trusted:
            self._bytes = self._counted()
            self._trusted = len(self._classes)
        self._trusted -= 1
        return self._bytes > self.policy.max_bytes

    def _counted(self) -> int:
        """Bytes of all classes and what they share: they grow with the table and with memoised answers.

        O(classes), and so not done more often than once in as many checks.
        """
        shared = {id(each.shared): each.shared for each in self._classes.values()}
        classes = sum(eq_class.nbytes for eq_class in self._classes.values())
        return classes + sum(each.nbytes for each in shared.values())

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if a class is not consistent; O(classes x rows)."""
        for eq_class in self._classes.values():
            eq_class.check_invariants()
