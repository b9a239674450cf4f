"""Arguments of the plugins in this package; the fields are those of ``v1beta1``."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from attrs import Attribute, field, frozen

from plugins_builtin.args import (
    DEFAULT_RESOURCES,
    MAX_SHAPE_SCORE,
    ResourceSpec,
    UtilizationShapePoint,
    check_resources,
    check_shape,
    or_default_resources,
)
from schedframe.config import FieldError


def _no_conflict(other: str) -> Any:
    """Return a validator that refuses labels which are in the field *other*, too."""

    def check(instance: Any, attribute: Attribute[Any], labels: Collection[str]) -> None:
        both = sorted(set(labels) & set(getattr(instance, other)))
        if both:
            raise ValueError(
                f"{', '.join(both)} cannot be wanted and unwanted at once; remove one of the two"
            )

    return check


@frozen
class NodeLabelArgs:
    """Labels that nodes must have, or must not have, and labels that make a node score higher or lower."""

    present_labels: tuple[str, ...] = ()
    absent_labels: tuple[str, ...] = field(default=(), validator=_no_conflict("present_labels"))
    present_labels_preference: tuple[str, ...] = ()
    absent_labels_preference: tuple[str, ...] = field(
        default=(), validator=_no_conflict("present_labels_preference")
    )


@frozen
class ServiceAffinityArgs:
    """Labels whose values are equal on the nodes of a service, and labels over whose values it is spread."""

    affinity_labels: tuple[str, ...] = ()
    anti_affinity_labels_preference: tuple[str, ...] = ()


def _first_error(errors: Iterator[FieldError]) -> None:
    for error in errors:
        raise ValueError(f"{error.field}: {error.detail}")


def _check_resources(instance: Any, attribute: Attribute[Any], resources: tuple[ResourceSpec, ...]) -> None:
    _first_error(check_resources(resources, "resources"))


def _check_shape(instance: Any, attribute: Attribute[Any], shape: tuple[UtilizationShapePoint, ...]) -> None:
    _first_error(check_shape(shape, "shape"))


@frozen
class AllocationArgs:
    """Resources that count, with weights; cpu and memory by default."""

    resources: tuple[ResourceSpec, ...] = field(
        default=DEFAULT_RESOURCES, converter=or_default_resources, validator=_check_resources
    )


@frozen
class NodeResourcesLeastAllocatedArgs(AllocationArgs):
    """Resources that count, with weights; cpu and memory by default."""


@frozen
class NodeResourcesMostAllocatedArgs(AllocationArgs):
    """Resources that count, with weights; cpu and memory by default."""


EMPTY_FIRST: Final = (UtilizationShapePoint(0, MAX_SHAPE_SCORE), UtilizationShapePoint(100, 0))
"""The function of RequestedToCapacityRatioPriority without arguments."""


@frozen
class RequestedToCapacityRatioArgs(AllocationArgs):
    """Function from utilization to score, and the resources that count, with weights."""

    shape: tuple[UtilizationShapePoint, ...] = field(default=EMPTY_FIRST, validator=_check_shape)
