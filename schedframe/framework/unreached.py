"""Bind plugins that are never called, because one before them binds every pod."""

from __future__ import annotations

from .declarations import declares
from .plan import Plan


def unreached_binders(plan: Plan) -> str | None:
    """Return which bind plugins of a profile are never called, why, and the fix; ``None``: each may be.

    kube-scheduler accepts such a profile without a word, so it is no error. O(bind plugins).
    """
    names = [entry.name for entry in plan.bind]
    for index, name in enumerate(names):
        if not declares(plan.plugins[name], "binds_every_pod"):
            continue
        if later := names[index + 1 :]:
            verb = "is" if len(later) == 1 else "are"
            return (
                f"{', '.join(later)} {verb} never called at bind: {name} comes before and binds every pod; "
                f"disable {name} under plugins.bind, and enable it again after the others if it is to stay"
            )
        return None
    return None
