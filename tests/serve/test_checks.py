"""Health checks: one line each, in the form of Kubernetes."""

from __future__ import annotations

from typing import Any

from schedframe import InMemoryCluster, Scheduler
from schedframe.serve import Check, HealthChecks, SchedulerProbes
from schedframe.serve.checks import PING
from schedframe.serve.probes import ALIVE_SECONDS, STUCK_SECONDS, synced


def broken() -> str | None:
    raise RuntimeError("gone")


CHECKS = HealthChecks([PING, Check("a", lambda: None)], [Check("b", lambda: "not yet"), Check("c", broken)])


def test_a_success_is_short_unless_it_is_verbose() -> None:
    assert CHECKS.answer("livez").text == "ok"
    assert CHECKS.answer("healthz", verbose=True).text == "[+]ping ok\n[+]a ok\nhealthz check passed\n"


def test_a_note_is_in_verbose_answers_only() -> None:
    checks = HealthChecks(
        [Check("a", lambda: None, lambda: "standby"), Check("b", lambda: None, lambda: None)]
    )
    assert checks.answer("livez").text == "ok"
    assert checks.answer("livez", verbose=True).text.splitlines()[:2] == ["[+]a ok: standby", "[+]b ok"]


def test_a_failure_names_every_check() -> None:
    answer = CHECKS.answer("readyz")
    assert not answer.is_ok
    assert answer.text.splitlines() == [
        "[+]ping ok",
        "[+]a ok",
        "[-]b failed: not yet",
        "[-]c failed: RuntimeError: gone",
        "readyz check failed",
    ]


def test_checks_can_be_left_out_or_asked_for_alone() -> None:
    answer = CHECKS.answer("readyz", verbose=True, excluded={"b", "c"})
    assert answer.is_ok
    assert "[+]b excluded: ok" in answer.text
    alone = CHECKS.single("readyz", "b")
    assert alone is not None
    assert (alone.is_ok, alone.text) == (False, "b failed: not yet\n")
    assert CHECKS.single("livez", "b") is None


def test_kinds_that_are_not_synced_are_named() -> None:
    check = synced(lambda kind: kind == "Pod", lambda: ["Pod", "Node", "Service"])
    assert check.result() == "not synced: Node, Service"
    assert synced(lambda _: True, lambda: ["Pod"]).result() is None


def pod(name: str) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [{"name": "c"}]}}


def test_a_loop_that_takes_no_messages_is_not_alive() -> None:
    now = [0.0]
    with Scheduler(InMemoryCluster()) as scheduler:
        scheduler.start()
        probes = SchedulerProbes(scheduler, lambda: True, lambda: now[0])
        assert probes.alive().result() is None
        now[0] = ALIVE_SECONDS - 1
        assert probes.alive().result() is None
        now[0] = ALIVE_SECONDS
        assert probes.alive().result() == "no message was taken in for 30 s"
        scheduler.run_until_idle()
        assert probes.alive().result() is None


def test_a_queue_that_does_not_move_is_stuck_unless_this_is_a_standby() -> None:
    now, leads = [0.0], [True]
    cluster = InMemoryCluster()
    with Scheduler(cluster) as scheduler:
        scheduler.start()
        probes = SchedulerProbes(scheduler, lambda: leads[0], lambda: now[0])

        def look() -> str | None:
            problem = probes.queue().result()
            scheduler.sync()
            return problem

        for _ in range(3):
            now[0] += STUCK_SECONDS
            assert look() is None  # it is empty
        cluster.create(pod("a"))
        look()
        now[0] += STUCK_SECONDS - 1
        assert look() is None
        now[0] += 1
        assert look() == "1 pods are ready and none was attempted for 120 s"
        leads[0] = False
        assert look() is None
        leads[0] = True
        scheduler.run_until_idle()
        look()
        assert look() is None


def test_a_note_that_fails_makes_no_problem() -> None:
    answer = HealthChecks([PING, Check("noted", lambda: None, broken)]).answer("livez", verbose=True)
    assert answer.is_ok
    assert "[+]noted ok: the note failed: " in answer.text
