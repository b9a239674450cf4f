"""The lines of the contract that the checks are about."""

from __future__ import annotations

import inspect
from typing import Final

from ..._base.value import record
from ...framework.hookspecs import Hookspecs

DECLARATIONS: Final = {
    "Depends.ROW": (
        "A plugin with depends_on = Depends.ROW answers for a row from that row, the pod and what reads "
        "names, and from nothing else: what it precomputed for a pod stays true when other rows change."
    ),
    "Depends.NODE_OBJECT": (
        "A plugin with depends_on = Depends.NODE_OBJECT reads the node object of a row, and not its pods."
    ),
    "Depends.ROW_RESOURCES": (
        "A plugin with depends_on = Depends.ROW_RESOURCES reads nothing of a row but its resources: what the "
        "node has, what its pods request, and whether there is room for one more pod."
    ),
    "reads": "reads names the kinds of objects that a plugin reads besides what depends_on says.",
    "normalization": "A plugin that declares a normalization has no normalize_scores hook.",
    "args": (
        "Arguments are an attrs class: what does not fit is refused with the path of the field, before the "
        "plugin is made."
    ),
    "instances": "A plugin keeps what it knows in its instance: every profile has one of its own.",
    "class": (
        "A plugin is a class called with (args, handle), defined with eq=False, whose hooks name arguments "
        "of their specification."
    ),
    "common": (
        "an exception is a fault of the plugin (reported with its name, the pod is retried); pods, nodes and "
        "node infos must not be changed."
    ),
    "binding": (
        "pre_bind and bind run off the core: of the handle they use clock, cluster, activate, record_event "
        "and nothing else."
    ),
    "events": "Hints answer a QueueingHint or a bool, for every event that they are registered for.",
}
"""What is asked of a plugin beside its hooks."""


@record(frozen=True)
class Clause:
    """A sentence of the contract: from the specification of a hook, or about what a plugin declares."""

    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


def of_hook(hook: str, words: str) -> Clause:
    """A sentence out of the specification of *hook*; ``ValueError`` if it says no such thing."""
    text = " ".join((inspect.getdoc(vars(Hookspecs)[hook]) or "").split())
    if words not in text:
        raise ValueError(f"the specification of {hook} does not say {words!r}")
    return Clause(hook, words)


def of_class(attribute: str) -> Clause:
    """Return what a plugin says of itself by a class attribute, or by being what it is."""
    return Clause(attribute, DECLARATIONS[attribute])
