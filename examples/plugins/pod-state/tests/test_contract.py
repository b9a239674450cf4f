"""The plugin keeps the contract."""

from __future__ import annotations

from schedframe_pod_state import PodState

from schedframe.testing import check_plugin


def test_contract() -> None:
    check_plugin(PodState, max_examples=25)
