"""Admission: one object after the other becomes what an API server would store, or is refused.

The order is the server's: defaults, mutating plugins (LimitRanger, Priority, DefaultTolerationSeconds,
DefaultStorageClass, RuntimeClass), label keys, then the checks of LimitRanger and RuntimeClass, and the
quotas. An object with a uid and a resource version has been stored by a server and stays as it is. Admitting
an object twice changes nothing the second time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from attrs import evolve, field

from ..._base.value import record
from ...api import (
    ClusterObject,
    LimitRange,
    Namespace,
    PersistentVolumeClaim,
    Pod,
    PodGroup,
    PodSpec,
    PriorityClass,
    ResourceQuota,
    RuntimeClass,
    StorageClass,
    Strict,
)
from .changes import Change, lines_of
from .defaulting import default_claim, default_namespace, default_pod
from .label_keys import label_keys, with_label_keys
from .limit_ranges import ANNOTATION, LimitRanger
from .parts import AdmissionPart, parts_of
from .priorities import Priorities
from .quotas import Quotas
from .refusal import AdmissionRefused
from .runtime_classes import RuntimeClasses
from .storage_classes import DefaultStorageClass
from .tolerations import with_default_tolerations

T = TypeVar("T")
Mutating = Callable[[T, list[Change]], T]
Check = Callable[[T], None]
Steps = tuple[tuple[AdmissionPart, T], ...]


@record(frozen=True, eq=False)
class Admitted:
    """An object as the API server would store it; the same one if nothing was missing.

    ``notes`` are about what would be refused and is not here, such as the quotas that are used up.
    """

    object: Any
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()


@record(frozen=True, eq=False)
class _Outcome:
    """Result of admission for pods with the same spec in the same namespace."""

    spec: PodSpec | None
    """``None``: the same."""
    annotation: str | None
    changes: tuple[Change, ...]


@record(eq=False)
class Admission:
    """Knows the classes, limits and quotas of a cluster. Not for several threads."""

    limit_ranger: LimitRanger = field(factory=LimitRanger)
    priorities: Priorities = field(factory=lambda: Priorities.of(()))
    storage_class: DefaultStorageClass = field(factory=DefaultStorageClass)
    runtime_classes: RuntimeClasses = field(factory=RuntimeClasses)
    quotas: Quotas = field(factory=Quotas)
    without: Collection[AdmissionPart] = frozenset()
    done: Counter[Change] = field(factory=Counter, init=False)
    """Change → number of objects."""
    _token: object = field(factory=object, init=False, repr=False)

    @classmethod
    def of(
        cls,
        objects: Iterable[Any],
        *,
        without: Iterable[AdmissionPart | str] = (),
        keep_priorities: bool = False,
    ) -> Admission:
        """Return an admission that knows the classes, limit ranges and quotas among *objects*.

        *without*: parts that are left out. *keep_priorities*: a pod keeps its ``spec.priority`` unless it
        names a class that is there, as programs and manifests for a simulation have it; an API server
        refuses such a pod. Raises :class:`InputError` for an unknown part.
        """
        every = list(objects)
        return cls(
            LimitRanger.of(_of_kind(every, LimitRange)),
            Priorities.of(_of_kind(every, PriorityClass), keep=keep_priorities),
            DefaultStorageClass.of(_of_kind(every, StorageClass)),
            RuntimeClasses.of(_of_kind(every, RuntimeClass)),
            Quotas.of(_of_kind(every, ResourceQuota), filter(is_stored, every)),
            parts_of(without),
        )

    def admit(self, obj: Any, *, strict: Strict = True) -> Admitted:
        """Return *obj* as the API server would store it.

        Raises :class:`AdmissionRefused`, an :class:`InputError`, where a plugin refuses it. *strict*:
        ``False`` leaves out what that plugin would do instead, and a function is called with each refusal.
        """
        if not isinstance(obj, ClusterObject) or is_stored(obj):
            return Admitted(obj)
        admitted = self._admitted(obj, strict)
        self.done.update(dict.fromkeys(admitted.changes, 1))
        return admitted

    def lines(self, *, routine: bool = False) -> list[str]:
        """Return what was done so far: a line for each deed, with the number of objects.

        *routine*: also what happens to nearly every object.
        """
        return lines_of(self.done, routine=routine)

    def _admitted(self, obj: ClusterObject, strict: Strict) -> Admitted:
        changes: list[Change] = []
        if isinstance(obj, Pod):
            pod, found = self._admitted_pod(obj, strict)
            changes += found
            return self._with_notes(pod, changes)
        if isinstance(obj, PersistentVolumeClaim):
            claim, _ = _run(obj, self._claim_steps(), self._claim_checks(), changes, strict)
            return self._with_notes(claim, changes)
        if isinstance(obj, PodGroup):
            group_steps = self._enabled((AdmissionPart.PRIORITY, self.priorities.resolve_group))
            group, _ = _run(obj, group_steps, (), changes, strict)
            return Admitted(group, tuple(changes))
        if isinstance(obj, Namespace) and AdmissionPart.DEFAULTS not in self.without:
            return Admitted(default_namespace(obj))
        return Admitted(obj)

    def _with_notes(self, obj: Pod | PersistentVolumeClaim, changes: list[Change]) -> Admitted:
        is_counted = AdmissionPart.RESOURCE_QUOTA not in self.without
        notes = tuple(self.quotas.notes(obj, changes)) if is_counted else ()
        return Admitted(obj, tuple(changes), notes)

    def _admitted_pod(self, pod: Pod, strict: Strict) -> tuple[Pod, tuple[Change, ...]]:
        """Return *pod* as it is stored. Pods with one spec are admitted once, and share the result."""
        memo, spec = pod.spec.memo, pod.spec
        token, outcomes = memo.get(_MEMO, (None, None))
        if token is not self._token:
            outcomes = {}
            memo[_MEMO] = self._token, outcomes
        labels = tuple(pod.labels.get(key) for key in label_keys(spec))
        key = (pod.namespace, labels, ANNOTATION in pod.metadata.annotations)
        outcome: _Outcome | None = outcomes.get(key)
        if outcome is not None:
            return _as_outcome(pod, outcome), outcome.changes
        changes: list[Change] = []
        admitted, is_accepted = _run(pod, self._pod_steps(), self._pod_checks(), changes, strict)
        if is_accepted:
            is_annotated = admitted.metadata is not pod.metadata
            annotation = admitted.metadata.annotations[ANNOTATION] if is_annotated else None
            same = admitted.spec is spec
            outcomes[key] = _Outcome(None if same else admitted.spec, annotation, tuple(changes))
        return admitted, tuple(changes)

    def _pod_steps(self) -> Steps[Mutating[Pod]]:
        return self._enabled(
            (AdmissionPart.DEFAULTS, default_pod),
            (AdmissionPart.LIMIT_RANGER, self.limit_ranger.fill),
            (AdmissionPart.PRIORITY, self.priorities.resolve),
            (AdmissionPart.DEFAULT_TOLERATION_SECONDS, with_default_tolerations),
            (AdmissionPart.RUNTIME_CLASS, self.runtime_classes.apply),
            (AdmissionPart.DEFAULTS, with_label_keys),
        )

    def _pod_checks(self) -> Steps[Check[Pod]]:
        return self._enabled(
            (AdmissionPart.LIMIT_RANGER, self.limit_ranger.check_pod),
            (AdmissionPart.RUNTIME_CLASS, self.runtime_classes.check),
        )

    def _claim_steps(self) -> Steps[Mutating[PersistentVolumeClaim]]:
        return self._enabled(
            (AdmissionPart.DEFAULTS, default_claim),
            (AdmissionPart.DEFAULT_STORAGE_CLASS, self.storage_class.fill),
        )

    def _claim_checks(self) -> Steps[Check[PersistentVolumeClaim]]:
        return self._enabled((AdmissionPart.LIMIT_RANGER, self.limit_ranger.check_claim))

    def _enabled(self, *steps: tuple[AdmissionPart, T]) -> Steps[T]:
        return tuple(step for step in steps if step[0] not in self.without)


def _run(
    obj: T, steps: Steps[Mutating[T]], checks: Steps[Check[T]], changes: list[Change], strict: Strict
) -> tuple[T, bool]:
    """Return *obj* after all *steps*, and whether no part refuses it."""
    refused: set[AdmissionPart] = set()
    for part, step in steps:
        with _refusals(part, refused, strict):
            obj = step(obj, changes)
    for part, check in checks:
        if part not in refused:
            with _refusals(part, refused, strict):
                check(obj)
    return obj, not refused


@contextmanager
def _refusals(part: AdmissionPart, refused: set[AdmissionPart], strict: Strict) -> Iterator[None]:
    """Treat a refusal that is raised inside as *strict* says; *refused* gets *part*."""
    try:
        yield
    except AdmissionRefused as refusal:
        if strict is True:
            raise
        refused.add(part)
        if callable(strict):
            for each in refusal.errors:
                strict(each)


_MEMO: Final = object()  # key in spec.memo


def is_stored(obj: Any) -> bool:
    """Return whether an API server has stored *obj*: it has a uid and a resource version."""
    metadata = obj.metadata if isinstance(obj, ClusterObject) else None
    return metadata is not None and bool(metadata.uid and metadata.resource_version)


def _of_kind(objects: Iterable[Any], kind: type[T]) -> Iterator[T]:
    return (obj for obj in objects if isinstance(obj, kind))


def _as_outcome(pod: Pod, outcome: _Outcome) -> Pod:
    spec, node_name = outcome.spec, pod.spec.node_name
    if spec is None:
        return pod
    if spec.node_name != node_name:
        spec = spec.with_node_name(node_name)
    if outcome.annotation is None:
        return evolve(pod, spec=spec)
    annotations = {**pod.metadata.annotations, ANNOTATION: outcome.annotation}
    return evolve(pod, metadata=evolve(pod.metadata, annotations=annotations), spec=spec)
