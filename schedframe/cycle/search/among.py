"""Decide among some of the nodes, such as those of a placement, from the answers cached for a class."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ..._plugin_faults import plugin_faults
from ...api import Pod
from ...framework import Framework, Verdicts
from ...state import Rows
from ...state.greatest import greatest
from ..equivalence.fast_search import FastSearch
from ..equivalence.live_search import columns_of, rejected
from ..equivalence.spec_memo import SpecMemo
from .decision import Decision
from .tie_breaking import one_of

Codes = npt.NDArray[np.integer]
T = TypeVar("T")


def decide_among(fast: FastSearch, framework: Framework, pod: Pod, among: Rows) -> Decision | None:
    """Return the decision of the full search, restricted to *among*; ``None`` to leave it to that search.

    Covers classes for which no uncached plugin has anything to say. O(dirty rows of the class + rows).
    """
    return _with_class(fast, framework, pod, lambda memo, decision: _choose(fast, memo, decision, among))


def feasible_codes(fast: FastSearch, framework: Framework, pod: Pod) -> Codes | None:
    """Return a column with 0 for each row that is feasible for *pod*; ``None`` if no class can tell.

    Read-only, of shape ``(capacity,)``, and good until a row changes.
    """
    return _with_class(fast, framework, pod, lambda memo, _: columns_of(memo.eq_class).codes)


def _with_class(
    fast: FastSearch, framework: Framework, pod: Pod, read: Callable[[SpecMemo, Decision], T | None]
) -> T | None:
    """Return what *read* makes of the class of *pod*; faults as in :meth:`FastSearch.decide`."""
    try:
        found = _of_class(fast, framework, pod)
        return None if found is None else read(*found)
    except plugin_faults() as error:
        fast.drop(framework, pod, error)
        return None
    except BaseException:
        fast.cache.drop(framework, pod)
        raise


def _of_class(fast: FastSearch, framework: Framework, pod: Pod) -> tuple[SpecMemo, Decision] | None:
    """Return the memo of *pod*, whose class is up to date, and a decision that has begun."""
    if pod.status.nominated_node_name:
        return None
    memo = fast.cache.lookup(framework, pod)
    if memo is None or memo.nominations or memo.eq_class.plan.node_filters:
        return None
    if not memo.eq_class.refresh():
        return None
    decision = memo.all_skip(pod, fast.cache.objects) if memo.all_live_skip else None
    if decision is None and memo.probed != memo.eq_class.generation:
        # What the uncached plugins say is learnt by a search among all nodes, once.
        memo.probed = memo.eq_class.generation
        fast.decide(framework, pod)
        if memo.eq_class.evicted or not memo.eq_class.refresh() or not memo.all_live_skip:
            return None
        decision = memo.all_skip(pod, fast.cache.objects)
    return None if decision is None else (memo, decision)


def _choose(fast: FastSearch, memo: SpecMemo, decision: Decision, among: Rows) -> Decision | None:
    eq_class = memo.eq_class
    columns = columns_of(eq_class)
    codes = among.take(columns.codes)
    passing = codes == 0
    count = int(np.count_nonzero(passing))
    decision.evaluated = len(among)
    if not count:
        verdicts = Verdicts(among, codes.astype(np.int32), list(columns.statuses))
        return rejected(decision, verdicts)
    feasible = decision.feasible = among if count == len(among) else among.select(passing)
    if count == 1:
        decision.node_name = feasible.names()[0]
        return decision
    totals = columns.totals_of(feasible)
    decision.node_name = eq_class.table.name_of(one_of(feasible, totals == greatest(totals), fast.rng))
    return decision
