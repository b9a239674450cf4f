"""Defaults of fields that scheduling reads, as an API server stores them."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe.api import LABEL_NAMESPACE_NAME, Namespace, ObjectMeta, parse_quantity
from schedframe.controllers.admission import Admission

from .made import admit, admitted_pod, claim, container, pod


def test_limits_are_requests_where_none_are_given() -> None:
    found = admitted_pod(pod(container({"cpu": "1"}, {"cpu": "2", "memory": "1Gi"})))
    assert found.requests == {"cpu": 1000, "memory": 2**30}


def test_so_they_are_in_init_containers() -> None:
    init = {"name": "i", **container(limits={"cpu": "3"})}
    assert admitted_pod(pod(initContainers=[init])).requests == {"cpu": 3000}


def test_limits_of_the_whole_pod_are_requests_too() -> None:
    whole = {"limits": {"cpu": "5", "memory": "2Gi"}}
    resources = admitted_pod(pod(container({"cpu": "1"}), resources=whole)).spec.resources
    assert resources is not None
    assert written(resources.requests) == {"cpu": "1", "memory": "2Gi"}


def test_requests_alone_give_the_whole_pod_no_others() -> None:
    resources = admitted_pod(
        pod(container({"memory": "1Gi"}), resources={"requests": {"cpu": "2"}})
    ).spec.resources
    assert resources is not None
    assert written(resources.requests) == {"cpu": "2"}


@pytest.mark.parametrize(
    ("whole", "limits", "requests"),
    [
        ({"limits": {"cpu": "1"}}, {"cpu": "1", "hugepages-2Mi": "4194304"}, True),
        ({"requests": {"cpu": "1"}}, {"hugepages-2Mi": "4194304"}, True),
        ({"requests": {"hugepages-2Mi": "4Mi"}, "limits": {"cpu": "1"}}, {"cpu": "1"}, True),
        ({}, {}, False),
    ],
)
def test_huge_pages_of_containers_are_limits_of_the_whole_pod(
    whole: dict[str, Any], limits: dict[str, str], requests: bool
) -> None:
    huge = {"hugepages-2Mi": "4Mi", "memory": "1Gi"}
    resources = admitted_pod(pod(container(huge, huge), resources=whole)).spec.resources
    assert resources is not None
    assert written(resources.limits) == limits
    assert ("hugepages-2Mi" in resources.requests) is requests


def test_amounts_are_whole_thousandths() -> None:
    fine = container({"cpu": "100u"}, {"cpu": "1.0001"})
    resources = admitted_pod(pod(fine, fine)).spec.containers[0].resources
    assert written(resources.requests) == {"cpu": "1m"}
    assert written(resources.limits) == {"cpu": "1001m"}
    assert admitted_pod(pod(fine, fine)).requests == {"cpu": 2}
    storage = admit(claim("1.0000001")).object.spec.resources.requests["storage"]
    assert storage == parse_quantity("1001m")


def test_ports_have_a_protocol_and_on_the_hosts_network_a_host_port() -> None:
    ports = {"ports": [{"containerPort": 80}, {"containerPort": 81, "hostPort": 82, "protocol": "UDP"}]}
    init = {"name": "i", "restartPolicy": "Always", "ports": [{"containerPort": 90}]}
    found = admitted_pod(pod(ports, hostNetwork=True, initContainers=[init]))
    assert [(each.protocol, each.port) for each in found.host_ports] == [
        ("TCP", 80),
        ("UDP", 82),
        ("TCP", 90),
    ]
    assert [each.port for each in admitted_pod(pod(ports)).host_ports] == [82]


def test_the_scheduler_has_a_name() -> None:
    assert admitted_pod(pod(schedulerName="")).spec.scheduler_name == "default-scheduler"


def test_claims_have_a_volume_mode() -> None:
    assert admit(claim()).object.spec.volume_mode == "Filesystem"
    assert admit(claim(volumeMode="Block")).object.spec.volume_mode == "Block"


def test_namespaces_carry_their_name() -> None:
    found = Admission().admit(Namespace(ObjectMeta("shop"))).object
    assert found.labels == {LABEL_NAMESPACE_NAME: "shop"}
    assert Admission().admit(Namespace(ObjectMeta(generate_name="shop-"))).object.labels == {}


def test_they_can_be_switched_off() -> None:
    given = pod({**container(limits={"cpu": "2"}), "ports": [{"containerPort": 80}]}, hostNetwork=True)
    found = admitted_pod(given, without=["Defaults"])
    assert (found.requests, found.host_ports) == ({}, ())
    assert admit(claim(), without=["Defaults"]).object.spec.volume_mode is None
    namespace = Namespace(ObjectMeta("shop"))
    assert Admission.of((), without=["Defaults"]).admit(namespace).object is namespace


def written(amounts: Any) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}
