"""Plugins whose answers the equivalence cache keeps or not, with reason and price."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._base.value import record
from .declarations import Depends, depends_on
from .points import hooks_of

_DECIDING = ("pre_filter", "filter", "filter_rows", "pre_score", "score", "score_rows")


@record(frozen=True)
class Uncached:
    """A plugin that is called for every pod, because its answers cannot be cached."""

    plugin: str
    reason: str
    price: str

    def __str__(self) -> str:
        return f"{self.plugin} is not cached: {self.reason}; {self.price}"


def decides(plugin: Any) -> bool:
    """Return whether *plugin* has a part in filter or score, so that there are answers to keep."""
    return _decides(hooks_of(plugin))


def _decides(hooks: Mapping[str, Any]) -> bool:
    return not hooks.keys().isdisjoint(_DECIDING)


def uncached(name: str, plugin: Any) -> Uncached | None:
    """Return why the answers of *plugin* (a class or an instance) are not kept, and the price.

    ``None`` if they are, or if it has no part in filter and score.
    """
    hooks = hooks_of(plugin)
    if not _decides(hooks):
        return None
    reasons = []
    if "pod_signature" not in hooks:
        reasons.append("it has no pod_signature")
    if depends_on(plugin) is Depends.CLUSTER:
        reasons.append("its answers depend on the whole cluster (depends_on)")
    if "normalize_scores" in hooks:
        reasons.append("normalize_scores needs all scores (a Normalization does not)")
    return Uncached(name, " and ".join(reasons), _price(hooks)) if reasons else None


def uncached_of(plugins: Mapping[str, Any]) -> list[Uncached]:
    """Return the plugins of a profile (name → plugin) that are called for every pod."""
    return [found for name, plugin in plugins.items() if (found := uncached(name, plugin)) is not None]


def _price(hooks: Mapping[str, Any]) -> str:
    by_node = [base for base in ("filter", "score") if base in hooks and f"{base}_rows" not in hooks]
    # Measured with one such plugin and 5,000 equal nodes, relative to the default profile's time for a pod.
    if "score" in by_node:
        called = " and ".join(by_node) + (" are" if len(by_node) > 1 else " is")
        return (
            f"{called} called for every node at each pod that it does not skip: some 60 times the time of "
            "the default profile at 5,000 nodes"
        )
    if by_node:
        return (
            "filter is called for the best nodes at each pod until enough pass: up to 10 times the time of "
            "the default profile at 5,000 nodes, 25 times if it rejects the best ones"
        )
    if "filter_rows" in hooks or "score_rows" in hooks:
        return "its columnar forms run over all nodes at each pod that it does not skip"
    return "it is called for each pod"
