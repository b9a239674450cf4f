"""Texts that are no Unicode, in answers and requests: read and written as Go does."""

from __future__ import annotations

import pytest

from schedframe.api import from_manifest
from schedframe.extenders import wire
from schedframe.extenders.encoding import Encoding
from schedframe.framework import ExtenderError


@pytest.fixture(params=["msgspec", "json"])
def _decoder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "json":
        monkeypatch.setattr(wire, "_fast_decode", None)
        monkeypatch.setattr(wire, "_fast_encode", None)


@pytest.mark.usefixtures("_decoder")
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (rb'{"Error": "bad \ud800 x"}', "bad \ufffd x"),
        (rb'{"Error": "\\ud800 \udc00\ud83d\ude00"}', "\\ud800 \ufffd\U0001f600"),
        (b'{"Error": "\xff\xe2\x82"}', "\ufffd\ufffd\ufffd"),
        (rb'{"Error": "a\u0000\u001b[31m"}', "a\x00\x1b[31m"),
    ],
)
def test_errors(body: bytes, message: str) -> None:
    with pytest.raises(ExtenderError) as raised:
        wire.read_binding_result(body)
    assert str(raised.value) == message
    message.encode()


@pytest.mark.usefixtures("_decoder")
def test_keys_and_names() -> None:
    found = wire.read_filter_result(
        rb'{"NodeNames": ["\ud800"], "FailedNodes": {"\udc00": "\ud800"}}', by_name=True
    )
    assert (found.names, found.failed) == (["\ufffd"], {"\ufffd": "\ufffd"})


@pytest.mark.usefixtures("_decoder")
def test_requests() -> None:
    manifest = {"kind": "Pod", "metadata": {"name": "p", "annotations": {"a": "\ud800"}}}
    pod = from_manifest({**manifest, "spec": {"containers": [{"name": "c"}]}}, strict=False)
    for body in (wire.encode(wire.document(pod)), Encoding().pod(pod)):
        assert wire.read_pod(wire.read_json(body)).metadata.annotations == {"a": "\ufffd"}


def test_scores_that_are_nested_too_deeply() -> None:
    body = b'[{"Host": ' + b"[" * 100_000 + b"]" * 100_000 + b"}]"
    with pytest.raises(ExtenderError):
        wire.read_priorities(body)
    with pytest.raises(ExtenderError, match="nested too deeply"):
        wire.read_priorities(b"[" * 100_000 + b"]" * 100_000)
