"""Findings of a check."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ..._base.value import record
from ...framework.points import HOOKS
from ..worlds.world import World
from .contract import Clause
from .subject import Subject


class Violation(Exception):
    """A plugin breaks the contract in the world that is being looked at, or in *world* which is like it."""

    def __init__(self, what: str, world: World | None = None) -> None:
        self.world = world
        super().__init__(what)


CheckFn: TypeAlias = Callable[[Subject, World], None]


@record(frozen=True)
class Check:
    """One question about a plugin. ``run`` raises :class:`Violation`."""

    name: str
    clause: Clause
    run: CheckFn
    concerns: Callable[[Subject], bool] = lambda subject: True
    """Whether the plugin has what the question is about."""
    once: bool = False
    """Whether one world is as good as any."""
    last: bool = False
    """Whether ``check_plugin`` leaves it out after another failure, which it would only repeat."""


def having(*hooks: str) -> Callable[[Subject], bool]:
    """Concerns plugins that implement all of *hooks*."""
    return lambda subject: subject.hooks.issuperset(hooks)


def having_any(*hooks: str) -> Callable[[Subject], bool]:
    """Concerns plugins that implement one of *hooks*."""
    return lambda subject: not subject.hooks.isdisjoint(hooks)


FILTERS = HOOKS["filter_groups"].spec.needs
SCORES = HOOKS["score_groups"].spec.needs
