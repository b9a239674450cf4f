"""Faults of making a plugin, and of closing it."""

from __future__ import annotations

from typing import Any

import attrs
from attrs import define, field, frozen

from schedframe import (
    Handle,
    NodeInfo,
    hookimpl,
)


@frozen
class LateArgs:
    worth: int = 1


@define(eq=False)
class RefusesTooLate:
    """Args are checked when the plugin is made, where their path is unknown."""

    args: LateArgs

    def __attrs_post_init__(self) -> None:
        if self.args.worth < 0:
            raise ValueError("must not be negative")

    @hookimpl
    def score(self) -> int:
        return min(self.args.worth, 100)


def _positive(instance: Any, attribute: attrs.Attribute[int], value: int) -> None:
    if value < 0:
        raise ValueError("that is not enough")


@frozen
class VagueArgs:
    worth: int = field(default=1, validator=_positive)


@define(eq=False)
class RefusesVaguely:
    """The message does not say which field it is about."""

    args: VagueArgs

    @hookimpl
    def score(self) -> int:
        return min(self.args.worth, 100)


@define
class ComparesByValue:
    """Default equality."""

    @hookimpl
    def score(self) -> int:
        return 1


@define(eq=False)
class WantsKeywords:
    @hookimpl
    def score(self, *, node_info: NodeInfo) -> int:
        return 1


@define(eq=False)
class WrapsPostBind:
    """A scheduler would never call it, without a word."""

    @hookimpl(wrapper=True)
    def post_bind(self) -> Any:
        return (yield)


@define(eq=False)
class WantsToBeFirst:
    @hookimpl(tryfirst=True)
    def score(self) -> int:
        return 1


@define(eq=False)
class ForgetsOneMark:
    """The filter would never be called, without a word."""

    @hookimpl
    def score(self) -> int:
        return 1

    def filter(self, node_info: NodeInfo) -> None: ...


@define(eq=False)
class NeedsMoreThanItGets:
    handle: Handle
    server: str

    @hookimpl
    def score(self) -> int:
        return 1


@define(eq=False)
class ClosesOnce:
    open: list[str] = field(factory=lambda: ["connection"], init=False)

    @hookimpl
    def score(self) -> int:
        return 1

    @hookimpl
    def close(self) -> None:
        self.open.pop()
