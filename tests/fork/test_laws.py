"""The laws of trials: everything is set back, and decisions are those of a scheduler that never tried."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from schedframe.fork import Fork

from ..profiles import scaled
from .worlds import WaitsInPermit, check, decisions_of, random_change, random_fork, state_of

STEPS = 12
OPTIONS: list[dict[str, Any]] = [
    {},
    {"score_all_nodes": False},
    {"feature_gates": {"GenericWorkload": True, "GangScheduling": True}},
    {"plugins": [WaitsInPermit]},
]


def try_out(fork: Fork, name: str, rng: Random) -> None:
    """Change things at random, some of them in trials within this one."""
    for change in range(rng.randrange(6)):
        if rng.random() < 0.7:
            random_change(fork, f"{name}-{change}", rng)
            continue
        before = state_of(fork)
        with fork.trial() as trial:
            random_change(fork, f"{name}-{change}", rng)
            is_kept = rng.random() < 0.3
            if is_kept:
                trial.keep()
        assert is_kept or state_of(fork) == before


@pytest.mark.parametrize("options", OPTIONS)
def test_a_revert_sets_everything_back(options: dict[str, Any]) -> None:
    for seed in range(scaled(6)):
        with random_fork(seed, **options) as fork:
            rng = Random(seed)
            for step in range(STEPS):
                before = state_of(fork)
                with fork.trial():
                    try_out(fork, f"tried{step}", rng)
                assert state_of(fork) == before, f"seed {seed}, step {step}"
                check(fork)
                random_change(fork, f"p{step}", rng)


@pytest.mark.parametrize("options", OPTIONS)
def test_decisions_are_those_of_a_fork_that_never_tried(options: dict[str, Any]) -> None:
    for seed in range(scaled(6)):
        with random_fork(seed, **options) as trying, random_fork(seed, **options) as other:
            rng = Random(seed)
            for step in range(STEPS):
                with trying.trial():
                    try_out(trying, f"tried{step}", rng)
                same = rng.getrandbits(32)
                for fork in (trying, other):
                    random_change(fork, f"p{step}", Random(same))
                assert decisions_of(trying) == decisions_of(other), f"seed {seed}, step {step}"
