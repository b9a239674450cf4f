"""Answers in the binary form: what is read of failures, and that other bytes are refused."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe.cluster.kubernetes.binary import MAGIC, reason_and_message
from schedframe.testing.api_server.binary import in_binary

RECORDED = (
    b"k8s\x00\n\x0c\n\x02v1\x12\x06Status\x12I\n\x06\n\x00\x12\x00\x1a\x00\x12\x07Failure\x1a"
    b'\x15pods "none" not found"\x08NotFound*'
    b'\x12\n\x04none\x12\x00\x1a\x04pods(\x002\x000\x94\x03\x1a\x00"\x00'
)
"""What kube-apiserver v1.36 answers to the deletion of a pod that does not exist."""


def test_a_failure_as_the_api_server_sends_it() -> None:
    assert reason_and_message(RECORDED) == ("NotFound", 'pods "none" not found')


@given(st.text(), st.text(), st.integers(0, 2**31))
def test_what_is_written_is_read(reason: str, message: str, code: int) -> None:
    status = {"kind": "Status", "apiVersion": "v1", "reason": reason, "message": message, "code": code}
    assert reason_and_message(in_binary(status)) == (reason, message)


@given(st.binary(max_size=40))
def test_other_bytes_are_refused_or_say_nothing_wrong(data: bytes) -> None:
    with suppress(ValueError):
        assert all(isinstance(each, str) for each in reason_and_message(MAGIC + data))


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "not the binary form"),
        (b"{}", "not the binary form"),
        (MAGIC + b"\x12\x7f", "longer than the answer"),
        (MAGIC + b"\x80", "without an end"),
        (MAGIC + b"\x0b", "type 3"),
    ],
)
def test_what_is_no_answer(body: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        reason_and_message(body)
