"""Hide names and labels in manifests so that scheduling decides the same.

Every text is replaced by a hash, equal texts by equal ones, so selectors and references still match. Only
texts that Kubernetes itself defines are left: enumerations, amounts, times, numbers, keys below
``kubernetes.io``.
Annotations are dropped, but for those that scheduling reads. The salt is random and not kept.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import Any, Final

from attrs import define, field

PLAIN_KEYS: Final = frozenset(
    {
        "apiVersion",
        "kind",
        "operator",
        "effect",
        "phase",
        "type",
        "status",
        "reason",
        "protocol",
        "restartPolicy",
        "preemptionPolicy",
        "whenUnsatisfiable",
        "nodeAffinityPolicy",
        "nodeTaintsPolicy",
        "schedulerName",
        "qosClass",
        "accessModes",
        "volumeMode",
        "volumeBindingMode",
        "provisioner",
        "attacher",
        "driver",
        "creationTimestamp",
        "deletionTimestamp",
        "startTime",
        "lastTransitionTime",
        "resourceVersion",
        "finalizers",
        "unhealthyPodEvictionPolicy",
        "os",
        "expression",
        "allocationMode",
        "extendedResourceName",
    }
)
"""Fields whose texts are kept: their values are Kubernetes' own, or a driver's."""
PLAIN_TREES: Final = frozenset(
    {"requests", "limits", "capacity", "allocatable", "overhead", "allocatedResources"}
)
"""Fields that hold amounts by the name of a resource."""
LABEL_MAPS: Final = frozenset({"labels", "matchLabels", "nodeSelector", "selector"})
"""Fields with keys of labels."""
KEYS_OF_LABELS: Final = frozenset({"key", "topologyKey", "matchLabelKeys", "mismatchLabelKeys"})
"""Fields whose texts are keys of labels or taints."""
READ_ANNOTATIONS: Final = re.compile(r"([a-z]+\.)*kubernetes\.io/.*")
"""Keys of annotations that are kept; the values are hidden."""

_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?%?")
_FLAGS: Final = frozenset({"", "true", "false", "yes", "no"})


@define(eq=False)
class Anonymizer:
    """Replaces texts by hashes; one object for all manifests of a cluster."""

    _salt: bytes = field(factory=lambda: secrets.token_bytes(16), repr=False)

    def text(self, text: str) -> str:
        """Return the replacement of *text*, a valid name; numbers and flags stay."""
        if text in _FLAGS or _NUMBER.fullmatch(text):
            return text
        return "x" + hashlib.sha256(self._salt + text.encode()).hexdigest()[:12]

    def key(self, key: str) -> str:
        """Return the replacement of the key of a label or taint; those of Kubernetes stay."""
        domain, slash, _ = key.rpartition("/")
        if slash and (domain == "kubernetes.io" or domain.endswith((".kubernetes.io", ".k8s.io"))):
            return key
        return self.text(key)

    def manifest(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """Return *manifest* with all names and labels hidden."""
        return {name: self._value(name, value) for name, value in manifest.items()}

    def _value(self, name: str, value: Any) -> Any:
        if name in PLAIN_KEYS or name in PLAIN_TREES:
            return value
        if isinstance(value, str):
            return self.key(value) if name in KEYS_OF_LABELS else self.text(value)
        if isinstance(value, list):
            return [self._value(name, each) for each in value]
        if not isinstance(value, dict):
            return value
        if name == "annotations":
            read = {key: each for key, each in value.items() if READ_ANNOTATIONS.fullmatch(key)}
            return {key: self._value("", each) for key, each in read.items()}
        if name in LABEL_MAPS and all(isinstance(each, str) for each in value.values()):
            return {self.key(key): self.text(each) for key, each in value.items()}
        return self.manifest(value)
