"""Resources of a pod that do not go together once LimitRanger has filled it in.

The API server validates a pod after that. So a request above the default limit is refused, and huge pages
without cpu and memory are right where a default adds these. What contradicts itself in the manifest is found
when that is read, by the same rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...api import HUGE_PAGES_PREFIX, Pod, PodSpec, to_manifest
from ...api.validation import problems_of
from ...api.validation.published import published_name
from ...api.validation.whole import ADMITTED_CHECKS
from .parts import AdmissionPart
from .refusal import AdmissionRefused

_RESOURCES: Final = "resources"


def contradictions(pod: Pod) -> Iterator[AdmissionRefused]:
    """Yield a refusal for each amount of *pod*, as LimitRanger has left it, that does not go with others."""
    for error in problems_of(to_manifest(pod), Pod, required=True):
        if _RESOURCES in error.path.split("."):
            text = f"with the defaults of LimitRanger, {error.problem}"
            fix = "name both in the pod"
            yield AdmissionRefused(AdmissionPart.LIMIT_RANGER, error.path, text, fix)


def lonely_huge_pages(pod: Pod) -> Iterator[AdmissionRefused]:
    """Yield a refusal for each container of *pod* that has huge pages only, and for the pod as a whole."""
    if not _has_huge_pages(pod.spec):
        return
    for error in ADMITTED_CHECKS[published_name(Pod)](to_manifest(pod)):
        yield AdmissionRefused(AdmissionPart.LIMIT_RANGER, error.path, error.problem, error.fix)


def _has_huge_pages(spec: PodSpec) -> bool:
    own = () if spec.resources is None else (spec.resources,)
    every = (*(each.resources for each in (*spec.containers, *spec.init_containers)), *own)
    return any(
        name.startswith(HUGE_PAGES_PREFIX) for each in every for name in (*each.requests, *each.limits)
    )
