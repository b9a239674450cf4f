"""Pods and what they consist of: the check of each published type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from ....errors import InputError
from .containers import check_container
from .placing import check_affinity_term, check_spread_constraint
from .pod_volumes import check_claim_template, check_resource_claim, check_volume
from .podspec import check_admitted_pod, check_pod, check_template
from .resources import check_limits_are_there, check_requirements
from .selectors import check_label_requirement, check_node_selector, check_preferred_term
from .tolerations import check_toleration

POD_CHECKS: Final[Mapping[str, Callable[[Mapping[str, Any]], Iterable[InputError]]]] = {
    "core.v1.Container": check_container,
    "core.v1.EphemeralContainer": check_container,
    "core.v1.NodeSelector": check_node_selector,
    "core.v1.PersistentVolumeClaimTemplate": check_claim_template,
    "core.v1.PodAffinityTerm": check_affinity_term,
    "core.v1.PodResourceClaim": check_resource_claim,
    "core.v1.PreferredSchedulingTerm": check_preferred_term,
    "core.v1.ResourceRequirements": check_requirements,
    "core.v1.Toleration": check_toleration,
    "core.v1.TopologySpreadConstraint": check_spread_constraint,
    "core.v1.Volume": check_volume,
    "meta.v1.LabelSelectorRequirement": check_label_requirement,
}
"""Published type → its check."""

POD_CHECKS_AFTER: Final[
    Mapping[str, Callable[[Mapping[str, Any], Sequence[InputError]], Iterable[InputError]]]
] = {
    "core.v1.Pod": check_pod,
    "core.v1.PodTemplateSpec": check_template,
}
"""Published type → its check, which gets the errors of all that it consists of, too."""

REQUIRED_POD_CHECKS: Final[Mapping[str, Callable[[Mapping[str, Any]], Iterable[InputError]]]] = {
    "core.v1.ResourceRequirements": check_limits_are_there,
}
"""Published type → its check of what must be there, which is made only if missing fields count."""

ADMITTED_POD_CHECKS: Final[Mapping[str, Callable[[Mapping[str, Any]], Iterable[InputError]]]] = {
    "core.v1.Pod": check_admitted_pod,
}
"""Published type → its check of what a LimitRange may mend before the API server validates."""
