"""Hide names and labels in manifests so that scheduling decides the same.

Every text is replaced by a hash, equal texts by equal ones, so selectors and references still match. Only
texts that Kubernetes itself defines are left: enumerations, amounts, times, numbers, keys below
``kubernetes.io``; and those of drivers, with the attributes of their devices, which expressions name.
Annotations are dropped, but for those that scheduling reads. The salt is random and not kept.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence
from typing import Any, Final

from attrs import define, field

from ..api import CSIDriver, DeviceClass, Pod

PLAIN_KEYS: Final = frozenset(
    {
        "accessModes",
        "action",
        "allocationMode",
        "apiGroup",
        "apiVersion",
        "attacher",
        "bindingConditions",
        "bindingFailureConditions",
        "capacity",
        "creationTimestamp",
        "declaredFeatures",
        "deletionTimestamp",
        "deviceClassName",
        "disruptionMode",
        "distinctAttribute",
        "driver",
        "effect",
        "expression",
        "extendedResourceName",
        "finalizers",
        "fsType",
        "imagePullPolicy",
        "kind",
        "lastTransitionTime",
        "matchAttribute",
        "maximumVolumeSize",
        "nodeAffinityPolicy",
        "nodeTaintsPolicy",
        "operator",
        "persistentVolumeReclaimPolicy",
        "phase",
        "preemptionPolicy",
        "protocol",
        "provisioner",
        "pullPolicy",
        "qosClass",
        "reason",
        "reclaimPolicy",
        "resize",
        "resource",
        "resourceName",
        "resourceVersion",
        "restartPolicy",
        "schedulerName",
        "source",
        "startTime",
        "status",
        "type",
        "unhealthyPodEvictionPolicy",
        "volumeBindingMode",
        "volumeMode",
        "whenUnsatisfiable",
    }
)
"""Fields whose texts are kept: their values are Kubernetes' own, amounts, or a driver's."""
PLAIN_NAMES: Final = frozenset({("os", "name"), ("drivers", "name")})
"""(Field, field in it) whose texts are kept; drivers are those of a CSINode, to which ``driver`` refers."""
PLAIN_TREES: Final = frozenset(
    {
        "allocatable",
        "allocatedResources",
        "attributes",
        "capacity",
        "consumedCapacity",
        "counters",
        "limits",
        "overhead",
        "requests",
    }
)
"""Fields with amounts by the name of a resource, and with attributes of devices, which expressions read."""
LABEL_MAPS: Final = frozenset({"labels", "matchLabels", "nodeSelector", "selector"})
"""Fields with keys of labels."""
KEYS_OF_LABELS: Final = frozenset(
    {"key", "topologyKey", "topologyKeys", "matchLabelKeys", "mismatchLabelKeys"}
)
"""Fields whose texts are keys of labels or taints."""
PLAIN_KINDS: Final = frozenset({CSIDriver.KIND, DeviceClass.KIND})
"""Kinds whose names are kept: ``driver`` refers to the one, a name of a resource may contain the other."""
NAME_MAPS: Final = frozenset({"disruptedPods"})
"""Fields whose keys are names of objects."""
IMAGES: Final = frozenset({"image", "names", "reference"})
"""Fields with names of images; ``names`` are those on a node."""
PATHS: Final = frozenset({"request", "requests"})
"""Fields with names, or a name and that of a part of it with a slash between them."""
READ_ANNOTATIONS: Final = re.compile(r"([a-z]+\.)*kubernetes\.io/.*")
"""Keys of annotations that are kept; the values are hidden."""
PLAIN_ANNOTATIONS: Final = frozenset({"storage.alpha.kubernetes.io/migrated-plugins"})
"""Keys of annotations whose values are kept, too: names of drivers of Kubernetes itself."""

_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?%?")
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9:]+)")
_KEPT: Final = frozenset({"", "true", "false", "yes", "no", "default", "0.0.0.0"})
"""Texts that mean something to Kubernetes: flags, the namespace of objects without one, every address."""
_FIELD_KEY: Final = "metadata.name"
"""Key of the only field by which a pod selects nodes."""


@define(eq=False)
class Anonymizer:
    """Replaces texts by hashes; one object for all manifests of a cluster."""

    _salt: bytes = field(factory=lambda: secrets.token_bytes(16), repr=False)
    _claims: dict[str, str] = field(factory=dict, init=False, repr=False)
    """Name of a claim of an ephemeral volume → its replacement, made as the name is: of pod and volume."""

    def manifests(self, manifests: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the objects of a cluster with all names and labels hidden."""
        for each in manifests:
            if each.get("kind") == Pod.KIND:
                self._learn_claims(each["metadata"]["name"], each["spec"].get("volumes", ()))
        return [self.manifest(each) for each in manifests]

    def _learn_claims(self, pod: str, volumes: Sequence[dict[str, Any]]) -> None:
        for volume in volumes:
            if "ephemeral" in volume:
                name = volume["name"]
                self._claims[f"{pod}-{name}"] = f"{self.text(pod)}-{self.text(name)}"

    def text(self, text: str) -> str:
        """Return the replacement of *text*, a valid name; numbers, times and flags stay.

        The label of a volume that is in several zones joins their names by two underscores.
        """
        if text in _KEPT or _NUMBER.fullmatch(text) or _TIME.fullmatch(text):
            return text
        return self._claims.get(text) or "__".join(map(self._hash, text.split("__")))

    def _hash(self, text: str) -> str:
        return "x" + hashlib.sha256(self._salt + text.encode()).hexdigest()[:12]

    def key(self, key: str) -> str:
        """Return the replacement of the key of a label or taint; those of Kubernetes stay."""
        domain, slash, _ = key.rpartition("/")
        if slash and (domain == "kubernetes.io" or domain.endswith((".kubernetes.io", ".k8s.io"))):
            return key
        return key if key == _FIELD_KEY else self.text(key)

    def image(self, image: str) -> str:
        """Return the replacement of the name of an image.

        It has a tag, as a name without one means ``latest`` in a pod: equal names stay equal so.
        """
        tagged = image if not image or image.rfind(":") > image.rfind("/") else f"{image}:latest"
        return f"{self.text(tagged)}:x" if image else image

    def manifest(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """Return *manifest* with all names and labels hidden."""
        hidden = self._fields("", manifest)
        if manifest.get("kind") in PLAIN_KINDS:
            hidden["metadata"]["name"] = manifest["metadata"]["name"]
        return hidden

    def _fields(self, within: str, values: dict[str, Any]) -> dict[str, Any]:
        return {
            name: value if (within, name) in PLAIN_NAMES else self._value(name, value)
            for name, value in values.items()
        }

    def _value(self, name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [self._item(name, each) for each in value]
        if isinstance(value, dict):
            return self._mapping(name, value)
        return self._text_of(name, value) if isinstance(value, str) else value

    def _item(self, name: str, item: Any) -> Any:
        return self._fields(name, item) if isinstance(item, dict) else self._value(name, item)

    def _mapping(self, name: str, values: dict[str, Any]) -> dict[str, Any]:
        if name in PLAIN_TREES:
            return values
        if name == "annotations":
            read = {key: each for key, each in values.items() if READ_ANNOTATIONS.fullmatch(key)}
            return {key: each if key in PLAIN_ANNOTATIONS else self.text(each) for key, each in read.items()}
        if name in LABEL_MAPS and all(isinstance(each, str) for each in values.values()):
            return {self.key(key): self.text(each) for key, each in values.items()}
        if name in NAME_MAPS:
            return {self.text(key): self._value("", each) for key, each in values.items()}
        return self._fields(name, values)

    def _text_of(self, name: str, text: str) -> str:
        if name in PLAIN_KEYS:
            return text
        if name in KEYS_OF_LABELS:
            return self.key(text)
        if name in IMAGES:
            return self.image(text)
        if name in PATHS:
            return "/".join(map(self.text, text.split("/")))
        return self.text(text)
