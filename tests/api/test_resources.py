from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe.api import (
    Container,
    ContainerStatus,
    Node,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    Quantity,
    ResourceRequirements,
    is_scalar_resource,
    parse_quantity,
    pod_requests,
    scoring_requests,
)
from tests.api.strategies import amounts

MI = 2**20


def requirements(**requests: str) -> ResourceRequirements:
    return ResourceRequirements(
        {name.replace("_", "-"): parse_quantity(text) for name, text in requests.items()}
    )


def container(name: str = "c", restart_policy: str = "", **requests: str) -> Container:
    return Container(name, resources=requirements(**requests), restart_policy=restart_policy)


def pod(*containers: Container, node_name: str = "", status: PodStatus | None = None, **spec: object) -> Pod:
    made = PodSpec(containers, node_name, **spec)  # type: ignore[arg-type]  # passed through
    return Pod(ObjectMeta("web"), made, status or PodStatus())


def test_containers_add_up() -> None:
    both = pod(container(cpu="100m", memory="1Mi"), container(cpu="1", ephemeral_storage="1Ki"))
    assert both.requests == {"cpu": 1100, "memory": MI, "ephemeral-storage": 1024}


def test_rounding_comes_after_the_sum() -> None:
    assert pod(container(cpu="500u"), container(cpu="500u")).requests == {"cpu": 1}
    assert pod(container(memory="500m"), container(memory="400m")).requests == {"memory": 1}


def test_a_pod_that_requests_nothing() -> None:
    assert pod(container()).requests == {}
    assert pod(container()).non_zero_requests == (100, 200 * MI)
    assert pod().requests == {}
    assert pod().non_zero_requests == (0, 0)


def test_init_containers_set_a_minimum() -> None:
    made = pod(container(cpu="1"), init_containers=(container(cpu="3", memory="1Mi"), container(cpu="2")))
    assert made.requests == {"cpu": 3000, "memory": MI}


def test_sidecars_add_to_the_containers_and_to_the_init_containers_after_them() -> None:
    sidecar, init = container(restart_policy="Always", cpu="1"), container(cpu="3")
    assert pod(container(cpu="1"), init_containers=(sidecar, init)).requests == {"cpu": 4000}
    assert pod(container(cpu="1"), init_containers=(init, sidecar)).requests == {"cpu": 3000}
    assert pod(container(cpu="9"), init_containers=(sidecar, init)).requests == {"cpu": 10000}


def test_overhead_comes_on_top() -> None:
    made = pod(container(cpu="1"), overhead=requirements(cpu="250m", memory="1Mi").requests)
    assert made.requests == {"cpu": 1250, "memory": MI}
    assert made.non_zero_requests == (1250, 201 * MI)
    assert pod_requests(made, overhead=False) == {"cpu": parse_quantity("1")}


class TestPodLevel:
    def test_it_replaces_the_sum_for_the_resources_it_supports(self) -> None:
        level = requirements(cpu="5", ephemeral_storage="9")
        made = pod(container(cpu="1", memory="1Mi", ephemeral_storage="2"), resources=level)
        assert made.requests == {"cpu": 5000, "memory": MI, "ephemeral-storage": 2}
        assert pod_requests(made, pod_level=False)["cpu"] == parse_quantity("1")

    def test_huge_pages_are_supported(self) -> None:
        level = ResourceRequirements({"hugepages-2Mi": parse_quantity("4Mi")})
        assert pod(container(), resources=level).requests == {"hugepages-2Mi": 4 * MI}

    def test_a_running_pod_counts_defaults_only_for_what_is_named_nowhere(self) -> None:
        level = requirements(cpu="1")
        assert pod(container(), container(memory="1Mi"), resources=level).non_zero_requests == (1000, MI)
        assert pod(container(), container(), resources=level).non_zero_requests == (1000, 400 * MI)

    def test_scoring_an_incoming_pod_does_not_look_at_it(self) -> None:
        made = pod(container(), container(memory="1Mi"), resources=requirements(cpu="1"))
        assert scoring_requests(made) == {"cpu": 200, "memory": 201 * MI}
        assert scoring_requests(made) is scoring_requests(made.with_node_name("n1"))

    def test_limits_alone_are_not_requests(self) -> None:
        level = ResourceRequirements(limits={"cpu": parse_quantity("5")})
        assert pod(container(cpu="1"), resources=level).requests == {"cpu": 1000}


class TestDefaults:
    def test_a_request_of_zero_stays_zero(self) -> None:
        assert pod(container(cpu="0", memory="0")).non_zero_requests == (0, 0)
        assert pod(container(cpu="0")).requests == {"cpu": 0}

    def test_each_container_gets_its_own(self) -> None:
        assert pod(container(), container(cpu="1")).non_zero_requests == (1100, 400 * MI)

    def test_init_containers_get_them_too(self) -> None:
        made = pod(container(cpu="1m", memory="1"), init_containers=(container(),))
        assert made.non_zero_requests == (100, 200 * MI)


