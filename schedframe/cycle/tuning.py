"""Switches that change the speed of a scheduler, and never a decision."""

from __future__ import annotations

from attrs import field

from .._base.validators import one_of, optional_number, share
from .._base.value import record


@record(frozen=True, kw_only=True)
class Tuning:
    """Ways in which a scheduler saves work: ``Scheduler(cluster, tuning=Tuning(remember=0))``.

    No decision depends on it. docs/explanation/optional-layers.md says what each part costs and saves.
    """

    remember: int | None = field(
        default=None, validator=optional_number("give a number from 0", whole=True, least=0)
    )
    """Number of equivalence classes of pods whose answers are cached; ``None``: as many as fit into 256 MiB,
    4,096 at most; 0: none.
    """
    verify: float = field(default=0.0, validator=share)
    """Share of the pods, from 0 to 1, that are decided both by the equivalence cache and by the full search;
    a difference is reported as a fault, and the full search counts. 0 costs nothing.
    """
    wait_together: bool = field(default=True, validator=one_of(True, False))
    """Whether pods that no plugin can tell apart wait together: if one of them is rejected, the others are
    not tried as long as nothing changes. ``False`` tries each.
    """
