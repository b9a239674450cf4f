"""Freeze and thaw at random moments: answers afterwards are those of a fork that was not frozen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from schedframe.errors import InputError
from schedframe.fork import Fork, freeze, thaw
from schedframe.testing import node, pod

from ..profiles import scaled
from .worlds import check, decisions_of, random_change, random_fork, state_of

STEPS = 12
OPTIONS: list[dict[str, Any]] = [
    {},
    {"score_all_nodes": False},
    {"feature_gates": {"GenericWorkload": True, "GangScheduling": True}},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_a_thawed_fork_goes_on_as_the_frozen_one(options: dict[str, Any]) -> None:
    for seed in range(scaled(4)):
        rng, other = Random(seed), random_fork(seed, **options)
        thawing = random_fork(seed, **options)
        for step in range(STEPS):
            if rng.random() < 0.4:
                data = freeze(thawing)
                before = state_of(thawing)
                thawing.close()
                thawing = thaw(data)
                check(thawing)
                assert_equal_states(before, state_of(thawing))
            same = rng.getrandbits(32)
            for fork in (thawing, other):
                random_change(fork, f"p{step}", Random(same))
            assert decisions_of(thawing) == decisions_of(other), f"seed {seed}, step {step}"
        thawing.close()
        other.close()


def assert_equal_states(before: dict[str, Any], after: dict[str, Any]) -> None:
    for name, value in before.items():
        assert after[name] == value, name


def test_time_goes_on() -> None:
    with Fork.of([node("n", cpu=1), pod("a").requests(cpu=1), pod("b").requests(cpu=1)]) as fork:
        start = fork.clock()
        for each in fork.cluster.list("Pod"):
            fork.durations[each.uid] = 30
        fork.advance(start + 10)
        with thaw(freeze(fork)) as other:
            assert other.clock() == start + 10
            assert (other.ends, other.durations) == (fork.ends, fork.durations)
            ends = [each.advance(until=lambda fork: not fork.cluster.list("Pod")) for each in (fork, other)]
        assert ends[0] == ends[1]


def test_a_fork_is_thawed_in_another_process(tmp_path: Path) -> None:
    with Fork.of([node("n"), pod("p")], seed=3) as fork:
        (tmp_path / "fork").write_bytes(freeze(fork))
        program = (
            "import sys; from pathlib import Path; from schedframe.fork import thaw\n"
            "with thaw(Path(sys.argv[1]).read_bytes()) as fork: print(*fork.schedule())"
        )
        command = [sys.executable, "-c", program, str(tmp_path / "fork")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == str(fork.schedule()[0])


def test_bytes_of_another_kind_are_refused() -> None:
    for data in (b"", b"schedframe fork 0\n", "text"):
        with pytest.raises(InputError, match="this is no frozen fork of version 1"):
            thaw(data)  # type: ignore[arg-type]
