"""DefaultTolerationSeconds: pods stay for five minutes on a node that fails."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe.api import Toleration

from .made import admission, admitted_pod, decoded, pod

NOT_READY = Toleration("node.kubernetes.io/not-ready", "Exists", "", "NoExecute", 300)
UNREACHABLE = Toleration("node.kubernetes.io/unreachable", "Exists", "", "NoExecute", 300)


@pytest.mark.parametrize(
    ("given", "added"),
    [
        ([], [NOT_READY, UNREACHABLE]),
        ([{"key": "other", "operator": "Exists"}], [NOT_READY, UNREACHABLE]),
        ([{"operator": "Exists"}], []),
        ([{"operator": "Exists", "effect": "NoSchedule"}], [NOT_READY, UNREACHABLE]),
        ([{"key": NOT_READY.key, "operator": "Exists", "effect": "NoExecute"}], [UNREACHABLE]),
        ([{"key": UNREACHABLE.key, "value": "x"}], [NOT_READY]),
        ([{"key": UNREACHABLE.key, "effect": "NoSchedule"}], [NOT_READY, UNREACHABLE]),
    ],
)
def test_pods_get_those_that_they_lack(given: list[dict[str, Any]], added: list[Toleration]) -> None:
    found = admitted_pod(pod(tolerations=given)).spec.tolerations
    assert list(found[len(given) :]) == added


def test_it_can_be_switched_off() -> None:
    assert admitted_pod(pod(), without=["DefaultTolerationSeconds"]).spec.tolerations == ()


def test_the_deed_is_counted_as_routine() -> None:
    admitting = admission(without=["Priority"])
    admitting.admit(decoded(pod()))
    assert admitting.lines() == []
    assert admitting.lines(routine=True) == [
        "DefaultTolerationSeconds: 300 s on nodes that are not ready or unreachable (1 pod)"
    ]
