"""Options of schedulers, simulations and embeddings: one TypedDict and one table for each."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from typing import Any

import pytest

from schedframe import InMemoryCluster, InputError, Scheduler, Simulation, VirtualClock, evaluate
from schedframe.cycle import SchedulerOptions, SharedOptions, Tuning, options
from schedframe.embed import EmbeddingOptions
from schedframe.embed import options as embed_options
from schedframe.testing import CheckOptions, node, pod
from schedframe.testing import options as check_options

OPTIONS = [
    (SharedOptions, options.SHARED),
    (SchedulerOptions, options._OPTIONS),
    (EmbeddingOptions, embed_options._OPTIONS),
    (CheckOptions, check_options._OPTIONS),
]


@pytest.mark.parametrize(("declared", "table"), OPTIONS)
def test_type_checkers_and_the_table_know_the_same_options(declared: Any, table: Mapping[str, Any]) -> None:
    names = {name for cls in (declared, *getattr(declared, "__orig_bases__", ())) for name in _names(cls)}
    assert names == set(table)


def _names(cls: Any) -> set[str]:
    return set(getattr(cls, "__annotations__", ()))


@pytest.mark.parametrize("declared", [SharedOptions, SchedulerOptions, EmbeddingOptions, CheckOptions])
def test_each_option_says_what_it_is(declared: Any) -> None:
    (body,) = ast.parse(inspect.getsource(declared)).body
    assert isinstance(body, ast.ClassDef)
    without = [
        ast.unparse(one)
        for one, following in zip(body.body, [*body.body[1:], None], strict=True)
        if isinstance(one, ast.AnnAssign)
        and not (isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant))
    ]
    assert not without


def test_schedulers_may_share_options() -> None:
    shared: SchedulerOptions = {"seed": 3, "clock": VirtualClock(), "assume_ttl": 5.0}
    one, other = (Scheduler(InMemoryCluster(), **shared) for _ in range(2))
    assert one.core.clock is other.core.clock
    assert one.core.cache.assume_ttl == other.core.cache.assume_ttl == 5.0
    assert one.core.rng.getstate() == other.core.rng.getstate()


def test_a_simulation_takes_the_options_of_a_scheduler_and_tries_each_pod() -> None:
    simulation = Simulation([node("n")], tuning=Tuning(remember=0), seed=7)
    core = simulation.scheduler.core
    assert core.search.fast is None
    assert simulation.scheduler.rejections is None
    assert core.rng.getstate() == Scheduler(InMemoryCluster(), seed=7).core.rng.getstate()
    assert evaluate([node("n")], pod("p"), tuning=Tuning(remember=0)).feasible == ["n"]


def test_a_wrong_tuning_is_refused() -> None:
    with pytest.raises(InputError, match=r"tuning: 1 has no attribute wait_together; give Tuning\(...\)"):
        Scheduler(InMemoryCluster(), tuning=1)  # type: ignore[arg-type]  # a wrong value is the test
    with pytest.raises(InputError, match="verify: 2 is not a share"):
        Tuning(verify=2)
