"""Pod disruption budgets as preemption sees them: how many of which pods may go."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from ..._base.value import record
from ...api import CompiledSelector, Pod, PodDisruptionBudget, compile_label_selector
from ...errors import InputError

logger = logging.getLogger("schedframe")


@record(eq=False)
class Budget:
    """One budget: the pods it covers and how many more of them may be disrupted."""

    namespace: str
    selector: CompiledSelector
    allowed: int
    counted: frozenset[str]
    """Names of pods whose disruption is already in ``allowed``."""

    def covers(self, pod: Pod) -> bool:
        """Return whether disrupting *pod* takes from this budget."""
        return (
            pod.namespace == self.namespace
            and pod.name not in self.counted
            and self.selector.matches(pod.labels)
        )


def read_budgets(objects: Iterable[PodDisruptionBudget]) -> list[Budget]:
    """Return the budgets that cover any pod.

    One with an empty selector, or none, or one that cannot be understood covers nothing here.
    """
    matching = []
    for budget in objects:
        selector = budget.spec.selector
        if selector is None or not (selector.match_labels or selector.match_expressions):
            continue
        try:
            compiled = compile_label_selector(selector)
        except InputError as error:
            logger.warning("pod disruption budget %s covers no pods: %s", budget.key, error)
            continue
        status = budget.status
        counted = frozenset(status.disrupted_pods)
        matching.append(Budget(budget.namespace, compiled, status.disruptions_allowed, counted))
    return matching


def split_by_budgets(pods: Sequence[Pod], budgets: Sequence[Budget]) -> tuple[list[Pod], list[Pod]]:
    """(violating, others), each in the order given, if all *pods* went in that order.

    A pod that exceeds one of the budgets that cover it is violating, and uses up the others all the same.
    """
    left = [budget.allowed for budget in budgets]
    violating: list[Pod] = []
    others: list[Pod] = []
    for pod in pods:
        exceeded = False
        if pod.labels:
            for i, budget in enumerate(budgets):
                if budget.covers(pod):
                    left[i] -= 1
                    exceeded = exceeded or left[i] < 0
        (violating if exceeded else others).append(pod)
    return violating, others
