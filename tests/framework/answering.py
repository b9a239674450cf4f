"""Frameworks whose plugins answer as a test wants."""

from __future__ import annotations

from typing import Any

from schedframe.framework import (
    CycleState,
    Framework,
)

from ..state.build import make_pod
from .fakes import (
    framework_of,
    plugin,
)

POD = make_pod("p", "n0")
STATE = CycleState()


def answering(hook: str, *answers: Any, asked: list[str] | None = None) -> Framework:
    """Plugins A, B, …, each of which answers so at that hook."""

    def function(name: str, answer: Any) -> Any:
        def call(self: Any) -> Any:
            if asked is not None:
                asked.append(name)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call

    names = "ABCDEF"[: len(answers)]
    return framework_of(
        **{
            name: plugin(**{hook: function(name, answer)})
            for name, answer in zip(names, answers, strict=True)
        }
    )
