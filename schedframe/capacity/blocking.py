"""Obstacles of an eviction, before the scheduler is asked: owners, local storage, budgets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from math import ceil
from typing import Any

from .._base.value import record
from ..api import Pod, PodDisruptionBudget, compile_label_selector
from ..framework.preemption import Budget
from .advice import Obstacle


class BlockKind(StrEnum):
    """Reason for which a pod cannot be moved."""

    NO_CONTROLLER = "no-controller"
    """Nothing makes it again."""
    LOCAL_STORAGE = "local-storage"
    """It has an emptyDir, whose content goes with it."""
    BUDGET = "budget"
    """A disruption budget allows no eviction."""
    COMES_BACK = "comes-back"
    """It tolerates that its node is cordoned, and the scheduler places it there again."""
    NOWHERE_TO_GO = "nowhere-to-go"
    """No other node takes it."""


@record(frozen=True)
class Block:
    """A pod that stays, why, and the smallest change that unblocks it."""

    pod: str
    """``namespace/name``."""
    node: str
    kind: BlockKind
    message: str
    change: str = ""
    """An imperative; empty if none was found."""
    obstacle: Obstacle | None = None
    """What keeps it from other nodes."""

    def __str__(self) -> str:
        lines = [f"{self.pod} on {self.node}: {self.message}"]
        if self.obstacle is not None:
            lines += [f"  {each}" for each in self.obstacle.reasons]
        return "\n".join([*lines, *([f"  smallest change: {self.change}"] if self.change else [])])

    def to_dict(self) -> dict[str, Any]:
        """Return the block in plain types."""
        return {
            "pod": self.pod,
            "node": self.node,
            "reason": str(self.kind),
            "message": self.message,
            "change": self.change or None,
            "obstacle": None if self.obstacle is None else self.obstacle.to_dict(),
        }


@record(frozen=True)
class Allowance:
    """The number of pods of one budget that may be away at a time."""

    budget: PodDisruptionBudget
    covering: Budget
    allowed: int
    expected: int
    """Pods that it covers."""

    def change(self) -> str:
        """Return the smallest change of the budget, or of its pods, that allows one eviction."""
        spec, name = self.budget.spec, f"PodDisruptionBudget {self.budget.key}"
        least = 1 - self.allowed
        if isinstance(spec.min_available, int):
            wanted = max(0, spec.min_available - least)
            more = f"{least} pod{'s' * (least > 1)} more"
            return f"lower minAvailable of {name} from {spec.min_available} to {wanted}, or run {more}"
        if spec.min_available is not None:
            wanted = max(0, self.expected - self.allowed - 1)
            return f"write minAvailable: {self.expected - 1} in {name}, or run more pods" if wanted else ""
        return f"raise maxUnavailable of {name} from {spec.max_unavailable} to 1"


def allowances(budgets: Iterable[PodDisruptionBudget], pods: Iterable[Pod]) -> list[Allowance]:
    """Return what each budget that covers a pod allows; O(budgets × pods).

    A cluster writes that into the status. Without one, all pods that have a node count as healthy.
    """
    every = [pod for pod in pods if not pod.is_terminated]
    return [found for budget in budgets if (found := _allowance(budget, every)) is not None]


def _allowance(budget: PodDisruptionBudget, pods: list[Pod]) -> Allowance | None:
    if budget.spec.selector is None:
        return None
    status = budget.status
    selector = compile_label_selector(budget.spec.selector)
    covering = Budget(budget.namespace, selector, status.disruptions_allowed, frozenset())
    covered = [pod for pod in pods if covering.covers(pod)]
    if not covered:
        return None
    if status.observed_generation or status.expected_pods:
        return Allowance(budget, covering, status.disruptions_allowed, len(covered))
    healthy = sum(bool(pod.node_name) and not pod.is_terminating for pod in covered)
    desired = _desired(budget, len(covered))
    return Allowance(budget, covering, max(0, healthy - desired), len(covered))


def _desired(budget: PodDisruptionBudget, expected: int) -> int:
    """Return how many of *expected* pods must be healthy."""
    spec = budget.spec
    if spec.max_unavailable is not None:
        return max(0, expected - _scaled(spec.max_unavailable, expected))
    return _scaled(spec.min_available if spec.min_available is not None else 0, expected)


def _scaled(amount: int | str, expected: int) -> int:
    """Return a number, or a percentage of *expected*, rounded up as the disruption controller does."""
    if isinstance(amount, int):
        return amount
    return ceil(int(amount.removesuffix("%")) * expected / 100)


def blocks_of(
    pod: Pod, allowed: Iterable[Allowance], *, force: bool, delete_local_data: bool
) -> Iterator[Block]:
    """Yield what stands in the way of evicting *pod*."""
    where = (pod.key, pod.node_name)
    if pod.metadata.controller is None and not force:
        fix = "delete it for good by --force, or let a workload make it"
        yield Block(*where, BlockKind.NO_CONTROLLER, "nothing makes it again", fix)
    local = [volume.name for volume in pod.spec.volumes if volume.empty_dir is not None]
    if local and not delete_local_data:
        message = f"its local storage would be lost: emptyDir {', '.join(local)}"
        yield Block(*where, BlockKind.LOCAL_STORAGE, message, "give it up by --delete-emptydir-data")
    for each in allowed:
        if each.allowed < 1 and each.covering.covers(pod):
            message = f"PodDisruptionBudget {each.budget.key} allows no eviction"
            yield Block(*where, BlockKind.BUDGET, message, each.change())
