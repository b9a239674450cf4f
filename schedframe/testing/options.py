"""What ``check_plugin`` tries a plugin with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from attrs import field, frozen

from .._brief import brief_repr

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from ..api import Node, Pod


@brief_repr
@frozen
class CheckOptions:
    """Options of :func:`check_plugin` and :func:`plugin_checks`, which also take them as keywords.

    The plugin is tried in small clusters made up by Hypothesis, the same ones every time. They know the
    labels, taints and resources that the builtin plugins read. A plugin that reads others needs strategies of
    its own (see :mod:`schedframe.testing.strategies`): what never occurs is never checked.
    """

    pods: SearchStrategy[Pod] | None = None
    nodes: SearchStrategy[Node] | None = None
    objects: SearchStrategy[Sequence[Any]] | None = None
    """Sequences of objects of other kinds."""
    max_examples: int = 50
    """Number of clusters."""
    max_shrinks: int = 150
    """Steps at most in which a counterexample is made smaller."""
    seed: int = 0
    leave_out: Mapping[str, str] = field(factory=dict)
    """Name of a check → the reason why it is left out."""


class CheckKeywords(TypedDict, total=False):
    """The fields of :class:`CheckOptions` as keyword arguments."""

    pods: SearchStrategy[Pod] | None
    nodes: SearchStrategy[Node] | None
    objects: SearchStrategy[Sequence[Any]] | None
    max_examples: int
    max_shrinks: int
    seed: int
    leave_out: Mapping[str, str] | None
