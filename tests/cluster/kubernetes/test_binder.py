"""Binds: one of unknown outcome is repeated until the truth is known."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from schedframe.api import from_manifest
from schedframe.cluster import BindConflict, BindNotFound, BindRefused, OutcomeUnknown
from schedframe.cluster.kubernetes import binder as binder_module
from schedframe.cluster.kubernetes.binder import Binder
from schedframe.cluster.kubernetes.errors import ApiError, NoAnswer, NotLeading, Unreachable
from schedframe.cluster.kubernetes.lanes import Lanes
from schedframe.cluster.kubernetes.view import View
from schedframe.testing import node

from .scripted import ScriptedClient, pod, refusal, run


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Lanes.pause
    monkeypatch.setattr(Lanes, "pause", lambda self, seconds: real(self, min(seconds, 0.001)))


def value(manifest: dict[str, Any]) -> Any:
    return from_manifest(manifest, strict=False)


def binder_of(client: ScriptedClient, shown: dict[tuple[str, str], Any] | None = None) -> Binder:
    known = {} if shown is None else shown
    return Binder(
        client=client,  # type: ignore[arg-type]  # it stands in for the client
        lanes=Lanes(0, 1),
        lookup=lambda kind, key: known.get((kind, key)),
        follows=lambda kind: shown is not None,
        view=View(),
    )


def bind(script: list[Any], shown: dict[tuple[str, str], Any] | None = None) -> ScriptedClient:
    client = ScriptedClient(script)
    run(lambda: binder_of(client, shown).bind(value(pod("a")), "n1"))
    return client


def both_shown() -> dict[tuple[str, str], Any]:
    return {("Pod", "default/a"): value(pod("a")), ("Node", "n1"): value(node("n1"))}


OK = {"kind": "Status", "status": "Success"}
LOST = NoAnswer("connection reset")


def test_a_bind_names_pod_uid_and_node() -> None:
    client = bind([OK])
    sent = client.sent[0]
    assert (sent.method, sent.path) == ("POST", "/api/v1/namespaces/default/pods/a/binding")
    assert sent.body["metadata"] == {"name": "a", "namespace": "default", "uid": "uid-a"}
    assert sent.body["target"] == {"kind": "Node", "name": "n1"}


@pytest.mark.parametrize("lost", [LOST, refusal(500), refusal(504)])
def test_a_lost_answer_is_read_back(lost: Exception) -> None:
    assert bind([lost, pod("a", node="n1")]).methods() == ["POST", "GET"]


def test_a_pod_that_is_not_bound_yet_is_bound_again() -> None:
    assert bind([LOST, pod("a"), OK]).methods() == ["POST", "GET", "POST"]


def test_a_request_that_arrives_late_is_no_conflict() -> None:
    """The first request takes effect between the look at the pod and the second request."""
    assert bind([LOST, pod("a"), refusal(409), pod("a", node="n1")]).methods() == [
        "POST",
        "GET",
        "POST",
        "GET",
    ]


def test_nothing_is_guessed_while_the_server_is_away() -> None:
    script = [LOST, *[Unreachable("refused")] * 50, refusal(403), refusal(503), pod("a", node="n1")]
    assert bind(script).methods() == ["POST"] + ["GET"] * 53


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ([refusal(404)], BindNotFound),
        ([refusal(409)], BindConflict),
        ([refusal(403)], BindRefused),
        ([LOST, refusal(404)], BindNotFound),
        ([LOST, pod("a", uid="another")], BindConflict),
        ([LOST, pod("a", node="n2")], BindConflict),
        ([LOST, pod("a"), refusal(409), pod("a")], BindConflict),
    ],
)
def test_a_certain_refusal_ends_the_bind(script: list[Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        bind(script)


@pytest.mark.parametrize("harmless", [Unreachable("refused"), refusal(429, retry_after=0.0)])
def test_what_was_not_carried_out_is_sent_again(harmless: Exception) -> None:
    assert bind([harmless, OK]).methods() == ["POST", "POST"]


def test_a_bind_that_cannot_be_sent_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binder_module, "GIVE_UP_SECONDS", 0.02)
    with pytest.raises(BindRefused, match="no route"):
        bind([Unreachable("no route")])


def test_the_watch_may_know_first() -> None:
    """The event of the bind arrives before anything else is sent."""
    shown = both_shown()

    def lose(body: Any) -> Exception:
        shown["Pod", "default/a"] = value(pod("a", "2", node="n1"))
        return LOST

    assert bind([lose], shown).methods() == ["POST"]


def test_a_node_that_is_gone_gets_no_pod() -> None:
    with pytest.raises(BindRefused, match="the node is gone"):
        bind([OK], {("Pod", "default/a"): value(pod("a"))})


def test_a_pod_that_the_watch_shows_deleted_is_gone() -> None:
    shown = both_shown()

    def lose(body: Any) -> Exception:
        del shown["Pod", "default/a"]
        return LOST

    with pytest.raises(BindNotFound):
        bind([lose], shown)


@pytest.mark.parametrize(("script", "error"), [([OK], BindRefused), ([LOST, LOST], OutcomeUnknown)])
def test_the_end_of_the_scheduler(script: list[Any], error: type[Exception]) -> None:
    client = ScriptedClient(script)
    binder = binder_of(client)

    async def close_during_bind() -> None:
        if error is BindRefused:
            binder.lanes.close()
        bind = asyncio.create_task(binder.bind(value(pod("a")), "n1"))
        while error is OutcomeUnknown and len(client.sent) < 2:
            await asyncio.sleep(0.001)
        binder.lanes.close()
        await bind

    with pytest.raises(error):
        run(close_during_bind)


def unsettled(count: int, last: Any) -> list[Any]:
    """Return the answers of a server that fails at every bind, and then shows the pod as in *last*."""
    return [each for _ in range(count) for each in (refusal(500), pod("a"))] + [last]


def test_a_server_that_always_fails_gets_no_more_binds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binder_module, "STORE_SECONDS", 0.02)
    client = ScriptedClient(unsettled(binder_module.SERVER_FAILURES, pod("a")))
    with pytest.raises(BindRefused, match=r"was not bound: .*500"):
        run(lambda: binder_of(client).bind(value(pod("a")), "n1"))
    assert client.methods().count("POST") == binder_module.SERVER_FAILURES
    assert client.methods()[-1] == "GET"


def test_what_the_store_carries_out_late_is_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binder_module, "STORE_SECONDS", 1000.0)
    methods = bind([*unsettled(binder_module.SERVER_FAILURES, pod("a")), pod("a", node="n1")]).methods()
    assert methods[-2:] == ["GET", "GET"]


def test_an_early_request_without_an_answer_may_take_effect_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server fails, and refuses, but the first request may still be on its way."""
    monkeypatch.setattr(binder_module, "STORE_SECONDS", 0.0)
    monkeypatch.setattr(binder_module, "REQUEST_SECONDS", 1000.0)
    refused = [each for _ in range(binder_module.SERVER_FAILURES) for each in (refusal(403), pod("a"))]
    methods = bind([LOST, pod("a"), *refused, *[pod("a")] * 20, pod("a", node="n1")]).methods()
    assert methods.count("POST") == 1 + binder_module.SERVER_FAILURES


def test_a_webhook_that_fails_refuses_the_bind() -> None:
    message = 'Internal error occurred: failed calling webhook "x.example": connection refused'
    error = ApiError("POST /somewhere", 500, "InternalError", message)
    with pytest.raises(BindRefused, match="failed calling webhook"):
        bind([error])


def test_binds_in_doubt_are_counted() -> None:
    counts: list[int] = []
    client = ScriptedClient([LOST, pod("a", node="n1")])
    binder = binder_of(client)
    binder.on_doubt = lambda: counts.append(binder.in_doubt)
    run(lambda: binder.bind(value(pod("a")), "n1"))
    assert (counts, binder.in_doubt, binder.unknown_outcomes, binder.bound) == ([1, 0], 0, 1, 1)


def test_a_replica_without_the_lease_binds_nothing() -> None:
    with pytest.raises(BindRefused) as caught:
        bind([NotLeading("no lease")])
    assert isinstance(caught.value.__cause__, NotLeading)


def test_a_bind_that_left_before_the_lease_was_lost_is_read_back() -> None:
    methods = bind([LOST, pod("a"), NotLeading("no lease"), pod("a"), pod("a", node="n1")]).methods()
    assert methods == ["POST", "GET", "POST", "GET", "GET"]
