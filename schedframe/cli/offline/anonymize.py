"""Hide the names in manifests of a cluster, and in its configuration, so that scheduling decides the same.

Works on what a snapshot keeps, by the sorts of its fields (:mod:`.snapshot_fields`): texts are replaced
(:mod:`.replacements`) but for words and names that Kubernetes itself defines. Selectors of devices are
replaced by the devices that they select (:mod:`.device_kinds`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from attrs import field

from ..._base.value import record
from ...api import (
    CONTROLLER_KINDS,
    KINDS,
    CSIDriver,
    Namespace,
    Pod,
    ResourceClaim,
    ResourceClaimTemplate,
)
from ...api.affinity import NodeAffinity, TopologySpreadConstraint
from .device_kinds import EXPRESSION, KIND_ATTRIBUTE
from .replacements import Replacements
from .snapshot_fields import KEPT, Sort, parts

WORDS: Final = frozenset(
    word
    for line in (
        "Always OnFailure Never RestartAllContainers Restart TCP UDP SCTP In NotIn Exists DoesNotExist Gt",
        "Lt Equal NoSchedule PreferNoSchedule NoExecute None DoNotSchedule ScheduleAnyway Honor Ignore",
        "PreemptLowerPriority Pending Running Succeeded Failed Unknown Bound Available Released Lost True",
        "False DisruptionTarget PodResizePending PodResizeInProgress PreemptionByScheduler Infeasible",
        "Deferred Error Proposed InProgress ReadWriteOnce ReadOnlyMany ReadWriteMany ReadWriteOncePod",
        "Filesystem Block Immediate WaitForFirstConsumer Managed Shared Dedicated ExactCount All pods",
        "RestartAllContainersOnContainerExits UserNamespacesHostNetworkSupport LeastAllocated",
        "MostAllocated RequestedToCapacityRatio System List",
    )
    for word in line.split()
)
"""Values of enumerations of Kubernetes, which stay where one is expected."""
FINALIZERS: Final = frozenset(
    {
        "batch.kubernetes.io/job-tracking",
        "foregroundDeletion",
        "kubernetes.io/pv-protection",
        "kubernetes.io/pvc-protection",
        "orphan",
        "resource.kubernetes.io/delete-protection",
    }
)
"""Finalizers of Kubernetes itself, which stay."""
MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"
"""Annotation with a list of in-tree plugins."""

_KINDS: Final = frozenset(each.rpartition("/")[2] for each in KINDS) | {
    each.KIND for each in CONTROLLER_KINDS
}
_VERSIONS: Final = frozenset(each.API_VERSION for each in (*KINDS.values(), *CONTROLLER_KINDS))
_FLAGS: Final = frozenset({"", "true", "false", "yes", "no"})
_JSON_KEYS: Final = frozenset(
    {"preferAvoidPods", "podSignature", "podController", "apiVersion", "kind", "name", "uid", "controller"}
)
"""Members of the annotations of Kubernetes that are objects."""
_DURATION: Final = re.compile(r"([0-9.]+(ns|us|ms|s|m|h))+")
_KEYS_IN_ARGUMENTS: Final = frozenset(
    {
        "absentLabels",
        "absentLabelsPreference",
        "affinityLabels",
        "antiAffinityLabelsPreference",
        "presentLabels",
        "presentLabelsPreference",
    }
)
"""Arguments of plugins with keys of labels."""
_NO_DECISION: Final = ("clientConnection", "leaderElection")
"""Parts of a configuration without which scheduling decides the same."""


@record(eq=False)
class Anonymizer:
    """Hides the names of one cluster."""

    names: Replacements = field(factory=Replacements)
    """The replacements that were given, to find what became of a name."""
    _compared_attributes: set[str] = field(factory=set, init=False, repr=False)
    """Attributes of devices that constraints of claims name."""
    _configuration: Mapping[str, Any] | None = None

    def manifests(self, manifests: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the objects of a cluster, as snapshots keep them, with all names hidden.

        Texts are collected in a first pass, so that replacements come in the order of the originals.
        """
        for each in manifests:
            if each["kind"] == Pod.KIND:
                for volume in each["spec"].get("volumes", ()):
                    if "ephemeral" in volume:
                        self.names.claim_of(each["metadata"]["name"], volume["name"])
        self._compared_attributes.update(_attributes_of(manifests))
        for each in manifests:
            self._manifest(each)
        if self._configuration is not None:
            self.configuration(self._configuration)
        self.names.close()
        return [self._manifest(each) for each in manifests]

    def _manifest(self, manifest: dict[str, Any]) -> dict[str, Any]:
        kind = manifest["kind"]
        hidden = {"apiVersion": manifest["apiVersion"], "kind": kind, **self._object(KINDS[kind], manifest)}
        name = manifest["metadata"].get("name", "")
        if kind == Namespace.KIND:
            hidden["metadata"]["name"] = self.names.namespace(name)
        elif kind == CSIDriver.KIND:
            hidden["metadata"]["name"] = self.names.driver(name)
        return hidden

    def _object(self, cls: type, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return an object of the class *cls*; only fields in the table are in it."""
        if values.get("operator") in ("Gt", "Lt") and "key" in values:
            self.names.compare(values["key"])
        nested, hidden = parts(cls), {}
        for name, sort in KEPT[cls].items():
            if name not in values:
                continue
            value = values[name]
            if sort in (Sort.PARTS, Sort.POD_CONDITIONS):
                hidden[name] = self._nested(nested[name], value)
            elif sort is Sort.VALUE:
                hidden[name] = _each(value, lambda text: self._value(values.get("key", ""), text))
            elif sort is Sort.ATTRIBUTES:
                hidden[name] = self._attributes(value)
            elif sort is Sort.NAMED:
                hidden[name] = [{"name": self.names.text(each["name"])} for each in value]
            elif sort in (Sort.QUALIFIED, Sort.NAMES) and isinstance(value, dict):
                replace = self.names.qualified if sort is Sort.QUALIFIED else self.names.text
                hidden[name] = {replace(key): each for key, each in value.items()}
            else:
                hidden[name] = self._text_of(sort, value)
        return hidden

    def _nested(self, cls: type, value: Any) -> Any:
        if isinstance(value, list):
            return [self._object(cls, each) for each in value]
        return self._object(cls, value)

    def _value(self, key: str, text: str) -> str:
        return self.names.value(key, text)

    def _text_of(self, sort: Sort, value: Any) -> Any:
        names = self.names
        if sort is Sort.PLAIN:
            return value
        if sort is Sort.LABELS:
            return {names.key(key): names.value(key, text) for key, text in value.items()}
        if sort is Sort.AMOUNTS:
            return {names.resource(name): amount for name, amount in value.items()}
        if sort is Sort.ANNOTATIONS:
            return {key: self._annotation(key, text) for key, text in value.items()}
        return _each(value, self._replace()[sort])

    def _replace(self) -> Mapping[Sort, Callable[[str], str]]:
        names = self.names
        return {
            Sort.WORD: self.word,
            Sort.NAME: names.text,
            Sort.NAMESPACE: names.namespace,
            Sort.IMAGE: names.image,
            Sort.ADDRESS: names.text,
            Sort.KEY: names.key,
            Sort.RESOURCE: names.resource,
            Sort.DRIVER: names.driver,
            Sort.HANDLE: names.handle,
            Sort.REQUEST: names.parts,
            Sort.QUALIFIED: names.qualified,
            Sort.EXPRESSION: lambda text: text if EXPRESSION.fullmatch(text) else "false",
            Sort.OWNER_KIND: lambda text: text if text in _KINDS else names.text(text),
            Sort.OWNER_VERSION: lambda text: text if text in _VERSIONS else f"{names.text(text)}/v1",
            Sort.FINALIZERS: lambda text: text if text in FINALIZERS else f"x.invalid/{names.text(text)}",
        }

    def word(self, text: str) -> str:
        """Return *text* if it is a word of Kubernetes, otherwise its replacement."""
        return text if text in WORDS or text.lower() == "managed" else self.names.text(text)

    def _attributes(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes that constraints compare, and that of :mod:`.device_kinds`."""
        hidden: dict[str, Any] = {}
        for name, value in attributes.items():
            if name == KIND_ATTRIBUTE:
                hidden[name] = value
            elif name.rpartition("/")[2] in self._compared_attributes:
                hidden[self.names.qualified(name)] = self._attribute(value)
        return hidden

    def _attribute(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return the value of an attribute, which constraints compare with equal ones of its type only."""
        if "bool" in value:
            return dict(value)
        (sort, content) = next(iter(value.items()))
        text = self.names.text(f"{sort} {content}")
        if sort == "string":
            return {sort: text}
        number = int(text[1:8])
        return {sort: number if sort == "int" else f"{number}.0.0"}

    # ---- annotations

    def _annotation(self, key: str, text: str) -> str:
        if text in _FLAGS:
            return text
        if key == MIGRATED_PLUGINS:
            return ",".join(map(self.names.driver, text.split(",")))
        try:
            data = json.loads(text)
        except ValueError:
            return self.names.text(text)
        return json.dumps(self._json(data)) if isinstance(data, dict | list) else self.names.text(text)

    def _json(self, data: Any, name: str = "") -> Any:
        if isinstance(data, dict):
            return {
                key if key in _JSON_KEYS else self.names.text(key): self._json(value, key)
                for key, value in data.items()
            }
        if isinstance(data, list):
            return [self._json(each, name) for each in data]
        if name == "kind" and data in _KINDS:
            return data
        return self.names.text(data) if isinstance(data, str) else data

    # ---- configuration

    def configuration(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return a configuration with the names of it replaced as those of the cluster are.

        Names of plugins stay, and what has no influence on decisions is left out.
        """
        hidden = {key: value for key, value in data.items() if key not in _NO_DECISION}
        hidden["profiles"] = [self._profile(each) for each in data.get("profiles", ())]
        if "extenders" in data:
            hidden["extenders"] = [self._extender(each) for each in data["extenders"]]
        return hidden

    def _profile(self, profile: Mapping[str, Any]) -> dict[str, Any]:
        hidden = dict(profile)
        if "schedulerName" in profile:
            hidden["schedulerName"] = self.names.text(profile["schedulerName"])
        if "pluginConfig" in profile:
            hidden["pluginConfig"] = [
                {**each, "args": self._arguments("", each.get("args"))} for each in profile["pluginConfig"]
            ]
        return hidden

    def _arguments(self, name: str, value: Any) -> Any:
        """Return arguments of a plugin; of those that are not known, each text is replaced."""
        if isinstance(value, dict):
            if name == "addedAffinity":
                return self._object(NodeAffinity, value)
            if name == "defaultConstraints":
                return self._object(TopologySpreadConstraint, value)
            if name == "resources":
                return {**value, "name": self.names.resource(value.get("name", ""))}
            return {key: self._arguments(key, each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._arguments(name, each) for each in value]
        if not isinstance(value, str) or name in ("apiVersion", "kind") or _DURATION.fullmatch(value):
            return value
        if name in _KEYS_IN_ARGUMENTS:
            return self.names.key(value)
        if name == "ignoredResources":
            return self.names.resource(value)
        return self.names.domain(value) if name == "ignoredResourceGroups" else self.word(value)

    def _extender(self, extender: Mapping[str, Any]) -> dict[str, Any]:
        """Return an extender, which cannot be called any more."""
        hidden = {key: value for key, value in extender.items() if key != "tlsConfig"}
        hidden["urlPrefix"] = f"https://{self.names.text(extender.get('urlPrefix', ''))}.invalid"
        for verb in ("filterVerb", "preemptVerb", "prioritizeVerb", "bindVerb"):
            if extender.get(verb):
                hidden[verb] = self.names.text(extender[verb])
        if "managedResources" in extender:
            hidden["managedResources"] = [
                {**each, "name": self.names.resource(each["name"])} for each in extender["managedResources"]
            ]
        return hidden


def _each(value: Any, replace: Callable[[str], str]) -> Any:
    return [replace(each) for each in value] if isinstance(value, list) else replace(value)


def _attributes_of(manifests: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the attributes that constraints of claims and templates compare, without their domains."""
    for each in manifests:
        if each["kind"] == ResourceClaim.KIND:
            spec = each["spec"]
        elif each["kind"] == ResourceClaimTemplate.KIND:
            spec = each["spec"].get("spec", {})
        else:
            continue
        for constraint in spec.get("devices", {}).get("constraints", ()):
            for name in ("matchAttribute", "distinctAttribute"):
                if name in constraint:
                    yield constraint[name].rpartition("/")[2]
