"""Hypothesis profiles of the suite: the amount of random testing, and whether it repeats.

- ``merge``, the default: few examples, the same ones each time.
- ``search``: as many, but others each time; a failure says how to repeat it. ``.ci/run`` gives it a minute.
- ``laws``: the full sizes, random too: ``pytest -m hypothesis --hypothesis-profile laws``.

Tests name no number of examples. A test whose examples are whole schedulers or commands is marked
``few``, one of cheap examples that seldom find a fault ``many``. Random runs and recorded data are cut
by ``scaled`` and ``sample``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import HealthCheck, settings

T = TypeVar("T")
Test = TypeVar("Test")

DEFAULT = "merge"
FEW, MANY = 1 / 5, 4
EXAMPLES, STEPS = 25, 25
"""Examples of a test, and steps of a state machine, in the two short profiles."""
LAWS = 40
"""How many times as much the profile ``laws`` does."""


def register() -> None:
    """Register the three profiles with hypothesis and load the default."""
    # Examples of many objects are slow and large on purpose; no test depends on the speed of the machine.
    accepted = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
    common = settings(deadline=None, suppress_health_check=accepted)
    short = settings(common, max_examples=EXAMPLES, stateful_step_count=STEPS)
    settings.register_profile(DEFAULT, short, derandomize=True)
    settings.register_profile("search", short, print_blob=True)
    settings.register_profile(
        "laws", common, max_examples=EXAMPLES * LAWS, stateful_step_count=4 * STEPS, print_blob=True
    )
    settings.load_profile(DEFAULT)


def few(test: Test) -> Test:
    """Run a test or a state machine with a fifth of the examples of the profile."""
    return _share(FEW)(test)


def many(test: Test) -> Test:
    """Run a test or a state machine with four times the examples of the profile."""
    return _share(MANY)(test)


def scaled(length: int) -> int:
    """Return the length of a random run: *length*, or many times that in the profile ``laws``."""
    return length * max(1, settings().max_examples // EXAMPLES)


def sample(values: Sequence[T], share: int = 10) -> Sequence[T]:
    """Return one in *share* of *values*, from the first; all of them in the profile ``laws``."""
    return values if scaled(1) > 1 else values[::share]


def _share(factor: float) -> settings:
    return settings(max_examples=max(2, round(factor * settings().max_examples)))
