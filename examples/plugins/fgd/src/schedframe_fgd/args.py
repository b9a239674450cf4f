"""What the plugin is told by the configuration."""

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
    """One kind of task that the cluster should stay ready for."""

    cpu_milli: int = field(default=0, validator=validators.ge(0))
    gpu_milli: int = field(default=0, validator=[validators.ge(0), _of_devices])
    """Thousandths of a GPU: less than 1000 is a part of one, k × 1000 are k whole ones, 0 is none."""
    models: tuple[str, ...] = ()
    """GPU models that will do; none named: any."""
    weight: int = field(default=1, validator=validators.ge(0))
    """How common the type is, relative to the others."""


@frozen
class FGDArgs:
    """The workload to expect, and what things are called."""

    tasks: tuple[TaskType, ...] = ()
    resource: str = "alibabacloud.com/gpu-milli"
    """The resource of nodes and pods that counts thousandths of GPUs."""
    annotation: str = "fgd.schedframe.example/devices"
    """Annotation of a placed pod: the numbers of its devices on the node, such as ``0`` or ``2-3``."""
    model_label: str = "alibabacloud.com/gpu-card-model"
    device_choice: str = field(default=FRAGMENTATION, validator=validators.in_(DEVICE_CHOICES))
    """Which device of the chosen node a part is cut from."""
    scale: int = field(default=DEVICE, validator=validators.gt(0))
    """Thousandths of a GPU by which fragmentation must change to move a score from 50 to 73 or 27."""

    def __attrs_post_init__(self) -> None:
        if self.device_choice == FRAGMENTATION and not sum(task.weight for task in self.tasks):
            raise ValueError(
                "tasks must name the workload to expect, with some weight, or deviceChoice another way to "
                "choose devices"
            )
