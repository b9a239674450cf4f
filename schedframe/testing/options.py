"""What ``check_plugin`` tries a plugin with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypedDict

from attrs import field

from .._base.validators import optional_number, optional_with
from .._base.value import record
from .._base.wording import described
from ..errors import InputError

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from ..api import Node, Pod

_STRATEGY: Final = optional_with(["example"], "give a strategy of Hypothesis")
_NUMBER: Final = optional_number("give an integer", whole=True)


def _check_reasons(_: Any, attribute: Any, value: Any) -> None:
    if not isinstance(value, Mapping):
        fix = "give a dict: name of a check → the reason"
        raise InputError(attribute.name, f"{described(value)} is not a mapping", fix)


@record(frozen=True)
class CheckOptions:
    """Options of :func:`check_plugin` and :func:`plugin_checks`, which also take them as keywords.

    The plugin is tried in small clusters made up by Hypothesis, the same ones every time. They know the
    labels, taints and resources that the builtin plugins read. A plugin that reads others needs strategies of
    its own (see :mod:`schedframe.testing.strategies`): what never occurs is never checked.
    """

    pods: SearchStrategy[Pod] | None = field(default=None, validator=_STRATEGY)
    nodes: SearchStrategy[Node] | None = field(default=None, validator=_STRATEGY)
    objects: SearchStrategy[Sequence[Any]] | None = field(default=None, validator=_STRATEGY)
    """Sequences of objects of other kinds."""
    max_examples: int = field(default=50, validator=_NUMBER)
    """Number of clusters."""
    max_shrinks: int = field(default=150, validator=_NUMBER)
    """Steps at most in which a counterexample is made smaller."""
    seed: int = field(default=0, validator=_NUMBER)
    leave_out: Mapping[str, str] = field(factory=dict, validator=_check_reasons)
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
