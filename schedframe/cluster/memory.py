"""A whole cluster in memory: what simulations run in, and what tests of schedulers talk to."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

from attrs import evolve, field

from .._base.brief import brief_of
from .._base.checked import check_arguments, checked, checked_except
from .._base.validators import collection
from .._base.value import record
from .._base.wording import described
from ..api import DISRUPTION_TARGET, AnyObject, ClusterObject, Pod, PodCondition, Strict, from_manifest
from ..errors import InputError
from .consistency import check_objects
from .delivery import Delivery
from .failures import Failures, Match, may_fail
from .kinds import check_kinds
from .port import BindNotFound, ClusterPort, Conflict, NotFound, Subscription, WatchEvent, WatchHandler
from .preconditions import check_bindable
from .recorded_event import RecordedEvent
from .stamps import stamped_meta, status_with, with_metadata
from .uids import Uids

Objects = list[Any]

_EVICTED = PodCondition(DISRUPTION_TARGET, "True", "EvictionByEvictionAPI", "Eviction API: evicting")


@checked_except("objects")
@record(eq=False)
class InMemoryCluster(ClusterPort):
    """The objects of a cluster, their changes, and the watchers of these.

    A :class:`ClusterPort` that also creates, updates and deletes any object of :mod:`schedframe.api`, given
    as a value or as a manifest. It does what the API server does as far as schedulers can see: uids and
    creation times where there are none, a new resource version with each change, finalizers, preconditions.

    Thread-safe. Handlers run without a lock being held, in one order of all changes, in the thread that
    changed something unless another one is delivering; a handler may call the cluster, and the events of that
    are delivered after the one under way. All operations are O(1) but ``list`` and the first events of
    ``watch``, which are O(objects of the kind).
    """

    _initial: Iterable[AnyObject] = field(default=(), alias="objects")
    clock: Callable[[], float] = field(default=time.time, kw_only=True)
    """Seconds since the epoch, for timestamps."""
    graceful: bool = field(default=False, kw_only=True)
    """Deleting a pod that has a node only marks it; :meth:`finish_deletion` makes it go."""
    kinds: tuple[type[ClusterObject], ...] = field(default=(), kw_only=True)
    """Classes of kinds that manifests may have besides those that are known anyway."""
    strict: Strict = field(default=True, kw_only=True)
    """Treatment of manifests that Kubernetes would refuse, as for :func:`~schedframe.api.from_manifest`."""
    event_capacity: int = field(default=4096, kw_only=True)
    """How many recorded events are kept, the latest ones; 0 keeps none."""
    _objects: defaultdict[str, dict[str, Any]] = field(init=False)
    uids: Uids = field(init=False, repr=False)
    _lingering: set[str] = field(factory=set, init=False)
    _events: deque[RecordedEvent] = field(init=False)
    _version: int = field(default=0, init=False)
    _delivery: Delivery = field(factory=Delivery, init=False)
    _failures: Failures = field(factory=Failures, init=False)

    def __attrs_post_init__(self) -> None:
        self._objects = defaultdict(self._new_keys)
        self._events = deque(maxlen=self.event_capacity)
        self.uids = Uids(self._objects, defaultdict(self._new_keys))
        initial, self._initial = self._initial, ()
        for obj in collection("objects", initial, "give a list of API values or manifests"):
            self.create(obj)

    def _new_keys(self) -> dict[str, Any]:
        """Return the dictionary for the objects, or the uids, of one kind."""
        return {}

    # ---- reading ----

    if not TYPE_CHECKING:  # type checkers take the overloads by kind

        @may_fail
        def get(self, kind: str, key: str) -> Any | None:
            """Return the object of *kind* with that key, or None; :class:`InputError` for an unknown kind."""
            found = None
            if kind in self._objects:
                found = self._objects[kind].get(key)
            else:
                check_kinds((kind,), self._objects)
            if found is None and not isinstance(key, str):
                check_arguments(InMemoryCluster.get, kind, key)
            return found

        @may_fail
        def list(self, kind: str) -> Objects:
            """Return all objects of *kind* by creation. Raises :class:`InputError` for an unknown kind."""
            with self._delivery.lock:
                check_kinds((kind,), self._objects)
                return [*self._objects.get(kind, {}).values()]

    def copied(self) -> tuple[dict[str, dict[str, Any]], int]:
        """Return all objects by kind and key, in dictionaries of their own, and the last resource version."""
        with self._delivery.lock:
            return {kind: {**objects} for kind, objects in self._objects.items()}, self._version

    @property
    def events(self) -> tuple[RecordedEvent, ...]:
        """The events of :meth:`record_event`, oldest first, as far as they are kept."""
        return tuple(self._events)

    @may_fail
    @checked
    def watch(self, handler: WatchHandler, kinds: Iterable[str] | None = None) -> Subscription:
        """Tell *handler* the present state, kind by kind (in the order of *kinds*), then every change.

        From inside a handler, or while another thread delivers, the first events come after this returned.
        An error of a handler at the first events closes the watch. An unknown kind is an InputError.
        """
        kinds = None if kinds is None else tuple(kinds)
        check_kinds(kinds or (), self._objects)
        with self._delivery.lock:
            state = [obj for kind in kinds or self._objects for obj in self._objects.get(kind, {}).values()]
            watch = self._delivery.join(handler, kinds, state)
        try:
            self._delivery.deliver()
        except BaseException:
            watch.close()
            raise
        return watch

    # ---- writing ----

    @may_fail
    def create(self, obj: AnyObject) -> Any:
        """Add an object and return it as stored. Raises :class:`Conflict` if its key is taken, and
        :class:`InputError` if its uid is that of another object of its kind, as of a copied manifest.
        """
        obj = self._named(obj)
        kind, key = obj.KIND, obj.key
        with self._delivery.lock:
            objects = self._objects[kind]
            if key in objects:
                raise Conflict(f"{kind} {key} is there already; update it, or give the new one another name")
            if obj.uid:
                self.uids.check((obj,))
            stored = objects[key] = self._stamped(obj, None)
            self._queue("ADDED", kind, None, stored)
        self._delivery.deliver()
        return stored

    @may_fail
    def update(self, obj: AnyObject) -> Any:
        """Replace the object of that key and return it as stored.

        Raises :class:`NotFound`, and :class:`Conflict` if *obj* has a uid or resource version and the stored
        one another. An object that was only waiting for its last finalizer to go is deleted.
        """
        obj = self._as_object(obj)
        with self._delivery.lock:
            stored = self._replace(self._stored(obj), obj)
        self._delivery.deliver()
        return stored

    @may_fail
    def apply(self, obj: AnyObject) -> Any:
        """Create the object or replace what is there, whatever version; one with a new uid is a new one."""
        obj = self._named(obj)
        with self._delivery.lock:
            current = self._objects[obj.KIND].get(obj.key)
            if current is not None and obj.uid in ("", current.uid):
                stored = self._replace(current, obj)
            else:
                self.uids.check((obj,))
                if current is not None:
                    self._remove(current)
                stored = self._objects[obj.KIND][obj.key] = self._stamped(obj, None)
                self._queue("ADDED", obj.KIND, None, stored)
        self._delivery.deliver()
        return stored

    @may_fail
    def delete(self, target: AnyObject | str, key: str = "") -> None:
        """Delete an object, given as such or by kind and *key*: ``delete("Pod", "shop/web-1")``.

        Raises :class:`NotFound`, and :class:`Conflict` if the given object has another uid than the stored.

        One with finalizers, or a pod on a node in a ``graceful`` cluster, is only marked; deleting it again
        does nothing.
        """
        obj = None if isinstance(target, str) else self._as_object(target)
        named = self._objects.get(str(target), {})
        with self._delivery.lock:
            current = named.get(key) if obj is None else self._stored(obj, any_version=True)
            if current is None:
                check_kinds((str(target),), self._objects)
                raise NotFound(f"{target} {key} is not there")
            self._delete(current)
        self._delivery.deliver()

    @checked
    def finish_deletion(self, key: str) -> None:
        """Let a pod go that ``graceful`` deletion marked. Raises :class:`NotFound` if there is none."""
        with self._delivery.lock:
            if key not in self._lingering:
                raise NotFound(f"Pod {key} is not waiting for its deletion to finish")
            self._lingering.discard(key)
            pod = self._objects[Pod.KIND][key]
            if not pod.metadata.finalizers:
                self._remove(pod)
        self._delivery.deliver()

    # ---- the scheduler's requests ----

    def bind(self, pod: Pod, node_name: str) -> None:
        """Bind *pod* to the node, which need not exist. Raises :class:`BindNotFound`, :class:`BindConflict`,
        and :class:`BindRefused` without a node.
        """
        if not isinstance(pod, Pod):
            raise InputError("pod", f"{described(pod)} is not a Pod", "give a Pod of the cluster")
        if not isinstance(node_name, str):
            raise InputError("node_name", f"{described(node_name)} is not a name", "give the name of a node")
        # As may_fail does it for all others, without passing on any arguments: this happens to each pod.
        if self._failures.waiting:
            with self._failures.around("bind", pod):
                self._bind(pod, node_name)
        else:
            self._bind(pod, node_name)

    def _bind(self, pod: Pod, node_name: str) -> None:
        key, delivery = pod.key, self._delivery
        with delivery.lock:
            pods = self._objects["Pod"]
            current: Pod | None = pods.get(key)
            if current is None:
                raise BindNotFound(f"Pod {key} is not there")
            there = current.spec.node_name
            if there and there == node_name and pod.uid in ("", current.uid):
                return
            check_bindable(current, pod, node_name)
            self._version = version = self._version + 1
            placed = pod if pod.spec.node_name == node_name else current.with_node_name(node_name)
            pods[key] = new = current.bound_as(placed, str(version))
            if delivery.watches:
                delivery.put(WatchEvent("MODIFIED", "Pod", current, new))
        delivery.deliver()

    @may_fail
    def patch_pod_status(
        self, pod: Pod, *, condition: PodCondition | None = None, nominated_node_name: str | None = None
    ) -> None:
        """See :class:`ClusterPort`."""
        if not isinstance(condition, PodCondition | None) or not isinstance(nominated_node_name, str | None):
            check_arguments(InMemoryCluster.patch_pod_status, pod, condition=condition)
            check_arguments(InMemoryCluster.patch_pod_status, pod, nominated_node_name=nominated_node_name)
        with self._delivery.lock:
            self._patch_status(self._stored(pod, any_version=True), condition, nominated_node_name)
        self._delivery.deliver()

    @may_fail
    @checked
    def evict(self, pod: Pod, *, condition: PodCondition | None = None) -> None:
        """See :class:`ClusterPort`. Without a condition it is the one that the eviction API sets."""
        with self._delivery.lock:
            current = self._stored(pod, any_version=True)
            if current.metadata.deletion_timestamp is None:
                self._delete(self._patch_status(current, condition or _EVICTED, None))
        self._delivery.deliver()

    @may_fail
    def record_event(
        self,
        obj: ClusterObject,
        type: Literal["Normal", "Warning"],
        reason: str,
        message: str,
        action: str = "",
    ) -> None:
        """Keep a note about *obj* among :attr:`events`."""
        if self.event_capacity:
            noted = RecordedEvent(obj.KIND, obj.key, obj.uid, type, reason, message, action, self.clock())
            self._events.append(noted)

    # ---- for tests ----

    @checked
    def fail_next(
        self,
        operation: str,
        error: Exception | type[Exception],
        times: int = 1,
        match: Match | None = None,
        *,
        applied: bool = False,
    ) -> None:
        """Make the next *times* calls of *operation* (``"bind"``, …) raise *error*.

        *match* is given the first argument of the call and says whether it is meant. ``applied``: the
        operation takes effect all the same, as when only the answer is lost.
        """
        self._failures.order(operation, error, times, match, applied)

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` unless keys, versions and marks fit the objects. O(n)."""
        check_objects(self._objects, self.uids, self._version, self._lingering)

    # ---- with the lock held, but for the first two ----

    def _as_object(self, obj: AnyObject) -> ClusterObject:
        if isinstance(obj, ClusterObject):
            return obj
        return from_manifest(obj, kinds=self.kinds, strict=self.strict)

    def _named(self, obj: AnyObject) -> ClusterObject:
        named = self._as_object(obj)
        if named.name:
            return named
        metadata = named.metadata
        if not metadata.generate_name:
            raise InputError("metadata.name", f"a {named.KIND} has no name", "give it one, or a generateName")
        with self._delivery.lock:
            self._version += 1
            name = f"{metadata.generate_name}{self._version:05d}"
        return evolve(named, metadata=evolve(metadata, name=name))  # type: ignore[misc]  # all are attrs classes

    def _stored(self, obj: ClusterObject, *, any_version: bool = False) -> Any:
        """Return what is there under the key of *obj*, if it is the same object."""
        current = self._objects[obj.KIND].get(obj.key)
        if current is None:
            raise NotFound(f"{obj.KIND} {obj.key} is not there")
        if obj.uid not in ("", current.uid):
            raise Conflict(
                f"{obj.KIND} {obj.key} has uid {current.uid} now, not {obj.uid}: deleted and created again"
            )
        version, present = obj.metadata.resource_version, current.metadata.resource_version
        if not any_version and version not in ("", present):
            raise Conflict(f"{obj.KIND} {obj.key} is at version {present}, not {version}; read it again")
        return current

    def _stamped(self, obj: ClusterObject, current: Any | None) -> Any:
        """*obj* as it is stored in the place of *current*, or as a new object, in a new version."""
        metadata = obj.metadata
        self._version = version = self._version + 1
        if current is None:
            uid, created = self.uids.take(obj.KIND, metadata.uid, version), metadata.creation_timestamp
            created = self.clock() if created is None else created
            deleted = metadata.deletion_timestamp
        else:
            uid, created = current.uid, current.metadata.creation_timestamp
            deleted = current.metadata.deletion_timestamp or metadata.deletion_timestamp
        return with_metadata(obj, stamped_meta(metadata, uid, str(version), created, deleted))

    def _replace(self, current: Any, obj: ClusterObject) -> Any:
        new = self._stamped(obj, current)
        released = current.metadata.finalizers and not new.metadata.finalizers
        if released and new.metadata.deletion_timestamp is not None and new.key not in self._lingering:
            self._remove(current)
            return new
        return self._put(current, new)

    def _put(self, current: Any, new: Any) -> Any:
        self._objects[new.KIND][new.key] = new
        self._queue("MODIFIED", new.KIND, current, new)
        return new

    def _patch_status(self, current: Pod, condition: PodCondition | None, nominated: str | None) -> Pod:
        status = status_with(current.status, condition, nominated, self.clock())
        if status is current.status:
            return current
        self._version += 1
        patched: Pod = self._put(current, current.restated(status, str(self._version)))
        return patched

    def _delete(self, current: Any) -> None:
        lingers = self.graceful and current.KIND == Pod.KIND and current.node_name
        if not lingers and not current.metadata.finalizers:
            self._remove(current)
        elif current.metadata.deletion_timestamp is None:
            self._version += 1
            old = current.metadata
            metadata = stamped_meta(old, old.uid, str(self._version), old.creation_timestamp, self.clock())
            self._put(current, with_metadata(current, metadata))
            if lingers:
                self._lingering.add(current.key)

    def _remove(self, current: Any) -> None:
        del self._objects[current.KIND][current.key]
        self.uids.release(current.KIND, current.uid)
        if current.KIND == Pod.KIND:
            self._lingering.discard(current.key)
        self._queue("DELETED", current.KIND, current, None)

    def _queue(self, type: Literal["ADDED", "MODIFIED", "DELETED"], kind: str, old: Any, new: Any) -> None:
        if self._delivery.watches:
            self._delivery.put(WatchEvent(type, kind, old, new))

    def __repr__(self) -> str:
        return brief_of(self, **{kind: len(objects) for kind, objects in self._objects.items() if objects})
