"""What a simulation takes besides API values: lists, kinds that are not read, objects of other clients."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from schedframe import Simulation, explain
from schedframe.api import Pod, from_manifest
from schedframe.cluster import InMemoryCluster
from schedframe.errors import InputError

from ..api.test_kinds import REQUEST, claim

NODE = {"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4", "pods": "10"}}}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "team", "labels": {"app_name": "x", "appName": "y"}},
    "spec": {
        "nodeSelector": {"disk_type": "ssd"},
        "setHostnameAsFQDN": True,
        "containers": [
            {
                "name": "c",
                "resources": {"requests": {"example.com/big_gpu": "1"}},
                "ports": [{"containerPort": 80, "hostIP": "10.0.0.1", "hostPort": 81}],
                "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
            }
        ],
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app_name": "x"}},
            }
        ],
    },
    "status": {"podIPs": [{"ip": "10.0.0.2"}]},
}


class Model:
    """An object that a client has decoded: a class for each kind, and ``to_dict``."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data

    def to_dict(self) -> dict[str, Any]:
        return self._data


class V1Pod(Model):
    pass


class V1PodList(Model):
    pass


class V1Node(Model):
    pass


class ResourceV1beta1ResourceClaim(Model):
    pass


class V1ConfigMap(Model):
    pass


SNAKE_POD: dict[str, Any] = {
    "api_version": None,
    "kind": None,
    "metadata": {
        "name": "p",
        "namespace": "team",
        "labels": {"app_name": "x", "appName": "y"},
        "annotations": None,
        "creation_timestamp": datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC),
    },
    "spec": {
        "node_selector": {"disk_type": "ssd"},
        "set_hostname_as_fqdn": True,
        "containers": [
            {
                "name": "c",
                "resources": {"requests": {"example.com/big_gpu": "1"}, "limits": None},
                "ports": [{"container_port": 80, "host_ip": "10.0.0.1", "host_port": 81}],
                "env": [{"name": "A", "value_from": {"field_ref": {"field_path": "spec.nodeName"}}}],
            }
        ],
        "topology_spread_constraints": [
            {
                "max_skew": 1,
                "topology_key": "zone",
                "when_unsatisfiable": "DoNotSchedule",
                "label_selector": {"match_labels": {"app_name": "x"}, "match_expressions": None},
            }
        ],
    },
    "status": {"pod_i_ps": [{"ip": "10.0.0.2"}]},
}
"""As the models of the ``kubernetes`` client write it."""


def wanted() -> Pod:
    created = {"creationTimestamp": "2026-01-02T00:00:00Z"}
    made = from_manifest(POD | {"metadata": {**POD["metadata"], **created}})  # type: ignore[dict-item]
    assert isinstance(made, Pod)
    return made


def test_keys_in_snake_case_are_fields_and_keys_of_maps_stay() -> None:
    assert from_manifest(V1Pod(SNAKE_POD)) == wanted()


def test_the_list_of_a_client_is_its_items() -> None:
    listed = V1PodList({"api_version": "v1", "kind": "PodList", "items": [SNAKE_POD]})
    simulation = Simulation([listed], without="all")
    assert simulation.cluster.get("Pod", "team/p").spec == wanted().spec


def test_dictionaries_that_are_manifests_are_taken_as_they_are() -> None:
    camel = Model(POD)
    assert from_manifest(camel) == from_manifest(POD)
    with pytest.raises(InputError, match="nodeSelectr"):
        from_manifest(Model({**POD, "spec": {"nodeSelectr": {}}}))
    with pytest.raises(InputError, match="nodeSelectr"):
        from_manifest(V1Pod({**SNAKE_POD, "spec": {"node_selectr": {}}}))


def test_objects_of_clients_are_taken_wherever_manifests_are() -> None:
    node = V1Node({"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4", "pods": "10"}}})
    pod = V1Pod({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}})
    simulation = Simulation([node])
    assert simulation.evaluate(pod).feasible == ["n"]
    assert [each.node_name for each in simulation.schedule([pod])] == ["n"]
    assert explain([node], pod).pod == "default/p"
    cluster = InMemoryCluster([node])
    assert cluster.create(pod).name == "p"


def test_older_shapes_and_kinds_that_are_not_read() -> None:
    older = claim("v1beta1", {key: value for key, value in REQUEST.items() if key != "allocationMode"})
    spec = {"devices": {"requests": [{"name": "gpu", "device_class_name": "gpu", "count": 2}]}}
    model = {"api_version": older["apiVersion"], "metadata": {"name": "c"}, "spec": spec}
    simulation = Simulation([ResourceV1beta1ResourceClaim(model), V1ConfigMap({"metadata": {"name": "c"}})])
    assert simulation.cluster.get("ResourceClaim", "default/c").spec == from_manifest(older).spec  # type: ignore[attr-defined]
    assert simulation.skipped == {"ConfigMap": 1}


@pytest.mark.parametrize("data", [5, None, [], "x"])
def test_what_gives_no_dictionary_is_refused(data: Any) -> None:
    with pytest.raises(InputError):
        from_manifest(Model(data))


# ---- kinds that are not read, and lists -----------------------------------------------------------------


def test_kinds_that_are_not_read_are_counted_and_noted() -> None:
    monitor = {"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor", "metadata": {"name": "m"}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    simulation = Simulation([NODE, monitor, secret])
    simulation.add({"kind": "List", "items": [monitor, {"kind": "List", "items": [monitor]}]})
    assert simulation.skipped == {"monitoring.coreos.com/v1/ServiceMonitor": 3, "Secret": 1}
    line = "skipped, as scheduling does not read these kinds: Secret (1), monitoring.coreos.com/v1/"
    assert simulation.notes() == [f"{line}ServiceMonitor (3)"]
    assert len(simulation.cluster.list("Node")) == 1


def test_nothing_counts_as_skipped_if_another_object_is_wrong() -> None:
    simulation = Simulation()
    with pytest.raises(InputError, match="did you mean Deployment"):
        simulation.add(
            {"apiVersion": "v1", "kind": "Secret"}, {"apiVersion": "apps/v1", "kind": "Deploymint"}
        )
    assert not simulation.skipped


def test_a_group_that_is_almost_one_of_kubernetes_is_a_warning() -> None:
    with pytest.warns(UserWarning, match="Kubernetes has no group app; did you mean apps/v1"):
        simulation = Simulation([{"apiVersion": "app/v1", "kind": "Deployment", "metadata": {"name": "d"}}])
    assert simulation.skipped == {"app/v1/Deployment": 1}