class TestResizeInPlace:
    @staticmethod
    def status(actual: str, allocated: str, reason: str = "", name: str = "c") -> PodStatus:
        state = ContainerStatus(
            name, resources=requirements(cpu=actual), allocated_resources=requirements(cpu=allocated).requests
        )
        pending = (PodCondition("PodResizePending", "True", reason),) if reason else ()
        return PodStatus(phase="Running", container_statuses=(state,), conditions=pending)

    @pytest.mark.parametrize(
        ("spec", "actual", "allocated", "reason", "expected"),
        [
            ("1", "2", "3", "", 3000),
            ("1", "3", "2", "", 3000),
            ("4", "3", "2", "Deferred", 4000),
            ("4", "3", "2", "Infeasible", 3000),
            ("4", "1", "2", "Infeasible", 2000),
        ],
    )
    def test_running_pods_count_the_largest(
        self, spec: str, actual: str, allocated: str, reason: str, expected: int
    ) -> None:
        running = pod(container(cpu=spec), node_name="n1", status=self.status(actual, allocated, reason))
        assert running.requests == {"cpu": expected}

    def test_a_pending_pod_counts_its_spec(self) -> None:
        pending = pod(container(cpu="1"), status=self.status("2", "3"))
        assert pending.requests == {"cpu": 1000}
        assert pod_requests(pending, use_status=True) == {"cpu": parse_quantity("3")}
        assert pending.with_node_name("n1").requests == {"cpu": 3000}

    def test_other_containers_are_not_touched(self) -> None:
        running = pod(container(cpu="1"), node_name="n1", status=self.status("9", "9", name="other"))
        assert running.requests == {"cpu": 1000}

    def test_a_status_without_resources_says_nothing(self) -> None:
        pending = PodCondition("PodResizePending", "True", "Infeasible")
        state = ContainerStatus("c", allocated_resources=requirements(cpu="9").requests)
        status = PodStatus(container_statuses=(state,), conditions=(pending,))
        assert pod(container(cpu="1"), node_name="n1", status=status).requests == {"cpu": 1000}

    def test_sidecars_are_resized_and_other_init_containers_are_not(self) -> None:
        state = ContainerStatus("i", resources=requirements(cpu="5"))
        status = PodStatus(init_container_statuses=(state,))
        for policy, expected in (("Always", 6000), ("", 1000)):
            init = container("i", policy, cpu="1")
            running = pod(container(cpu="1"), node_name="n1", status=status, init_containers=(init,))
            assert running.requests == {"cpu": expected}

    def test_the_pod_as_a_whole(self) -> None:
        status = PodStatus(
            resources=requirements(cpu="3"), allocated_resources=requirements(cpu="2").requests
        )
        running = pod(
            container(), node_name="n1", resources=requirements(cpu="1", memory="1Mi"), status=status
        )
        assert running.requests == {"cpu": 3000, "memory": MI}
        pending = PodCondition("PodResizePending", "True", "Infeasible")
        infeasible = running.with_status(conditions=(pending,))
        # an amount that neither the allocated nor the actual resources name is none
        assert infeasible.requests == {"cpu": 3000, "memory": 0}

    def test_a_new_status_is_seen(self) -> None:
        running = pod(container(cpu="1"), node_name="n1")
        assert running.requests == {"cpu": 1000}
        assert running.with_status(container_statuses=self.status("2", "2").container_statuses).requests == {
            "cpu": 2000
        }


def test_names_that_nodes_do_not_count_are_left_out() -> None:
    strange = ResourceRequirements(
        {name: parse_quantity("1") for name in ("widgets", "requests.x/y", "x/y", "pods")}
    )
    assert pod(Container("c", resources=strange)).requests == {"x/y": 1, "pods": 1}
    assert set(pod_requests(pod(Container("c", resources=strange)))) == {
        "widgets",
        "requests.x/y",
        "x/y",
        "pods",
    }
    assert is_scalar_resource("hugepages-1Gi")
    assert is_scalar_resource("attachable-volumes-csi-x")
    assert not is_scalar_resource("cpu")


def test_equal_results_are_one_object() -> None:
    one, two = pod(container(cpu="1", memory="1Gi")), pod(container(cpu="1000m", memory="1024Mi"))
    assert one.requests is two.requests
    assert one.resources is two.resources


def test_allocatable_of_nodes() -> None:
    some = {
        name: parse_quantity(text)
        for name, text in {"cpu": "3920m", "memory": "7Gi", "pods": "110", "x/y": "2"}.items()
    }
    assert Node(status=NodeStatus(allocatable=some)).allocatable == {
        "cpu": 3920,
        "memory": 7 * 1024 * MI,
        "pods": 110,
        "x/y": 2,
    }
    assert Node(status=NodeStatus(capacity=some)).allocatable["cpu"] == 3920
    assert Node().allocatable == {}
    assert Node(status=NodeStatus(allocatable={"cpu": Quantity()})).allocatable == {"cpu": 0}


CONTAINERS = st.builds(
    lambda requests, policy: Container("c", resources=ResourceRequirements(requests), restart_policy=policy),
    amounts,
    st.sampled_from(["", "Always"]),
)


@given(st.lists(CONTAINERS, max_size=3), st.lists(CONTAINERS, max_size=4), amounts)
def test_requests_are_the_peak_over_the_life_of_the_pod(
    containers: list[Container], init_containers: list[Container], overhead: dict[str, Quantity]
) -> None:
    """The maximum over time of what runs at each moment, as an oracle for the sums."""
    moments = []
    sidecars: list[Container] = []
    for each in init_containers:
        moments.append([*sidecars, each])
        if each.restart_policy == "Always":
            sidecars.append(each)
    moments.append([*sidecars, *containers])
    names = {name for each in (*containers, *init_containers) for name in each.resources.requests} | set(
        overhead
    )
    expected = {
        name: max(
            sum(each.resources.requests.get(name, Quantity()).nano for each in moment) for moment in moments
        )
        + overhead.get(name, Quantity()).nano
        for name in names
    }
    spec = PodSpec(tuple(containers), init_containers=tuple(init_containers), overhead=overhead)
    assert {name: amount.nano for name, amount in pod_requests(Pod(spec=spec)).items()} == expected
