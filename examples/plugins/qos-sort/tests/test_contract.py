"""The plugin keeps the contract."""

from __future__ import annotations

from schedframe_qos_sort import QOSSort

from schedframe.testing import check_plugin


def test_contract() -> None:
    check_plugin(QOSSort, max_examples=15)
