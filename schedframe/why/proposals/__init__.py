"""Changes that might help, proposed from the fields of pods and nodes. Whether one helps is tried out."""

from __future__ import annotations

from collections.abc import Iterator

from ..change import Change
from . import claims, company, nodes, other_pods, placement, requests, spreading
from .case import Case, NearNode

__all__ = ["Case", "NearNode", "candidates"]

_PROPOSALS = (
    requests.propose,
    placement.propose,
    spreading.propose,
    nodes.propose,
    other_pods.propose,
    company.propose,
    claims.propose,
)


def candidates(case: Case) -> Iterator[Change]:
    """Yield all proposed changes, in no order."""
    for propose in _PROPOSALS:
        yield from propose(case)
