"""Rules of the API server that the published fields do not say, for the fields that scheduling reads.

Keys are ``type.field``. An empty text counts as absent where the API server fills in a default.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..._base.brief import shown
from ..._base.wording import described
from ...errors import InputError
from .._text import meant
from ..requirements import label_key_problem, label_value_problem
from ..valuecodecs import at_key
from .cluster_fields import CLUSTER_RANGES, CLUSTER_REQUIRED, CLUSTER_VALUES
from .pod_fields import POD_RANGES, POD_REQUIRED, POD_VALUES

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_POLICIES: Final = ("Honor", "Ignore")
_SELECTOR_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
_PREEMPTION: Final = ("PreemptLowerPriority", "Never")
_STATUSES: Final = ("True", "False", "Unknown")
_COUNT: Final = (1, 2**31 - 1)

VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    **POD_VALUES,
    **CLUSTER_VALUES,
    "core.v1.NodeSelectorRequirement.operator": (*_SELECTOR_OPERATORS, "Gt", "Lt"),
    "core.v1.PodCondition.status": _STATUSES,
    "core.v1.PodStatus.phase": ("", "Pending", "Running", "Succeeded", "Failed", "Unknown"),
    "core.v1.Taint.effect": _EFFECTS,
    "core.v1.Toleration.effect": ("", *_EFFECTS),
    "core.v1.TopologySpreadConstraint.nodeAffinityPolicy": _POLICIES,
    "core.v1.TopologySpreadConstraint.nodeTaintsPolicy": _POLICIES,
    "core.v1.TopologySpreadConstraint.whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway"),
    "meta.v1.LabelSelectorRequirement.operator": _SELECTOR_OPERATORS,
    "resource.v1.DeviceSubRequest.allocationMode": ("", "ExactCount", "All"),
    "resource.v1.DeviceTaint.effect": ("None", "NoSchedule", "NoExecute"),
    "resource.v1.DeviceToleration.effect": ("", "NoSchedule", "NoExecute"),
    "resource.v1.DeviceToleration.operator": ("", "Exists", "Equal"),
    "resource.v1.ExactDeviceRequest.allocationMode": ("", "ExactCount", "All"),
    "scheduling.v1alpha2.PodGroupSpec.disruptionMode": ("", "Pod", "PodGroup"),
    "scheduling.v1alpha2.PodGroupTemplate.disruptionMode": ("", "Pod", "PodGroup"),
    "scheduling.v1alpha3.PodGroupSpec.preemptionPolicy": ("", *_PREEMPTION),
    "scheduling.v1beta1.PodGroupSpec.preemptionPolicy": ("", *_PREEMPTION),
}
"""Field → its values, or those of its items. With an empty text: absence is the same."""

RANGES: Final[Mapping[str, tuple[int, int]]] = {
    **POD_RANGES,
    **CLUSTER_RANGES,
}
"""Field → lowest and highest value."""

REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    **POD_REQUIRED,
    **CLUSTER_REQUIRED,
    "meta.v1.LabelSelectorRequirement": ("key", "operator"),
    "meta.v1.OwnerReference": ("kind", "name"),
    "resource.v1.Device": ("name",),
    "resource.v1.DeviceRequest": ("name",),
    "resource.v1.DeviceSubRequest": ("name", "deviceClassName"),
    "resource.v1.ExactDeviceRequest": ("deviceClassName",),
    "resource.v1.ResourceClaim": ("spec",),
    "resource.v1.ResourceSlice": ("spec",),
    "resource.v1.ResourceSliceSpec": ("driver", "pool"),
    **{
        f"scheduling.{version}.{type}": fields
        for version in ("v1alpha2", "v1alpha3", "v1beta1")
        for type, fields in (
            ("PodGroup", ("spec",)),
            ("PodGroupResourceClaim", ("name",)),
            ("PodGroupSpec", ("schedulingPolicy",)),
            ("PodGroupTemplate", ("name", "schedulingPolicy")),
            ("Workload", ("spec",)),
            ("WorkloadSpec", ("podGroupTemplates",)),
        )
    },
}
"""Type → paths of what must be there and not be empty. Images are left out: a dry run needs none."""

_NATIVE: Final = ("cpu", "memory", "ephemeral-storage")
CONTAINER_RESOURCES: Final = frozenset(_NATIVE)
"""Resources without a domain that containers ask for, besides huge pages."""

REQUESTS: Final = frozenset(
    {
        "core.v1.ResourceRequirements.requests",
        "core.v1.ResourceRequirements.limits",
        "core.v1.PodSpec.overhead",
    }
)
"""Fields with amounts that containers ask for: the API server refuses other names without a domain."""
LABELS: Final = frozenset(
    {
        "core.v1.PodSpec.nodeSelector",
        "core.v1.ReplicationControllerSpec.selector",
        "core.v1.ServiceSpec.selector",
        "meta.v1.LabelSelector.matchLabels",
        "meta.v1.ObjectMeta.labels",
        "node.v1.Scheduling.nodeSelector",
    }
)
"""Fields with label keys and values."""
LABEL_KEYS: Final = frozenset(
    {
        "core.v1.NodeSelectorRequirement.key",
        "core.v1.PodAffinityTerm.topologyKey",
        "core.v1.Taint.key",
        "core.v1.Toleration.key",
        "core.v1.TopologySelectorLabelRequirement.key",
        "resource.v1.DeviceTaint.key",
        "resource.v1.DeviceToleration.key",
        "meta.v1.LabelSelectorRequirement.key",
    }
)
"""Fields that are label keys. A field that may be empty is not checked for that."""
LABEL_VALUES: Final = frozenset(
    {"core.v1.Taint.value", "meta.v1.LabelSelectorRequirement.values", "resource.v1.DeviceTaint.value"}
)
"""Fields that are label values, or lists of them."""
ANNOTATIONS: Final = "meta.v1.ObjectMeta.annotations"
"""The field whose keys are label keys in any case, and whose values are any text."""

LABEL_NAMED: Final = frozenset({"Namespace", "Service"})
"""Kinds whose names are DNS labels; the names of the others are DNS subdomains."""

_REQUIRED_FIXES: Final = {
    "containers": "list at least one container, such as - name: main",
    "spec": "write it, with the fields of the kind",
    "topologyKey": "name a label of nodes, such as topology.kubernetes.io/zone",
    "whenUnsatisfiable": "write DoNotSchedule or ScheduleAnyway",
    "operator": "write In, Exists or another operator",
    "effect": "write NoSchedule, PreferNoSchedule or NoExecute",
    "name": "give it a name",
    "template.spec.restartPolicy": "write OnFailure or Never",
    "resources.requests.storage": "write an amount such as 1Gi",
}

_LABEL_FIX: Final = "use letters, digits, -, _ and ., with a letter or digit at both ends, at most 63 in all"
_LABEL_KEY_FIX: Final = f"{_LABEL_FIX}; a DNS name and / may stand before it"
_LABEL: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(rf"{_LABEL.pattern}(?:\.{_LABEL.pattern})*")
_MAX_LABEL: Final = 63
_MAX_SUBDOMAIN: Final = 253


def check_value(value: str, values: tuple[str, ...]) -> InputError | None:
    """Return the error if *value* is not one of *values*."""
    if value in values:
        return None
    named = tuple(each for each in values if each)
    return InputError(
        "",
        f"{shown(value)} is not one of {', '.join(named)}",
        meant(value, named) or f"write {named[0]}, for example",
    )


def check_required(name: str) -> InputError:
    """Return the error for the required field *name*, which is missing or empty."""
    return InputError(
        name, "is missing or empty", _REQUIRED_FIXES.get(name, f"write the {name.rpartition('.')[2]}")
    )


def check_range(value: int, limits: tuple[int, int]) -> InputError | None:
    """Return the error if *value* is outside *limits*."""
    low, high = limits
    if low <= value <= high:
        return None
    bounds = f"{low} or more" if high == _COUNT[1] else f"from {low} to {high}"
    return InputError("", f"{shown(value)} is out of range", f"write a number {bounds}")


def check_labels(labels: Mapping[str, Any]) -> list[InputError]:
    """Return errors for keys and values that no label has. Values of other types are left out."""
    found = []
    for key, value in labels.items():
        error = check_label_key(key, may_be_empty=False) if isinstance(key, str) else None
        if error is None and isinstance(value, str):
            error = check_label_value(value)
        if error is not None:
            found.append(at_key(error, key))
    return found


def check_annotations(annotations: Mapping[str, Any]) -> list[InputError]:
    """Return errors for keys that no annotation has."""
    checked = [(key, check_label_key(key.lower())) for key in annotations if isinstance(key, str)]
    return [at_key(error, key) for key, error in checked if error is not None]


def check_label_key(key: str, *, may_be_empty: bool = True) -> InputError | None:
    """Return the error if *key* is no label key; an empty one counts as absent, unless it is a key."""
    if (not key and may_be_empty) or not label_key_problem(key):
        return None
    return InputError("", f"{described(key)} is no key of a label", _LABEL_KEY_FIX)


def check_label_value(value: str) -> InputError | None:
    """Return the error if *value* is no value of a label."""
    if not label_value_problem(value):
        return None
    shown = described(value) if len(value) <= _MAX_LABEL else f"a text of {len(value)} characters"
    return InputError("", f"{shown} is no value of a label", _LABEL_FIX)


def unknown_resource(name: str, known: Iterable[str]) -> InputError:
    """Return the error for a resource without domain that is not *known*."""
    fix = meant(name, known) or f"resources of your own have a domain, such as example.com/{name}"
    return InputError("", f"Kubernetes has no resource {name}", fix)


def check_name(name: str, *, label: bool) -> InputError | None:
    """Return the error if *name* is no DNS label, or no DNS subdomain."""
    pattern, longest = (_LABEL, _MAX_LABEL) if label else (_SUBDOMAIN, _MAX_SUBDOMAIN)
    if pattern.fullmatch(name) and len(name) <= longest:
        return None
    if len(name) > longest:
        return InputError("", f"the name has {len(name)} characters", f"use at most {longest}")
    dots = "" if label else ", dots"
    allowed = f"lower case letters, digits{dots} and -, with a letter or digit at both ends"
    return InputError("", f"{name!r} is not a name that Kubernetes takes", f"use {allowed}")
