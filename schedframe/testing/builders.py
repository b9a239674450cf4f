"""Manifests that read like sentences: ``pod("web").requests(cpu="500m").labels(app="web")``.

Builders are mappings, and therefore manifests: whatever takes a manifest (a cluster, a simulation,
``evaluate``) takes them as they are. ``build()`` gives the API object. Each call gives a new builder.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, ClassVar, Final, Self

from typing_extensions import override

from .._base.brief import shortened
from ..api import (
    DO_NOT_SCHEDULE,
    LABEL_HOSTNAME,
    LABEL_ZONE,
    NO_SCHEDULE,
    SCHEDULE_ANYWAY,
    Node,
    Pod,
    from_manifest,
)

NONE: Final[Mapping[str, Any]] = {}


class ManifestBuilder(Mapping[str, Any]):
    """A manifest with methods that give a changed copy."""

    kind: ClassVar[str] = ""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = dict(document)

    @override
    def __getitem__(self, key: str) -> Any:
        return self._document[key]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._document)

    @override
    def __len__(self) -> int:
        return len(self._document)

    @override
    def __repr__(self) -> str:
        return shortened(f"<{self.kind} {json.dumps(self._document)}>")

    def labels(self, labels: Mapping[str, str] = NONE, /, **more: str) -> Self:
        """With these labels; those that are no Python names as a mapping."""
        return self._with("metadata", "labels", {**labels, **more})

    def annotations(self, annotations: Mapping[str, str] = NONE, /, **more: str) -> Self:
        """With these annotations."""
        return self._with("metadata", "annotations", {**annotations, **more})

    def _with(self, *path_and_values: Any) -> Self:
        """Return a copy with more in the mapping at a path, or with more at the end of the list there."""
        *path, values = path_and_values
        document = deepcopy(self._document)
        place: dict[str, Any] = document
        for step in path[:-1]:
            place = place.setdefault(step, {})
        last = path[-1]
        if isinstance(values, dict):
            place[last] = {**place.get(last, {}), **values}
        elif isinstance(values, list):
            place[last] = [*place.get(last, []), *values]
        else:
            place[last] = values
        return type(self)(document)


class PodBuilder(ManifestBuilder):
    """The manifest of a pod with one container; see :func:`pod`."""

    kind = "Pod"

    def build(self) -> Pod:
        """Return the pod. :class:`schedframe.InputError` for amounts and the like that cannot be read."""
        built = from_manifest(self)
        assert isinstance(built, Pod)
        return built

    def requests(self, amounts: Mapping[str, str | int] = NONE, /, **more: str | int) -> Self:
        """Asking for ``cpu="500m"``, ``memory="1Gi"``, or ``{"example.com/gpu": 1}``."""
        resources = self._document["spec"]["containers"][0].get("resources", {})
        requests = {**resources.get("requests", {}), **amounts, **more}
        return self._in_container("resources", {**resources, "requests": requests})

    def image(self, image: str) -> Self:
        """Running that image."""
        return self._in_container("image", image)

    def host_port(self, port: int, *, protocol: str = "TCP") -> Self:
        """Listening on a port of the node."""
        ports = self._document["spec"]["containers"][0].get("ports", [])
        return self._in_container(
            "ports", [*ports, {"containerPort": port, "hostPort": port, "protocol": protocol}]
        )

    def in_namespace(self, namespace: str) -> Self:
        """In that namespace."""
        return self._with("metadata", "namespace", namespace)

    def priority(self, priority: int) -> Self:
        """Of that priority."""
        return self._with("spec", "priority", priority)

    def on_node(self, name: str) -> Self:
        """Running there already."""
        return self._with("spec", "nodeName", name)

    def for_scheduler(self, name: str) -> Self:
        """To be placed by the profile of that name."""
        return self._with("spec", "schedulerName", name)

    def gated_by(self, *gates: str) -> Self:
        """Held back by scheduling gates."""
        return self._with("spec", "schedulingGates", [{"name": gate} for gate in gates])

    # ---- where it wants to be ----------------------------------------------------------------------------

    def needs_node_labels(self, labels: Mapping[str, str] = NONE, /, **more: str) -> Self:
        """Only on nodes with these labels."""
        return self._with("spec", "nodeSelector", {**labels, **more})

    def needs_zone(self, *zones: str) -> Self:
        """Only in these zones."""
        selector = {"nodeSelectorTerms": [_in(LABEL_ZONE, zones)]}
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        return self._with("spec", "affinity", "nodeAffinity", {required: selector})

    def prefers_zone(self, zone: str, *, weight: int = 1) -> Self:
        """Rather in that zone; *weight* is from 1 to 100."""
        return self.prefers_node_labels({LABEL_ZONE: zone}, weight=weight)

    def prefers_node_labels(self, labels: Mapping[str, str], *, weight: int = 1) -> Self:
        """Rather on nodes with these labels."""
        expressions = [_in(key, [value])["matchExpressions"][0] for key, value in labels.items()]
        term = {"weight": weight, "preference": {"matchExpressions": expressions}}
        return self._with(
            "spec", "affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution", [term]
        )

    def tolerates(self, key: str, value: str | None = None, *, effect: str = "") -> Self:
        """In spite of taints with that key (and value, and effect, where given)."""
        toleration = {"key": key, "operator": "Exists"} if value is None else {"key": key, "value": value}
        return self._with("spec", "tolerations", [{**toleration, **({"effect": effect} if effect else {})}])

    def near(self, labels: Mapping[str, str], *, topology_key: str = LABEL_HOSTNAME) -> Self:
        """Only where pods with these labels run."""
        return self._pod_affinity("podAffinity", labels, topology_key)

    def away_from(self, labels: Mapping[str, str], *, topology_key: str = LABEL_HOSTNAME) -> Self:
        """Never where pods with these labels run."""
        return self._pod_affinity("podAntiAffinity", labels, topology_key)

    def spread_over(
        self, topology_key: str, *, labels: Mapping[str, str], max_skew: int = 1, strictly: bool = True
    ) -> Self:
        """Evenly among the domains, together with pods of these labels."""
        constraint = {
            "maxSkew": max_skew,
            "topologyKey": topology_key,
            "whenUnsatisfiable": DO_NOT_SCHEDULE if strictly else SCHEDULE_ANYWAY,
            "labelSelector": {"matchLabels": dict(labels)},
        }
        return self._with("spec", "topologySpreadConstraints", [constraint])

    def _pod_affinity(self, kind: str, labels: Mapping[str, str], topology_key: str) -> Self:
        term = {"labelSelector": {"matchLabels": dict(labels)}, "topologyKey": topology_key}
        return self._with("spec", "affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution", [term])

    def _in_container(self, field: str, value: Any) -> Self:
        document = deepcopy(self._document)
        document["spec"]["containers"][0][field] = value
        return type(self)(document)


class NodeBuilder(ManifestBuilder):
    """The manifest of a node; see :func:`node`."""

    kind = "Node"

    def build(self) -> Node:
        """Return the node. :class:`schedframe.InputError` for amounts and the like that cannot be read."""
        built = from_manifest(self)
        assert isinstance(built, Node)
        return built

    def allocatable(self, amounts: Mapping[str, str | int] = NONE, /, **more: str | int) -> Self:
        """With room for ``cpu="4"``, ``memory="8Gi"``, ``pods=20``, or ``{"example.com/gpu": 2}``."""
        return self._with(
            "status", "allocatable", {key: str(each) for key, each in {**amounts, **more}.items()}
        )

    def in_zone(self, zone: str) -> Self:
        """In that zone."""
        return self.labels({LABEL_ZONE: zone})

    def taint(self, key: str, value: str = "", *, effect: str = NO_SCHEDULE) -> Self:
        """Keeping pods away that do not tolerate it."""
        return self._with("spec", "taints", [{"key": key, "value": value, "effect": effect}])

    def cordoned(self) -> Self:
        """Closed for new pods."""
        return self._with("spec", "unschedulable", True)

    def image(self, name: str, size: int) -> Self:
        """Having an image of *size* bytes."""
        return self._with("status", "images", [{"names": [name], "sizeBytes": size}])


def _in(key: str, values: Any) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}


def pod(name: str) -> PodBuilder:
    """Return a pod of that name in the namespace ``default``, with one container that asks for nothing."""
    return PodBuilder(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"containers": [{"name": "main"}]},
        }
    )


def node(name: str, *, cpu: str | int = 4, memory: str = "8Gi", pods: int = 110) -> NodeBuilder:
    """Return a node of that name with some room, and its name as the label ``kubernetes.io/hostname``."""
    return NodeBuilder(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {LABEL_HOSTNAME: name}},
            "status": {"allocatable": {"cpu": str(cpu), "memory": memory, "pods": str(pods)}},
        }
    )
