"""Decide among some of the nodes, such as those of a placement, from the answers cached for a class."""

from __future__ import annotations

from random import Random

import numpy as np

from ...framework import Verdicts
from ...state import Rows
from ...state.greatest import greatest
from ..search.decision import Decision
from ..search.tie_breaking import one_of
from .live_search import columns_of, rejected
from .spec_memo import SpecMemo


def choose_among(memo: SpecMemo, decision: Decision, among: Rows, rng: Random) -> Decision:
    """Return the decision of the full search, restricted to *among*. O(rows).

    The class of *memo* is up to date, and no uncached plugin has anything to say.
    """
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
    decision.node_name = eq_class.table.name_of(one_of(feasible, totals == greatest(totals), rng))
    return decision
