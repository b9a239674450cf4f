"""The plugin in a scheduler: shared devices, whole devices, and the annotation."""

from __future__ import annotations

from typing import Any

import pytest
from gpus import devices, node, plugin_of, pod, simulation, stored
from hypothesis import given, settings
from hypothesis import strategies as st
from schedframe_fgd.plugin import NO_DEVICE, NOT_IDLE, ODD_REQUEST

from schedframe import ConfigError, Pod, Rows, Simulation, from_manifest


def placed(world: Simulation, *pods: dict[str, Any]) -> list[str | None]:
    return [placement.node_name for placement in world.schedule(pods)]


def test_a_part_must_fit_on_one_device() -> None:
    world = simulation(node("n1", gpus=2), deviceChoice="emptiest")
    assert placed(world, pod("a", 600), pod("b", 600)) == ["n1", "n1"]
    assert {devices(world, "a"), devices(world, "b")} == {"0", "1"}
    assert NO_DEVICE in (world.evaluate(pod("c", 500)).message or "")
    assert placed(world, pod("d", 400)) == ["n1"]


def test_whole_gpus_need_idle_ones() -> None:
    world = simulation(node("n1", gpus=4))
    placed(world, pod("a", 100))
    assert placed(world, pod("b", 2000)) == ["n1"]
    assert devices(world, "b") == "1-2"
    placed(world, pod("c", 100))
    assert devices(world, "c") == "0"
    spread = simulation(node("n1", gpus=2), deviceChoice="emptiest")
    placed(spread, pod("a", 300), pod("b", 300))
    assert NOT_IDLE in (spread.evaluate(pod("c", 1000)).message or "")


def test_an_odd_request_fits_nowhere_and_no_preemption_helps() -> None:
    message = simulation(node("n1", gpus=4)).evaluate(pod("a", 1500)).message or ""
    assert ODD_REQUEST in message
    assert "No preemption victims" not in message


def test_pods_without_gpus_carry_no_annotation_and_keep_away_from_gpus() -> None:
    world = simulation(node("gpus", gpus=2, cpu=8), node("plain", gpus=0, cpu=8))
    assert placed(world, pod("a", cpu=8)) == ["plain"]
    assert devices(world, "a") is None


def test_a_part_goes_to_a_device_that_is_shared_already() -> None:
    world = simulation(node("fresh"), node("begun"))
    world.schedule([pod("first", 500)])
    (first,) = [p.node_name for p in world.schedule([pod("second", 500)])]
    assert first == stored(world, "first").spec.node_name
    assert devices(world, "first") == devices(world, "second")


@pytest.mark.parametrize(("choice", "expected"), [("fullest", "0"), ("emptiest", "2"), ("first", "0")])
def test_other_device_choices(choice: str, expected: str) -> None:
    world = simulation(node("n1", gpus=3), deviceChoice=choice)
    world.add(*(assigned(f"p{i}", 300 * (2 - i) + 100, str(i)) for i in range(3)))
    world.schedule([pod("x", 200)])
    assert devices(world, "x") == expected


def assigned(name: str, gpu: int, device: str | None) -> dict[str, Any]:
    annotations = {} if device is None else {"fgd.schedframe.example/devices": device}
    made = pod(name, gpu, annotations=annotations)
    made["spec"]["nodeName"] = "n1"
    return made


def test_a_restarted_scheduler_reads_the_annotations() -> None:
    world = simulation(node("n1", gpus=2), assigned("a", 700, "1"), assigned("b", 200, "1"))
    assert plugin_of(world).devices.free()[0].tolist() == [1000, 100]


def test_pods_with_unknown_devices_count_on_the_fullest_that_fits() -> None:
    world = simulation(node("n1", gpus=3), assigned("a", 700, "1"), assigned("b", 300, None))
    assert plugin_of(world).devices.free()[0].tolist() == [1000, 0, 1000]
    world.add(assigned("c", 1000, None), assigned("d", 500, "x"))
    assert plugin_of(world).devices.free()[0].tolist() == [0, 0, 500]


def test_devices_of_a_deleted_pod_are_free_and_requeue_waiting_pods() -> None:
    world = simulation(node("n1", gpus=1))
    placed(world, pod("a", 800), pod("b", 500))
    world.cluster.delete("Pod", "default/a")
    world.scheduler.sync()
    (waiting,) = world.scheduler.pending()
    assert str(waiting.pool) in ("active", "backoff")
    world.clock.advance(10)
    world.scheduler.run_until_idle()
    assert devices(world, "b") == "0"


def test_choices_are_dropped_once_written_or_undone() -> None:
    world = simulation(node("n1", gpus=2))
    plugin = plugin_of(world)
    placed(world, pod("a", 500), pod("b", 500), pod("c", 500))
    plugin.devices.free()
    world.add(node("n1", gpus=2, cpu=17))
    plugin.devices.free()
    assert plugin.devices.chosen == {}
    plugin.devices.chosen["u"] = (0,)
    undone = Pod(metadata=from_manifest(pod("u", uid="u")).metadata)
    plugin.unreserve(undone)
    plugin.unreserve(undone)
    assert plugin.devices.chosen == {}


def test_a_failed_bind_releases_the_device() -> None:
    from schedframe import BindRefused

    world = simulation(node("n1", gpus=1))
    world.cluster.fail_next("bind", BindRefused("not now"))
    placed(world, pod("a", 500))
    assert plugin_of(world).devices.free()[0].tolist() == [1000]
    world.clock.advance(30)
    world.scheduler.run_until_idle()
    assert plugin_of(world).devices.free()[0].tolist() == [500]


def test_explanations_list_the_free_devices() -> None:
    world = simulation(node("n1", gpus=2), assigned("a", 700, "0"), assigned("b", 900, "1"))
    assert "free by device: 300, 100" in str(world.evaluate(pod("c", 400)).to_dict())


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"tasks": []}, "tasks must name the workload"),
        ({"tasks": [{"gpuMilli": 1500}]}, r"tasks\[0\]\.gpuMilli"),
        ({"tasks": [{"cpuMilli": -1}]}, r"tasks\[0\]\.cpuMilli"),
        ({"deviceChoice": "best"}, "deviceChoice"),
        ({"scale": 0}, "scale"),
        ({"task": []}, "task"),
    ],
)
def test_wrong_args_are_refused_with_their_path(args: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        simulation(**args)


sizes = st.sampled_from([0, 100, 300, 500, 1000, 1500, 2000])
nodes = st.tuples(st.integers(0, 3), st.sampled_from([4, 16]), st.sampled_from(["T4", "G2"]))


@given(st.lists(nodes, min_size=1, max_size=4), st.lists(sizes, max_size=6), sizes)
@settings(max_examples=12, deadline=None)
def test_both_forms_agree(shapes: list[tuple[int, int, str]], before: list[int], size: int) -> None:
    world = simulation(*(node(f"n{i}", *shape) for i, shape in enumerate(shapes)))
    world.schedule([pod(f"p{i}", gpu) for i, gpu in enumerate(before)])
    plugin, table = plugin_of(world), world.scheduler.core.cache.table
    made = from_manifest(pod("x", size))
    assert isinstance(made, Pod)
    rows: Rows = table.rows()
    verdicts = plugin.filter_rows(made, rows)
    scores = plugin.score_rows(made, rows).tolist()
    for place, info in enumerate(rows):
        code = 0 if verdicts is None else int(verdicts.codes[place])
        status = verdicts.statuses[code - 1] if verdicts is not None and code else None
        assert plugin.filter(made, info) == status
        assert plugin.score(made, info) == scores[place]
