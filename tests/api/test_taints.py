from __future__ import annotations

import pytest

from schedframe.api import Taint, Toleration, find_untolerated_taint

TAINT = Taint("gpu", "yes", "NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "tolerates"),
    [
        (Toleration("gpu", "Equal", "yes", "NoSchedule"), True),
        (Toleration("gpu", "", "yes", "NoSchedule"), True),
        (Toleration("gpu", "Equal", "yes"), True),
        (Toleration("gpu", "Exists"), True),
        (Toleration("", "Exists"), True),
        (Toleration("", "Exists", effect="NoSchedule"), True),
        (Toleration("gpu", "Equal", "no"), False),
        (Toleration("gpu", "Equal"), False),
        (Toleration("gpu", "Exists", effect="NoExecute"), False),
        (Toleration("cpu", "Exists"), False),
        (Toleration("gpu", "Gt", "yes"), False),
        (Toleration("", "Equal", "yes"), True),
        (Toleration("", "", ""), False),
    ],
)
def test_what_a_toleration_covers(toleration: Toleration, tolerates: bool) -> None:
    assert toleration.tolerates(TAINT) is tolerates


def test_the_first_uncovered_taint_is_found() -> None:
    soft, hard, gone = (
        Taint("a", effect="PreferNoSchedule"),
        Taint("b", effect="NoSchedule"),
        Taint("c", effect="NoExecute"),
    )
    taints = (soft, hard, gone)
    assert find_untolerated_taint(taints, ()) == soft
    assert find_untolerated_taint(taints, (), ("NoSchedule", "NoExecute")) == hard
    assert find_untolerated_taint(taints, (Toleration("b", "Exists"),), ("NoSchedule", "NoExecute")) == gone
    assert find_untolerated_taint(taints, (Toleration("", "Exists"),)) is None
    assert find_untolerated_taint((), ()) is None
