"""Checks of all kinds but pods meet members of any type, and find what is wrong without an exception."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from schedframe.api import KINDS as READ
from schedframe.api.validation import problems_of
from schedframe.api.validation.whole.cluster import CLUSTER_CHECKS, REQUIRED_CLUSTER_CHECKS
from schedframe.api.validation.whole.pods import POD_CHECKS, REQUIRED_POD_CHECKS
from tests.profiles import sample

from . import test_cluster_rules, test_device_rules, test_volume_rules, test_workload_rules
from .kinds import KINDS, RIGHT, changed

ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, float("nan"), "", "x", "9" * 5000, "1Gi"),
    *([], [None], [[]], [{}], ["a", 1], {}, {"": ""}, {1: 2}, {"a": {}}, {"storage": []}),
)
CLASSES = {**READ, **{cls.KIND: cls for cls in KINDS}}
TABLES = (test_cluster_rules.ROWS, test_volume_rules.ROWS, test_workload_rules.ROWS)
ROWS = {kind: [row for table in TABLES for row in table.get(kind, [])] for kind in RIGHT}


def _with_odd(value: Any) -> Iterator[Any]:
    """Yield *value* with one member changed to each odd value."""
    yield from ODD
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from ({**value, key: odd} for odd in _with_odd(inner))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from ([*value[:index], odd, *value[index + 1 :]] for odd in _with_odd(inner))


@pytest.mark.parametrize("kind", RIGHT)
def test_any_member_may_have_any_type(kind: str) -> None:
    cls, checked = CLASSES[kind], 0
    for row in [({}, {}, ""), *sample(ROWS[kind], 4)]:
        manifest = changed(kind, {**row[0], **row[1]})
        for body in ("spec", "status", "parameters", "allowedTopologies", "value", "capacity", "scheduling"):
            for odd in _with_odd(manifest.get(body)) if body in manifest else ():
                for error in problems_of({**manifest, body: odd}, cls, required=True):
                    assert error.problem
                checked += 1
    assert checked >= len(ODD)


def test_any_member_of_devices_and_groups_may_have_any_type() -> None:
    checked = 0
    for right, wrong, _ in (
        *test_device_rules.CLAIMS,
        *test_device_rules.SLICES[::2],
        *test_device_rules.GROUPS,
    ):
        for manifest in (right, wrong):
            if len(str(manifest)) > 2000:
                continue  # long lists of equal items
            for odd in _with_odd(manifest["spec"]):
                for error in problems_of({**manifest, "spec": odd}, CLASSES[manifest["kind"]], required=True):
                    assert error.problem
                checked += 1
    assert checked > 5000


def test_no_type_has_two_checks_of_a_kind() -> None:
    assert not CLUSTER_CHECKS.keys() & POD_CHECKS.keys()
    assert not REQUIRED_CLUSTER_CHECKS.keys() & REQUIRED_POD_CHECKS.keys()
