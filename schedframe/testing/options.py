"""Options of ``check_plugin``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypedDict

from .._base.options import Option, completed
from .._base.validators import optional_number, optional_with
from .._base.wording import described
from ..errors import InputError

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from ..api import Node, Pod

_STRATEGY: Final = optional_with(["example"], "give a strategy of Hypothesis")
_NUMBER: Final = optional_number("give an integer", whole=True)


def _check_reasons(_: Any, attribute: Any, value: Any) -> None:
    if value is not None and not isinstance(value, Mapping):
        fix = "give a dict: name of a check → the reason"
        raise InputError(attribute.name, f"{described(value)} is not a mapping", fix)


class CheckOptions(TypedDict, total=False):
    """Options of :func:`check_plugin` and :func:`plugin_checks`.

    The plugin is tried in small clusters made up by Hypothesis, the same ones every time. They know the
    labels, taints and resources that the builtin plugins read. A plugin that reads others needs strategies of
    its own (see :mod:`schedframe.testing.strategies`): what never occurs is never checked.
    """

    pods: SearchStrategy[Pod] | None
    """Pods to be placed."""
    nodes: SearchStrategy[Node] | None
    """Nodes."""
    objects: SearchStrategy[Sequence[Any]] | None
    """Sequences of objects of other kinds."""
    max_examples: int
    """Number of clusters, 50 by default."""
    max_shrinks: int
    """Steps at most in which a counterexample is made smaller, 150 by default."""
    seed: int
    """Other clusters with another one; 0 by default."""
    leave_out: Mapping[str, str] | None
    """Name of a check → the reason why it is left out."""


_OPTIONS: Final[Mapping[str, Option]] = {
    "pods": Option(None, _STRATEGY),
    "nodes": Option(None, _STRATEGY),
    "objects": Option(None, _STRATEGY),
    "max_examples": Option(50, _NUMBER),
    "max_shrinks": Option(150, _NUMBER),
    "seed": Option(0, _NUMBER),
    "leave_out": Option({}, _check_reasons),
}


def check_options(given: CheckOptions) -> CheckOptions:
    """Return *given* options, checked, with defaults for the others."""
    return completed(_OPTIONS, "check_plugin", given)
