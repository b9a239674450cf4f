"""Framework: how reserve, permit and the binding points treat what plugins answer."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe.framework import (
    Code,
    Framework,
    PermitOutcome,
    Status,
)
from schedframe.framework.binding import NO_BINDER

from .answering import POD, STATE, answering
from .fakes import HOPELESS, REJECTED, Journal, framework_of, placeless, plugin

# ---- reserve and unreserve ---------------------------------------------------------------------------------


def reserving(journal: Journal, **answers: Any) -> Framework:
    return framework_of(
        **{
            name: plugin(
                reserve=journal.hook(f"reserve {name}", answer), unreserve=journal.hook(f"unreserve {name}")
            )
            for name, answer in answers.items()
        }
    )


def test_reserve_in_order_and_unreserve_in_reverse_order() -> None:
    journal = Journal()
    framework = reserving(journal, A=None, B=Status(), C=None)
    assert framework.run_reserve(STATE, POD, "n0") is None
    assert framework.run_unreserve(STATE, POD, "n0") == []
    assert journal.entries == [
        "reserve A",
        "reserve B",
        "reserve C",
        "unreserve C",
        "unreserve B",
        "unreserve A",
    ]


def test_reserve_stops_at_a_rejection_and_every_plugin_is_unreserved() -> None:
    journal = Journal()
    framework = reserving(journal, A=None, B=Status.pending("later"), C=None)
    assert framework.run_reserve(STATE, POD, "n0") == Status.pending("later").with_plugin("B")
    framework.run_unreserve(STATE, POD, "n0")
    assert journal.entries == ["reserve A", "reserve B", "unreserve C", "unreserve B", "unreserve A"]


def said(answer: Any) -> str:
    """What the message says of an exception, or of a status."""
    return f"ValueError: {answer}" if isinstance(answer, ValueError) else "no"


@pytest.mark.parametrize("answer", [ValueError("no"), Status.from_error("no")])
def test_reserve_that_fails(answer: Any) -> None:
    status = reserving(Journal(), A=answer).run_reserve(STATE, POD, "n0")
    assert placeless(status) == Status(Code.ERROR, (f'running Reserve plugin "A": {said(answer)}',), "A")


@pytest.mark.parametrize("answer", [5, Status.skip(), Status.wait(1.0)])
def test_invalid_answer_of_reserve(answer: Any) -> None:
    status = reserving(Journal(), A=answer).run_reserve(STATE, POD, "n0")
    assert status is not None
    assert "at reserve; return None, a rejection or an error" in status.message


def test_a_failing_unreserve_does_not_keep_the_others_from_undoing() -> None:
    journal = Journal()
    error = ValueError("no")
    framework = framework_of(
        A=plugin(unreserve=journal.hook("A")),
        B=plugin(unreserve=journal.hook("B", error)),
        C=plugin(unreserve=journal.hook("C")),
    )
    (fault,) = framework.run_unreserve(STATE, POD, "n0")
    assert (fault.code, fault.plugin, fault.error) == (Code.ERROR, "B", error)
    assert journal.entries == ["C", "B", "A"]


# ---- permit ------------------------------------------------------------------------------------------------


def test_permit_without_objections() -> None:
    assert framework_of().run_permit(STATE, POD, "n0") == PermitOutcome()
    assert answering("permit", None, Status()).run_permit(STATE, POD, "n0") == PermitOutcome()


def test_all_plugins_that_want_to_wait_are_waited_for() -> None:
    framework = answering("permit", Status.wait(5.0), None, Status.wait(0.0))
    assert framework.run_permit(STATE, POD, "n0") == PermitOutcome(None, {"A": 5.0, "C": 0.0})


@pytest.mark.parametrize("rejection", [REJECTED, HOPELESS, Status.pending("later")])
def test_a_rejection_ends_permit_without_a_wait(rejection: Status) -> None:
    asked: list[str] = []
    framework = answering("permit", Status.wait(5.0), rejection, None, asked=asked)
    assert framework.run_permit(STATE, POD, "n0") == PermitOutcome(rejection.with_plugin("B"))
    assert asked == ["A", "B"]


@pytest.mark.parametrize("answer", [ValueError("no"), Status.from_error("no")])
def test_permit_that_fails(answer: Any) -> None:
    status = answering("permit", answer).run_permit(STATE, POD, "n0").status
    assert placeless(status) == Status(Code.ERROR, (f'running Permit plugin "A": {said(answer)}',), "A")


@pytest.mark.parametrize("answer", [5, True, (REJECTED, 5.0), Status.skip(), Status(Code.WAIT)])
def test_invalid_answer_of_permit(answer: Any) -> None:
    outcome = answering("permit", answer).run_permit(STATE, POD, "n0")
    assert outcome.status is not None
    assert (outcome.status.code, outcome.status.plugin) == (Code.ERROR, "A")
    assert "at permit; return None, a rejection or Status.wait(seconds)" in outcome.status.message


# ---- binding -----------------------------------------------------------------------------------------------


def with_flights(**answers: Any) -> Framework:
    """Plugins with pre_bind, and with pre_bind_pre_flight unless the answer is ``...``."""
    journal = Journal()
    return framework_of(
        **{
            name: plugin(
                pre_bind=lambda self: None,
                **({} if answer is ... else {"pre_bind_pre_flight": journal.hook(name, answer)}),
            )
            for name, answer in answers.items()
        }
    )


def test_only_plugins_with_something_to_do_bind_beforehand() -> None:
    framework = with_flights(A=None, B=Status.skip(), C=..., D=Status())
    assert framework.pre_binders(STATE, POD, "n0") == ("A", "C", "D")
    assert framework_of().pre_binders(STATE, POD, "n0") == ()


@pytest.mark.parametrize("answer", [ValueError("no"), Status.from_error("no"), Status.unschedulable("no")])
def test_a_pre_flight_that_cannot_say(answer: Any) -> None:
    status = with_flights(A=answer).pre_binders(STATE, POD, "n0")
    assert isinstance(status, Status)
    assert placeless(status) == Status(Code.ERROR, (f'running PreBindPreFlight "A": {said(answer)}',), "A")


@pytest.mark.parametrize("answer", [5, True, Status.wait(1.0)])
def test_invalid_answer_of_a_pre_flight(answer: Any) -> None:
    status = with_flights(A=answer).pre_binders(STATE, POD, "n0")
    assert isinstance(status, Status)
    assert "at pre_bind_pre_flight; return None, Status.skip() or an error" in status.message


def test_post_bind_and_close_reach_every_plugin() -> None:
    journal = Journal()
    error = ValueError("no")

    def close(self: Any) -> None:
        journal.entries.append("close")
        raise error

    framework = framework_of(
        A=plugin(post_bind=journal.hook("A", error), close=close),
        B=plugin(post_bind=journal.hook("B"), close=close),
    )
    assert [fault.plugin for fault in framework.run_post_bind(STATE, POD, "n0")] == ["A"]
    assert [(fault.plugin, fault.error) for fault in framework.close()] == [("A", error), ("B", error)]
    assert journal.entries == ["A", "B", "close", "close"]


# ---- pre_bind and bind -----------------------------------------------------------------------------------


def test_a_framework_binds_by_itself() -> None:
    journal = Journal()

    async def late(self: Any) -> None:
        journal.entries.append("late")

    framework = framework_of(
        A=plugin(pre_bind=journal.hook("A"), bind=journal.hook("skips", Status.skip())),
        B=plugin(pre_bind=late, bind=journal.hook("binds")),
        C=plugin(pre_bind=journal.hook("C"), pre_bind_pre_flight=lambda self: Status.skip()),
        D=plugin(bind=journal.hook("not reached")),
    )
    assert framework.run_pre_bind(STATE, POD, "n0") is None
    assert framework.run_bind(STATE, POD, "n0") is None
    assert journal.entries == ["A", "late", "skips", "binds"]


def test_the_first_plugin_that_fails_ends_pre_bind_and_bind() -> None:
    journal = Journal()
    error = ValueError("no")
    framework = framework_of(
        A=plugin(pre_bind=journal.hook("A", Status.wait(3.0)), bind=journal.hook("skips", Status.skip())),
        B=plugin(pre_bind=journal.hook("not reached"), bind=journal.hook("fails", error)),
    )
    waits = framework.run_pre_bind(STATE, POD, "n0")
    failed = framework.run_bind(STATE, POD, "n0")
    assert waits is not None
    assert failed is not None
    assert (waits.code, waits.plugin, waits.timeout) == (Code.WAIT, "A", 3.0)
    assert (failed.plugin, failed.error) == ("B", error)
    assert journal.entries == ["A", "skips", "fails"]
    assert framework_of(A=plugin(bind=lambda self: Status.skip())).run_bind(STATE, POD, "n0") == NO_BINDER


def test_pre_bind_whose_pre_flight_fails_is_not_called() -> None:
    journal = Journal()
    framework = framework_of(
        A=plugin(pre_bind=journal.hook("A"), pre_bind_pre_flight=journal.hook("flight", ValueError("no")))
    )
    status = framework.run_pre_bind(STATE, POD, "n0")
    assert status is not None
    assert status.code is Code.ERROR
    assert journal.entries == ["flight"]
