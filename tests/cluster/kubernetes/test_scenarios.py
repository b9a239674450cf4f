"""A whole scheduler behind an API server through one trouble at a time, in virtual time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from schedframe.framework.preemption.eviction import PREEMPTIONS_AT_A_TIME
from schedframe.testing import node, pod
from schedframe.testing.api_server import MIX, Fault, Request

from .driven_world import DrivenWorld, node_of

APPLIED = tuple(fault for fault in MIX if fault.applied)
LATE = (Fault.delay(6.0), Fault.delay(40.0))


@pytest.fixture
def world() -> Iterator[DrivenWorld]:
    made = DrivenWorld()
    for name in ("n1", "n2"):
        made.server.create(node(name).allocatable(cpu="2"))
    made.scheduler.start()
    made.drive(1)
    yield made
    made.close()


def create(world: DrivenWorld, *names: str, cpu: str = "1") -> None:
    for name in names:
        world.server.create(pod(name).requests(cpu=cpu))


def where(world: DrivenWorld) -> dict[str, str]:
    return {name: node_of(found) for name, found in world.pods().items()}


def binds(world: DrivenWorld) -> list[str]:
    return [each.name for each in world.server.requests if each.resource == "pods/binding"]


@pytest.mark.parametrize("fault", [*APPLIED, *LATE], ids=str)
def test_room_stays_taken_while_nothing_shows_the_truth(world: DrivenWorld, fault: Fault) -> None:
    """Binds take effect without an answer, and the watch falls silent before it shows them."""
    names = [f"p{number}" for number in range(8)]
    world.server.faults.add(Fault.silence(events=len(names)), "watch", "pods")
    world.drive(5.5)
    world.server.faults.add(fault, "create", "pods/binding", times=4)
    create(world, *names)
    for _ in range(120):
        world.drive(1)
        world.check_history()
    world.check_quiet()
    assert sorted(where(world).values()) == ["", "", "", "", "n1", "n1", "n2", "n2"]


@pytest.mark.parametrize("fault", LATE, ids=str)
def test_a_late_bind_does_not_reach_the_next_pod_of_that_name(world: DrivenWorld, fault: Fault) -> None:
    world.server.faults.add(fault, "create", "pods/binding")
    create(world, "p")
    world.drive(0.1)
    assert binds(world) == ["p"]
    world.server.delete("Pod", "default/p")
    create(world, "p", cpu="8")
    world.drive(100)
    world.check_history()
    world.check_quiet()
    assert where(world) == {"p": ""}


def test_silent_connections_are_noticed_within_ten_seconds() -> None:
    world = DrivenWorld()
    world.server.create(node("n1"))
    is_list = "sendInitialEvents"
    silence = Fault.silence()
    world.server.faults.add(silence, "watch", times=None, when=lambda each: is_list not in each.query)
    world.scheduler.start()
    world.drive(4)
    world.server.faults.clear()
    create(world, "p")
    world.drive(10)
    assert where(world)["p"]
    world.close()


def test_a_server_that_comes_back_is_used_within_five_seconds(world: DrivenWorld) -> None:
    world.loop.run(world.server.shut_down())
    world.drive(60)
    create(world, "p")
    world.loop.run(world.server.listen())
    world.drive(5)
    assert where(world)["p"]


def test_a_hanging_bind_is_given_up_and_read_back(world: DrivenWorld) -> None:
    world.server.faults.add(Fault.hang(applied=True), "create", "pods/binding")
    create(world, "p")
    world.server.faults.add(Fault.silence(events=1), "watch", "pods")
    world.drive(8)
    assert where(world)["p"]
    assert world.scheduler.binds_under_way() == 0
    assert binds(world) == ["p"]


def test_a_hanging_status_or_event_delays_no_bind(world: DrivenWorld) -> None:
    world.server.faults.add(Fault.hang(), "*", "pods/status", times=None)
    world.server.faults.add(Fault.hang(), "*", "events", times=None)
    create(world, "big", cpu="9")
    for number in range(4):
        world.server.create(pod(f"p{number}"))
        world.drive(0.5)
        assert where(world)[f"p{number}"]


def test_a_history_that_is_lost_while_the_server_is_away(world: DrivenWorld) -> None:
    create(world, "gone", "again", "stays")
    world.drive(5)
    world.loop.run(world.server.shut_down())
    world.drive(1)
    for name in ("gone", "again"):
        world.server.delete("Pod", f"default/{name}")
    create(world, "again", cpu="2")
    world.server.delete("Node", "n2")
    world.check_history()
    world.server.compact()
    world.loop.run(world.server.listen())
    world.drive(30)
    world.check_history()
    world.check_quiet()
    world.server.create(node("n3").allocatable(cpu="2"))
    world.drive(15)
    world.check_quiet()
    assert where(world)["again"]


def test_a_server_that_is_restored_from_a_backup(world: DrivenWorld) -> None:
    """Its versions are lower then, so a watch that is merely resumed would be silent for a long time."""
    create(world, "kept")
    world.drive(5)
    store = world.server.objects.store
    backup = store.backup()
    create(world, "lost")
    world.server.delete("Node", "n2")
    for number in range(20):
        world.server.apply(node("n3").labels(turn=str(number)))
    world.drive(5)
    world.loop.run(world.server.shut_down())
    world.drive(1)
    store.restore(backup)
    world.loop.run(world.server.listen())
    world.drive(10)
    world.check_quiet()
    create(world, "a", "b", "c")
    world.drive(5)
    world.check_quiet()
    assert sorted(where(world).values()) == ["n1", "n1", "n2", "n2"]


def test_half_of_the_status_writes_fail(world: DrivenWorld) -> None:
    for number in range(6):
        world.server.faults.add(Fault.answer(500), "patch", "pods/status", times=2)
        create(world, f"big{number}", cpu="9")
    world.drive(60)
    world.check_quiet()
    for each in world.pods().values():
        assert each["status"]["conditions"][0]["reason"] == "Unschedulable"


def test_a_pod_that_another_scheduler_binds_first(world: DrivenWorld) -> None:
    world.server.faults.add(Fault.delay(0.5), "create", "pods/binding")
    create(world, "p")
    world.drive(0.1)
    world.server.apply({**pod("p").requests(cpu="1").on_node("n2"), "status": {"phase": "Pending"}})
    world.drive(20)
    world.check_quiet()
    assert where(world) == {"p": "n2"}


def test_a_proxy_that_answers_with_a_page_of_its_own(world: DrivenWorld) -> None:
    """A pod is not bound because something answered 200."""
    world.server.faults.add(Fault.page(), "create", "pods/binding")
    world.server.faults.add(Fault.page(), "get", "pods", times=2)
    create(world, "p", "q", "r", "s")
    world.drive(60)
    world.check_history()
    world.check_quiet()
    assert sorted(where(world).values()) == ["n1", "n1", "n2", "n2"]


def test_every_kind_behind_a_proxy_whose_session_has_ended(world: DrivenWorld) -> None:
    world.loop.run(world.server.shut_down())
    world.drive(1)
    world.server.faults.add(Fault.page(), times=None)
    world.loop.run(world.server.listen())
    world.drive(20)
    create(world, "p")
    world.drive(20)
    assert where(world) == {"p": ""}
    world.server.faults.clear()
    world.drive(10)
    world.check_quiet()
    assert where(world)["p"]


def test_a_webhook_that_sends_a_pod_elsewhere(world: DrivenWorld) -> None:
    """The server binds to another node than was asked for: what the watch shows counts."""

    def elsewhere(request: Request) -> None:
        if request.resource == "pods/binding":
            request.body["target"]["name"] = "n2"

    world.server.hooks.append(elsewhere)
    create(world, "p", "q")
    world.drive(30)
    world.check_quiet()
    assert where(world) == {"p": "n2", "q": "n2"}
    world.server.hooks.clear()
    create(world, "r", "s", "t")
    world.drive(30)
    world.check_history()
    world.check_quiet()
    assert sorted(where(world).values()) == ["", "n1", "n1", "n2", "n2"]


def test_a_node_made_again_with_less_room_while_a_bind_to_it_is_under_way(world: DrivenWorld) -> None:
    world.server.delete("Node", "n2")
    world.drive(1)
    world.server.faults.add(Fault.delay(3.0), "create", "pods/binding", times=2)
    create(world, "p", "q")
    world.drive(0.5)
    world.server.delete("Node", "n1")
    world.server.create(node("n1").allocatable(cpu="1"))
    world.drive(60)
    world.check_quiet()
    assert len(binds(world)) == 2, "the binds under way took effect"
    create(world, "r")
    world.drive(20)
    world.check_quiet()
    assert where(world)["r"] == ""


def test_pods_with_values_that_no_version_knows(world: DrivenWorld) -> None:
    """A later API server may have them; they must not stop the other pods."""
    strange = dict(pod("strange").requests(cpu="1"))
    toleration = {"key": "a", "operator": "Near", "effect": "Sometimes"}
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "Perhaps"}
    spec = {"tolerations": [toleration], "topologySpreadConstraints": [spread], "newField": {"a": [1]}}
    world.server.create({**strange, "spec": {**strange["spec"], **spec}})
    wrong = {"tolerations": "all", "priority": "high"}
    odd = dict(pod("odd"))
    world.server.create({**odd, "spec": {**odd["spec"], **wrong}})
    create(world, "p")
    world.drive(20)
    assert where(world)["p"]
    assert world.scheduler.binds_under_way() == 0


def test_events_that_a_quota_refuses_delay_nothing(world: DrivenWorld) -> None:
    world.server.faults.add(Fault.answer(429, retry_after=60.0), "*", "events", times=None)
    for number in range(4):
        create(world, f"p{number}")
        world.drive(0.2)
        assert where(world)[f"p{number}"]


def test_rights_that_are_taken_and_given_back(world: DrivenWorld, caplog: pytest.LogCaptureFixture) -> None:
    world.server.forbid(user="scheduler")
    create(world, "p")
    world.server.delete("Node", "n2")
    world.drive(10)
    assert where(world) == {"p": ""}
    assert 'cannot create resource "pods/binding"' in caplog.text
    assert "Traceback" not in caplog.text, "a refusal is no fault in a program"
    world.server.access.forbidden.clear()
    world.drive(20)
    world.check_quiet()
    assert where(world) == {"p": "n1"}


def add_volume(world: DrivenWorld, name: str) -> None:
    """Add a volume, and a claim that waits for a pod."""
    amount = {"storage": "1Gi"}
    modes = {"accessModes": ["ReadWriteOnce"], "storageClassName": "local"}
    claim = modes | {"resources": {"requests": amount}}
    volume = modes | {"capacity": amount, "persistentVolumeReclaimPolicy": "Delete"}
    there = {"metadata": {"name": name}, "status": {"phase": "Available"}}
    world.server.create({"kind": "PersistentVolume", "spec": volume, **there})
    world.server.create({"kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": claim})


def bind_claims(world: DrivenWorld) -> None:
    """Finish what the scheduler decided about volumes, as the volume controller does."""
    for volume in world.server.list("PersistentVolume"):
        reference = volume["spec"].get("claimRef")
        claim = (
            world.server.get("PersistentVolumeClaim", "default/" + reference["name"]) if reference else None
        )
        if reference is None or claim is None or claim["spec"].get("volumeName"):
            continue
        name = volume["metadata"]["name"]
        metadata = claim["metadata"]
        done = {**metadata, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
        world.server.apply({**volume, "status": {"phase": "Bound"}})
        spec = {**claim["spec"], "volumeName": name}
        world.server.apply({**claim, "metadata": done, "spec": spec, "status": {"phase": "Bound"}})


@pytest.mark.parametrize("fault", MIX, ids=str)
@pytest.mark.parametrize("resource", ["persistentvolumes", "pods/binding"])
def test_a_claim_is_bound_through_trouble(world: DrivenWorld, fault: Fault, resource: str) -> None:
    mode = {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}
    world.server.create({"kind": "StorageClass", "metadata": {"name": "local"}, **mode})
    for name in ("v0", "v1"):
        add_volume(world, name)
    world.drive(1)
    world.server.faults.add(fault, "*", resource, when=lambda request: request.is_write, times=2)
    for number in range(2):
        manifest = dict(pod(f"p{number}"))
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": f"v{number}"}}]
        world.server.create({**manifest, "spec": {**manifest["spec"], "volumes": volumes}})
    for _ in range(120):
        world.drive(1)
        bind_claims(world)
    world.check_history()
    world.check_quiet()
    assert all(where(world).values())
    assert world.server.faults.waiting == 0
    references = [each["spec"]["claimRef"]["name"] for each in world.server.list("PersistentVolume")]
    assert sorted(references) == ["v0", "v1"]


def test_evictions_that_hang_do_not_hold_up_other_preemptions(world: DrivenWorld) -> None:
    count = 2 * PREEMPTIONS_AT_A_TIME
    for number in range(count):
        world.server.create(node(f"m{number}").allocatable(cpu="8"))
        world.server.create(pod(f"low{number}").requests(cpu="8").on_node(f"m{number}"))
    world.drive(1)
    world.server.faults.add(Fault.hang(), "delete", "pods", times=PREEMPTIONS_AT_A_TIME)
    for number in range(count):
        world.server.create(pod(f"high{number}").requests(cpu="8").priority(10))
    world.drive(4)
    placed = {name for name, place in where(world).items() if name.startswith("high") and place}
    assert len(placed) == count - PREEMPTIONS_AT_A_TIME
    world.drive(60)
    world.check_history()
    world.check_quiet()
    assert all(where(world).values())


def test_writes_without_an_answer_are_repeated_soon(world: DrivenWorld) -> None:
    world.server.create(node("m").allocatable(cpu="8"))
    world.server.create(pod("low").requests(cpu="8").on_node("m"))
    world.drive(1)
    world.server.faults.add(
        Fault.disconnect(), "patch", "pods/status", times=6, when=lambda each: each.name == "low"
    )
    world.server.create(pod("high").requests(cpu="8").priority(10))
    world.drive(5)
    assert where(world) == {"high": "m"}
