"""schedframe against what was measured on kube-scheduler: every case of every family, see data/README.md."""

from __future__ import annotations

import pytest

from . import families
from .corpus import Corpus
from .reporting import differing, properties

_SHOWN = 20


@pytest.mark.parametrize("family", families.FAMILIES)
def test_family_is_there(family: str, corpus: Corpus) -> None:
    assert family in corpus.families, f"{corpus.directory} has no {family}.jsonl.gz"
    assert corpus.names(family)


def test_no_family_is_overlooked(corpus: Corpus) -> None:
    assert corpus.families <= families.FAMILIES.keys(), "a file that no comparer is named for in families.py"


def test_case(family: str, index: int, corpus: Corpus, request: pytest.FixtureRequest) -> None:
    case = corpus.case(family, index)
    plan = families.plan(family, case)
    request.node.user_properties.append(properties(family, plan))
    if plan.state == "compared":
        lines = families.compare(family, case)
        if lines:
            request.node.user_properties.append(differing(lines))
            more = [f"… and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
            pytest.fail("\n".join([f"{family} {case['name']}", *lines[:_SHOWN], *more]), pytrace=False)
