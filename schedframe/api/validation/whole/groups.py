"""Pod groups and workloads, of all versions.

Source of the rules: zz_generated.validations.go of pkg/apis/scheduling/v1alpha2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ....errors import InputError
from ..cluster_fields import GROUP_VERSIONS
from .device_claims import too_many, twice
from .reading import is_left_out

Check = Callable[[Mapping[str, Any]], Iterator[InputError]]

_MOST_CLAIMS: Final = 4
_MOST_TEMPLATES: Final = 8
_MOST_TOPOLOGIES: Final = 1


def _either(first: str, second: str) -> Check:
    """Return the check of a value that has one of two fields."""

    def check(value: Mapping[str, Any]) -> Iterator[InputError]:
        if not is_left_out(value, first) and not is_left_out(value, second):
            yield InputError("", f"there are {first} and {second}", "write one of the two")

    return check


def _claims(value: Mapping[str, Any]) -> Iterator[InputError]:
    yield from too_many(value, "resourceClaims", most=_MOST_CLAIMS)
    yield from twice(value, "resourceClaims")


def _templates(spec: Mapping[str, Any]) -> Iterator[InputError]:
    yield from too_many(spec, "podGroupTemplates", most=_MOST_TEMPLATES)
    yield from twice(spec, "podGroupTemplates")


def _topologies(constraints: Mapping[str, Any]) -> Iterator[InputError]:
    yield from too_many(constraints, "topology", most=_MOST_TOPOLOGIES)


_CHECKS: Final[Mapping[str, Check]] = {
    "PodGroupResourceClaim": _either("resourceClaimName", "resourceClaimTemplateName"),
    "PodGroupSchedulingConstraints": _topologies,
    "PodGroupSchedulingPolicy": _either("basic", "gang"),
    "PodGroupSpec": _claims,
    "PodGroupTemplate": _claims,
    "WorkloadSpec": _templates,
}

GROUP_CHECKS: Final[Mapping[str, Check]] = {
    f"{version}.{name}": check for version in GROUP_VERSIONS for name, check in _CHECKS.items()
}
"""Published type → its check."""
