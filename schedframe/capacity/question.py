"""Common part of all questions about the room in a cluster: the options, and a fork that is asked."""

from __future__ import annotations

from typing import Any

from ..config import ConfigSource
from ..fork import Fork
from ..fork.parts import ForkOptions
from ..fork.sources import ForkSource


class QuestionOptions(ForkOptions, total=False):
    """The options of all questions: those of a fork, and these."""

    config: ConfigSource
    """The configuration of the scheduler; default: that of the scheduler that is given."""
    after: bool
    """Whether pods that wait are placed first, which they are by default."""


def asked_fork(cluster: ForkSource, options: QuestionOptions) -> tuple[Fork, bool]:
    """Return a fork of *cluster*, and whether pods that wait are to be placed first."""
    of_fork: dict[str, Any] = dict(options)
    after, config = of_fork.pop("after", True), of_fork.pop("config", None)
    return Fork.of(cluster, config, **of_fork), after


def settled_fork(cluster: ForkSource, options: QuestionOptions) -> Fork:
    """Return a fork of *cluster* in which pods that wait are placed, if *options* do not say otherwise."""
    fork, after = asked_fork(cluster, options)
    if after and fork.pending():
        fork.schedule()
    return fork
