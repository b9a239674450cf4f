"""Reads and writes of single objects, with the checks of an API server: versions, uids, immutable fields."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random
from typing import Any, Final

from attrs import field

from ..._base.value import record
from .creation import admitted, first_status, new_metadata, new_uid, seconds_text
from .kinds import ServedKind
from .patches import check_form, patched
from .refusals import Refusal
from .store import Store

Obj = dict[str, Any]

_SET_BY_SERVER: Final = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_FIXED_UID: Final = "metadata.uid: Invalid value: field is immutable"
POD_GRACE_SECONDS: Final = 30
"""Seconds that a bound pod gets to end, unless it says otherwise."""
_CHANGEABLE_IN_PODS: Final = frozenset(
    {"schedulingGates", "tolerations", "activeDeadlineSeconds", "containers"}
)
"""Fields of a pod's spec that a client may change."""


@record(eq=False)
class Objects:
    """The objects of a server, and what requests do to them. Any thread may call it."""

    store: Store
    clock: Callable[[], float] = time.time
    """Seconds since the epoch, for times that the server writes."""
    graceful: bool = False
    """Whether a bound pod ends only when something (a kubelet) deletes it with a grace period of 0."""
    _rng: Random = field(factory=lambda: Random(0), init=False)

    # ---- reading -----------------------------------------------------------------------------------------

    def get(self, kind: ServedKind, key: str) -> Obj:
        """Return an object. Raises :class:`Refusal` (404)."""
        obj = self.store.get(kind, key)
        if obj is None:
            raise Refusal(404, f"{kind.qualified} {key.rpartition('/')[2]!r} not found")
        return obj

    # ---- writing -----------------------------------------------------------------------------------------

    def create(self, kind: ServedKind, namespace: str, obj: Obj, *, trusted: bool = False) -> Obj:
        """Store a new object, and return it. *trusted*: with the status that it has, as no client may."""
        with self.store.lock:
            metadata = new_metadata(obj, namespace if kind.namespaced else "", self.clock(), self._rng)
            key = kind.key(namespace, metadata["name"])
            if self.store.get(kind, key) is not None:
                message = f"{kind.qualified} {metadata['name']!r} already exists"
                raise Refusal(409, message, reason="AlreadyExists")
            metadata["uid"] = (trusted and metadata.get("uid")) or new_uid(self._rng)
            metadata["generation"] = 1
            made = {"kind": kind.kind, "apiVersion": kind.api_version, **obj, "metadata": metadata}
            made = made if trusted else first_status(kind, made)
            return self.store.put(kind, key, admitted(self.store, kind, made, self.clock()))

    def update(self, kind: ServedKind, key: str, obj: Obj, subresource: str = "") -> Obj:
        """Replace an object, or its status, and return it."""
        with self.store.lock:
            return self._write(kind, key, self.get(kind, key), obj, subresource)

    def patch(self, kind: ServedKind, key: str, patch: Any, content_type: str, subresource: str = "") -> Obj:
        """Change an object, or its status, and return it."""
        check_form(content_type, is_custom=kind.is_custom)
        with self.store.lock:
            present = self.get(kind, key)
            new = patched(present, patch, content_type)
            check_version(kind, key, present, new["metadata"])
            if new["metadata"]["uid"] != present["metadata"]["uid"]:
                # Not a conflict, for a patch changes the object that it finds.
                raise Refusal(422, f"{kind.kind} {present['metadata']['name']!r} is invalid: {_FIXED_UID}")
            return self._write(kind, key, present, new, subresource)

    def _write(self, kind: ServedKind, key: str, present: Obj, new: Obj, subresource: str) -> Obj:
        check_preconditions(kind, key, present, new.get("metadata") or {})
        status_only = subresource == "status"
        if subresource and not (status_only and kind.has_status):
            raise Refusal(404, "the server could not find the requested resource")
        metadata = {**(new.get("metadata") or {}), "name": present["metadata"]["name"]}
        for name in (*_SET_BY_SERVER, "resourceVersion", "namespace", "generation"):
            metadata.pop(name, None)
            if name in present["metadata"]:
                metadata[name] = present["metadata"][name]
        if status_only:
            # Labels, annotations and finalizers of kinds that are built in can be written this way, too.
            kept = {**present["metadata"]} if kind.is_custom else metadata
            made = {**present, "metadata": kept, "status": new.get("status") or {}}
        else:
            made = {**new, "kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}
            if kind.has_status:
                made.pop("status", None)
                made |= {"status": present["status"]} if "status" in present else {}
            _check_immutable(kind, present, made)
            if made.get("spec") != present.get("spec"):
                metadata["generation"] = present["metadata"].get("generation", 0) + 1
        if made == present:
            return present
        stored = self.store.put(kind, key, made)
        return self._end_if_free(kind, key, stored)

    def _end_if_free(self, kind: ServedKind, key: str, obj: Obj) -> Obj:
        """Delete an object whose deletion waited for its finalizers alone."""
        metadata = obj["metadata"]
        waits = metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
        if "deletionTimestamp" in metadata and not waits:
            self.store.drop(kind, key)
        return obj

    def delete(self, kind: ServedKind, key: str, options: Obj | None = None) -> Obj | None:
        """Delete an object, and return it if it lives on for a while: for a finalizer, or to end."""
        options = options or {}
        with self.store.lock:
            present = self.get(kind, key)
            check_preconditions(kind, key, present, options.get("preconditions") or {})
            grace = self._grace_of(kind, present, options.get("gracePeriodSeconds"))
            is_kept = bool(grace or present["metadata"].get("finalizers"))
            # A pod is shown as terminating before it is gone, even if it gets no time.
            shows_end = is_kept or kind.kind == "Pod"
            if shows_end and present["metadata"].get("deletionGracePeriodSeconds") != grace:
                metadata = {**present["metadata"], "deletionGracePeriodSeconds": grace}
                metadata.setdefault("deletionTimestamp", seconds_text(self.clock() + grace))
                present = self.store.put(kind, key, {**present, "metadata": metadata})
            if is_kept:
                return present
            self.store.drop(kind, key)
            return None

    def _grace_of(self, kind: ServedKind, obj: Obj, asked: int | None) -> int:
        spec = obj.get("spec") or {}
        if kind.kind != "Pod" or not self.graceful or not spec.get("nodeName"):
            return 0
        return asked if asked is not None else spec.get("terminationGracePeriodSeconds", POD_GRACE_SECONDS)

    def bind(self, kind: ServedKind, key: str, binding: Obj) -> None:
        """Give a pod its node, as ``pods/binding`` does."""
        target = binding.get("target") or {}
        if not target.get("name") or target.get("kind", "Node") != "Node":
            raise Refusal(500, "target.name: Required value")
        with self.store.lock:
            pod = self.get(kind, key)
            check_preconditions(kind, key, pod, binding.get("metadata") or {})
            _check_unbound(kind, pod)
            condition = {
                "type": "PodScheduled",
                "status": "True",
                "lastProbeTime": None,
                "lastTransitionTime": seconds_text(self.clock()),
            }
            status = {key: value for key, value in pod["status"].items() if key != "nominatedNodeName"}
            others = [each for each in status.get("conditions") or () if each["type"] != "PodScheduled"]
            status["conditions"] = [*others, condition]
            spec = {**pod["spec"], "nodeName": target["name"]}
            self.store.put(kind, key, {**pod, "spec": spec, "status": status})


def check_preconditions(kind: ServedKind, key: str, present: Obj, given: Obj) -> None:
    """Raise :class:`Refusal` (409) if *given* has another uid or resource version than the object."""
    uid, actual = given.get("uid"), present["metadata"]["uid"]
    if uid and uid != actual:
        problem = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {actual}"
        raise _conflict(kind, key, problem)
    check_version(kind, key, present, given)


def check_version(kind: ServedKind, key: str, present: Obj, given: Obj) -> None:
    """Raise :class:`Refusal` (409) if *given* has another resource version than the object."""
    version = given.get("resourceVersion")
    if version and version != present["metadata"]["resourceVersion"]:
        problem = "the object has been modified; please apply your changes to the latest version"
        raise _conflict(kind, key, problem)


def _conflict(kind: ServedKind, key: str, problem: str) -> Refusal:
    name = key.rpartition("/")[2]
    return Refusal(409, f"Operation cannot be fulfilled on {kind.qualified} {name!r}: {problem}")


def _check_unbound(kind: ServedKind, pod: Obj) -> None:
    name, spec = pod["metadata"]["name"], pod["spec"]
    problem = ""
    if pod["metadata"].get("deletionTimestamp"):
        problem = f"pod {name} is being deleted, cannot be assigned to a host"
    elif spec.get("nodeName"):
        problem = f"pod {name} is already assigned to node {spec['nodeName']!r}"
    elif spec.get("schedulingGates"):
        problem = f"pod {name} has non-empty .spec.schedulingGates"
    if problem:
        raise Refusal(409, f"Operation cannot be fulfilled on {kind.qualified}/binding {name!r}: {problem}")


def _check_immutable(kind: ServedKind, present: Obj, new: Obj) -> None:
    if kind.kind != "Pod":
        return
    old_spec, new_spec = present.get("spec") or {}, new.get("spec") or {}
    changed = {key for key in {*old_spec, *new_spec} if old_spec.get(key) != new_spec.get(key)}
    if changed - _CHANGEABLE_IN_PODS:
        fields = ", ".join(f"spec.{key}" for key in sorted(changed - _CHANGEABLE_IN_PODS))
        raise Refusal(422, f"{fields}: Forbidden: pod updates may not change this field")
