"""Pod disruption budgets as preemption sees them: how many of which pods may go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import define

from ...api import CompiledSelector, Pod, PodDisruptionBudget, compile_label_selector


@define(eq=False)
class Budget:
    """One budget: the pods it covers and how many more of them may be disrupted."""

    namespace: str
    selector: CompiledSelector
    allowed: int
    counted: frozenset[str]
    """Names of pods whose disruption is already in ``allowed``."""

    def covers(self, pod: Pod) -> bool:
        """Whether disrupting *pod* takes from this budget."""
        return (
            pod.namespace == self.namespace
            and pod.name not in self.counted
            and self.selector.matches(pod.labels)
        )


def read_budgets(objects: Iterable[PodDisruptionBudget]) -> list[Budget]:
    """The budgets that cover any pod: one with an empty selector, or none, covers nothing here."""
    found = []
    for budget in objects:
        selector = budget.spec.selector
        if selector is None or not (selector.match_labels or selector.match_expressions):
            continue
        status = budget.status
        found.append(
            Budget(
                budget.namespace,
                compile_label_selector(selector),
                status.disruptions_allowed,
                frozenset(status.disrupted_pods),
            )
        )
    return found


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
