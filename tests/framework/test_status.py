from __future__ import annotations

from typing import Any

import pytest

from schedframe.errors import InputError
from schedframe.framework import SKIP, SUCCESS, Code, Status

from ..state.build import make_pod


def test_numbers_and_spelling_are_the_references() -> None:
    assert [(int(code), code.label) for code in Code] == [
        (0, "Success"),
        (1, "Error"),
        (2, "Unschedulable"),
        (3, "UnschedulableAndUnresolvable"),
        (4, "Wait"),
        (5, "Skip"),
        (6, "Pending"),
    ]


@pytest.mark.parametrize(
    ("status", "code", "rejected"),
    [
        (Status.unschedulable("a", "b"), Code.UNSCHEDULABLE, True),
        (Status.unresolvable("a", "b"), Code.UNSCHEDULABLE_AND_UNRESOLVABLE, True),
        (Status.pending("a", "b"), Code.PENDING, True),
        (Status.wait(3.0, "a", "b"), Code.WAIT, False),
        (Status(Code.ERROR, ("a", "b")), Code.ERROR, False),
    ],
)
def test_makers(status: Status, code: Code, rejected: bool) -> None:
    assert (status.code, status.reasons, status.message) == (code, ("a", "b"), "a, b")
    assert status.is_rejected is rejected
    assert status.is_wait is (code is Code.WAIT)


def test_success_and_skip() -> None:
    assert SUCCESS.is_success
    assert not SUCCESS.is_rejected
    assert Status.skip() is SKIP
    assert SKIP.is_skip


def test_wait_has_a_timeout_and_events() -> None:
    status = Status.wait(2.5, events=["something"])
    assert (status.timeout, status.events) == (2.5, ("something",))
    assert SUCCESS.timeout is None


def test_an_error_keeps_its_exception() -> None:
    error = ValueError("too large")
    status = Status.from_error(error, "Fit")
    assert (status.reasons, status.plugin, status.error) == (("too large",), "Fit", error)
    assert Status.from_error(KeyError()).message == "KeyError"
    assert Status.from_error("in words").message == "in words"


def test_statuses_compare_by_what_people_see() -> None:
    assert Status.from_error(ValueError("x")) == Status.from_error("x")
    assert Status.unschedulable("x") != Status.unresolvable("x")
    assert Status.unschedulable("x") != Status.unschedulable("x").with_plugin("P")
    assert len({Status.unschedulable("x"), Status.unschedulable("x")}) == 1


def test_the_framework_names_the_plugin_unless_the_status_does() -> None:
    error = ValueError("x")
    status = Status(Code.WAIT, ("r",), "", error, 5.0, ("e",)).with_plugin("P")
    assert (status.plugin, status.error, status.timeout, status.events) == ("P", error, 5.0, ("e",))
    assert status.with_plugin("Q") is status
    assert Status.unschedulable("r", details={"r": 1}).with_plugin("P").details == {"r": 1}


def test_details_are_not_compared() -> None:
    few, many = (Status.unschedulable("no cpu", details={"no cpu": {"used": n}}) for n in (1, 9))
    assert few == many
    assert len({few, many}) == 1
    assert few.details == {"no cpu": {"used": 1}}
    assert Status.unresolvable("no cpu").details is None


@pytest.mark.parametrize("timeout", [-5, -0.1, float("nan"), float("-inf")])
def test_a_wait_is_not_negative(timeout: float) -> None:
    with pytest.raises(ValueError, match="must be 0 or more seconds"):
        Status.wait(timeout)
    with pytest.raises(TypeError, match="a number of seconds from 0"):
        Status(Code.WAIT, timeout=timeout).check()


@pytest.mark.parametrize("timeout", ["5", None, True, [5]])
def test_a_wait_is_a_number(timeout: Any) -> None:
    with pytest.raises(TypeError, match="must be a number of seconds, not"):
        Status.wait(timeout)


def test_equal_rejections_are_one_object_where_nothing_else_tells_them_apart() -> None:
    assert Status.unschedulable("no") is Status.unschedulable("no")
    assert Status.unresolvable("no") is Status.unresolvable("no")
    assert Status.unschedulable("no") != Status.unresolvable("no")
    assert Status.unschedulable("no", details={"no": {}}).details == {"no": {}}
    assert Status.unschedulable("no").details is None
    for i in range(3000):
        assert Status.unschedulable(f"no {i}").reasons == (f"no {i}",)
    odd: Any = ["no"]
    with pytest.raises(InputError, match="a list is not a text"):
        Status.unschedulable(odd)


def test_a_change_of_an_immutable_value_says_what_to_do() -> None:
    pod: Any = make_pod("p")
    with pytest.raises(AttributeError) as caught:
        pod.spec.node_name = "n"
    status = Status.from_error(caught.value)
    assert status.message == "API values are immutable: make a changed copy with attrs.evolve"
