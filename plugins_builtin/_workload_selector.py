"""Selector of the workload of a pod: of its services and its controller together.

Source of the rules: kube-scheduler's helper.DefaultSelector.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, TypeAlias

from attrs import define, field

from schedframe import InputError, LabelSelector, ObjectStore, Pod
from schedframe.api import IN, CompiledSelector, Requirement, compile_label_selector

_Label: TypeAlias = tuple[str, str]
_Selectors: TypeAlias = dict[_Label, list[Mapping[str, str]]]

_CONTROLLERS: Final = {
    ("v1", "ReplicationController"): "ReplicationController",
    ("apps/v1", "ReplicaSet"): "ReplicaSet",
    ("apps/v1", "StatefulSet"): "StatefulSet",
}

WORKLOAD_KINDS: Final = ("Service", *_CONTROLLERS.values())
"""Kinds whose objects select pods."""


@define(eq=False)
class WorkloadSelectors:
    """Index of the services and controllers in *objects* by the pods that they select."""

    _objects: ObjectStore
    _version: int = 0  # of the indexed services
    _services: dict[str, _Selectors] = field(factory=dict)
    """Namespace → one label of the selector → selectors that require that label."""

    def selector_of(self, pod: Pod) -> CompiledSelector | None:
        """Return the conjunction of the selectors of the services that select *pod*, and of its controller.

        ``None`` if there is none with a selector. Equal selectors are one object. O(labels of the pod), and
        O(services) after a service changed.
        """
        metadata = pod.metadata
        services = self._objects.version("Service")
        if not services and not metadata.owner_references:
            return None
        labels: dict[str, str] = {}
        if services:
            selectors = self._by_label().get(pod.namespace)
            if selectors is not None:
                _merge_matching(labels, selectors, metadata.labels)
        controller = self._controller(pod) if metadata.owner_references else None
        if isinstance(controller, Mapping):
            labels.update(controller)
            controller = None
        if not labels and controller is None:
            return None
        return combined_selector(frozenset(labels.items()), controller)

    def services_of(self, pod: Pod) -> list[Mapping[str, str]]:
        """Return the selectors of the services that select *pod*, in the order of the labels of the pod.

        O(labels of the pod), and O(services) after a service changed.
        """
        selectors = self._by_label().get(pod.namespace) if self._objects.version("Service") else None
        return [] if selectors is None else list(_matching(selectors, pod.labels))

    def _controller(self, pod: Pod) -> Mapping[str, str] | LabelSelector | None:
        """Return the selector of the controller of *pod*; ``None`` if it is of another kind or unknown."""
        for owner in pod.metadata.owner_references:
            if owner.controller:
                kind = _CONTROLLERS.get((owner.api_version, owner.kind))
                key = f"{pod.namespace}/{owner.name}"
                controller = None if kind is None else self._objects.get(kind, key)
                if controller is None:
                    return None
                selector: Mapping[str, str] | LabelSelector | None = controller.spec.selector
                return selector
        return None

    def _by_label(self) -> dict[str, _Selectors]:
        version = self._objects.version("Service")
        if self._version != version:
            self._services = {}
            for service in self._objects.list("Service"):
                selector = service.spec.selector
                if selector:
                    label = next(iter(selector.items()))
                    self._services.setdefault(service.namespace, {}).setdefault(label, []).append(selector)
            self._version = version
        return self._services


def _merge_matching(merged: dict[str, str], selectors: _Selectors, labels: Mapping[str, str]) -> None:
    """Add to *merged* all selectors that *labels* satisfy; they agree because one pod satisfies them all."""
    for selector in _matching(selectors, labels):
        merged.update(selector)


def _matching(selectors: _Selectors, labels: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    """Yield those of *selectors* that *labels* satisfy."""
    for label in labels.items():
        for selector in selectors.get(label, ()):
            if selector.items() <= labels.items():
                yield selector


@lru_cache(maxsize=8192)
def combined_selector(
    labels: frozenset[_Label], controller: LabelSelector | None = None
) -> CompiledSelector | None:
    """Return the selector of pods with *labels* that *controller* selects; equal ones are one object.

    ``None`` if nothing is selected by.
    """
    requirements = [Requirement(key, IN, (value,)) for key, value in labels]
    if controller is not None:
        try:
            requirements += compile_label_selector(controller).requirements or ()
        except InputError:
            # The reference ignores a controller whose selector it cannot parse.
            return combined_selector(labels, None)
    return CompiledSelector(requirements) if requirements else None
