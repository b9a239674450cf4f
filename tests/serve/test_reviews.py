"""Answers to reviews: only a clear yes is one, and anything else has an answer and a line in the log."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest
from attrs import define

from schedframe.serve import ApiReviewer, Endpoints, Identity, application
from tests.cluster.kubernetes.scripted import ScriptedClient

USER = {"username": "u"}
YES = {"status": {"authenticated": True, "user": USER}}
ALLOWED = {"status": {"allowed": True}}
DEEP = b"[" * 5000
MALFORMED: list[Any] = [
    b"",
    b"null",
    b"[]",
    b"1",
    b'"x"',
    b"{",
    b"<html>log in</html>",
    b"\xff\xfe",
    DEEP,
    b'{"status":{"x":' + DEEP + b"]" * 5000 + b"}}",
    {},
    {"status": None},
    {"status": []},
    {"kind": "Status", "status": "Failure", "code": 500},
]
NO_BOOLEANS: list[Any] = ["true", "false", "no", 0, 1, None, [], [0], {}]


async def answered(reviewer: Any, path: str = "/metrics") -> tuple[int, dict[bytes, bytes]]:
    """Return status and headers of the answer to a request with a token."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"authorization", b"Bearer t")],
    }
    await application(Endpoints(metrics=lambda: b"secret"), reviewer)(scope, receive, send)
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    return sent[0]["status"], dict(sent[0]["headers"])


def status(token: Any, access: Any, caplog: pytest.LogCaptureFixture) -> int:
    """Return the status of an answer; one that is an error has a line in the log and no traceback."""
    caplog.clear()
    reviewer = ApiReviewer(ScriptedClient([token, access]))  # type: ignore[arg-type]  # stands in for one
    code, headers = asyncio.run(answered(reviewer))
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert len(caplog.records) == (code >= 500)
    assert not any(record.exc_info for record in caplog.records)
    return int(code)


def test_a_yes_is_one(caplog: pytest.LogCaptureFixture) -> None:
    assert status(YES, ALLOWED, caplog) == 200
    nulls = {"authenticated": True, "user": {**USER, "groups": None, "extra": None}}
    assert status({"status": nulls}, ALLOWED, caplog) == 200, "empty lists may be null"


@pytest.mark.parametrize("answer", MALFORMED, ids=range(len(MALFORMED)))
def test_an_answer_of_another_form_is_no_review(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert status(answer, ALLOWED, caplog) == 503
    assert status(YES, answer, caplog) == 503


@pytest.mark.parametrize("value", NO_BOOLEANS, ids=json.dumps)
def test_what_is_no_boolean_is_no_yes(value: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert status({"status": {"authenticated": value, "user": USER}}, ALLOWED, caplog) == 503
    assert status(YES, {"status": {"allowed": value}}, caplog) == 503
    assert status(YES, {"status": {"allowed": True, "denied": value}}, caplog) == 503


def test_a_denial_counts_more_than_a_permission(caplog: pytest.LogCaptureFixture) -> None:
    assert status(YES, {"status": {"allowed": True, "denied": True}}, caplog) == 403
    assert status(YES, {"status": {"allowed": False}}, caplog) == 403
    assert status(YES, {"status": {}}, caplog) == 403
    assert status({"status": {"authenticated": False}}, ALLOWED, caplog) == 401


@pytest.mark.parametrize(
    "user",
    [
        None,
        {},
        [],
        ["x"],
        {"username": 5},
        {"username": ""},
        {"username": "u", "groups": "abc"},
        {"username": "u", "groups": [["x"]]},
        {"username": "u", "extra": {"k": None}},
        {"username": "u", "extra": ["k"]},
    ],
    ids=json.dumps,
)
def test_a_user_of_another_form(user: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert status({"status": {"authenticated": True, "user": user}}, ALLOWED, caplog) == 503


@define
class Faulty:
    """A reviewer with a fault."""

    async def authenticate(self, token: str) -> Identity | None:
        raise ValueError("a fault")

    async def may(self, user: Identity, verb: str, path: str) -> bool:
        raise ValueError("a fault")


def test_a_fault_of_a_reviewer_is_answered_too(caplog: pytest.LogCaptureFixture) -> None:
    code, headers = asyncio.run(answered(Faulty(), "/a\nERROR forged"))
    assert (code, headers[b"cache-control"]) == (500, b"no-cache, private")
    assert [record.getMessage() for record in caplog.records] == ["GET /a%0AERROR%20forged failed"]
    assert caplog.records[0].levelno == logging.ERROR
