"""Conditions under which attempts for equal pods have one result, and what equal pods have in common."""

from __future__ import annotations

from typing import Any

from ..api import ObjectMeta
from ..framework import Framework
from ..framework.declarations import declares
from .core import Core
from .equivalence.fast_search import FastSearch


def metadata_key(metadata: ObjectMeta) -> Any:
    """Return all of the metadata of a pod that a plugin may read, but for its name."""
    return (
        metadata.namespace,
        tuple(sorted(metadata.labels.items())),
        tuple(sorted(metadata.annotations.items())),
        metadata.owner_references,
    )


def may_wait_together(core: Core) -> tuple[FastSearch | None, dict[str, Framework]]:
    """Return what decides equal pods alike, and the frameworks for which it does.

    ``None`` without any, and if an observer has to see each attempt.
    """
    fast = core.search.fast
    if core.search.sampling is not None or core.observers.each_attempt or not isinstance(fast, FastSearch):
        return None, {}
    named = core.frameworks.items()
    frameworks = {name: framework for name, framework in named if _may_wait_together(framework)}
    return (fast if frameworks else None), frameworks


def _may_wait_together(framework: Framework) -> bool:
    """Return whether order and gates of a profile depend on what equal pods have in common."""
    plan = framework.plan
    sorting = [
        plan.plugins[name] for name, _ in framework.profile.plugins["queueSort"] if name in plan.plugins
    ]
    gates = [plan.plugins[entry.name] for entry in plan.pre_enqueue]
    return all(declares(each, "sorts_by_priority") for each in sorting) and all(
        declares(each, "admits_for_good") for each in gates
    )
