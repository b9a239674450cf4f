"""Arguments of FGD."""

from __future__ import annotations

from typing import Final

from attrs import Attribute, field, frozen, validators

FRAGMENTATION: Final = "fragmentation"
FULLEST: Final = "fullest"
EMPTIEST: Final = "emptiest"
FIRST: Final = "first"
DEVICE_CHOICES: Final = (FRAGMENTATION, FULLEST, EMPTIEST, FIRST)

DEVICE: Final = 1000
"""Thousandths of one GPU."""


def _of_devices(instance: object, attribute: Attribute[int], value: int) -> None:
    if value > DEVICE and value % DEVICE:
        detail = "must be a part of one GPU (up to 1000) or whole ones (a multiple of 1000)"
        raise ValueError(f"'{attribute.name}' {detail}: {value}")


@frozen
class TaskType:
    """A type of task of the expected workload."""

    cpu_milli: int = field(default=0, validator=validators.ge(0))
    gpu_milli: int = field(default=0, validator=[validators.ge(0), _of_devices])
    """Thousandths of a GPU: less than 1000 is a part of one, k × 1000 are k whole ones, 0 is none."""
    models: tuple[str, ...] = ()
    """Acceptable GPU models; empty means any."""
    weight: int = field(default=1, validator=validators.ge(0))
    """Frequency of the type relative to the others."""


@frozen
class FGDArgs:
    """Expected workload, and the names of the resource, annotation and label."""

    tasks: tuple[TaskType, ...] = ()
    resource: str = "alibabacloud.com/gpu-milli"
    """The resource of nodes and pods that counts thousandths of GPUs."""
    annotation: str = "fgd.schedframe.example/devices"
    """Annotation of a placed pod: the numbers of its devices on the node, such as ``0`` or ``2-3``."""
    model_label: str = "alibabacloud.com/gpu-card-model"
    device_choice: str = field(default=FRAGMENTATION, validator=validators.in_(DEVICE_CHOICES))
    """Rule that chooses the device of a shared GPU on the node."""
    scale: int = field(default=DEVICE, validator=validators.gt(0))
    """Thousandths of a GPU by which fragmentation must change to move a score from 50 to 73 or 27."""

    def __attrs_post_init__(self) -> None:
        if self.device_choice == FRAGMENTATION and not sum(task.weight for task in self.tasks):
            raise ValueError(
                "tasks must name the workload to expect, with a positive weight, or deviceChoice a rule "
                "other than fragmentation"
            )
