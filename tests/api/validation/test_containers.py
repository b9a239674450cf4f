"""Containers: names, ports, variables, mounts, probes, and what they ask for."""

from __future__ import annotations

from typing import Any

import pytest

from .pods import admitted_paths, asking, container, one, paths, pod, refusals

C = "containers[0]"
R = f"{C}.resources"
GPU = "example.com/gpu"
PAGES = "hugepages-2Mi"


@pytest.mark.parametrize(
    ("manifest", "refused"),
    [
        (asking({"cpu": "2"}, {"cpu": "1"}), f"{R}.requests.cpu"),
        (asking({"memory": "1025Mi"}, {"memory": "1Gi"}), f"{R}.requests.memory"),
        (asking({"cpu": 2}, {"cpu": "1999m"}), f"{R}.requests.cpu"),
        (asking({GPU: "1"}, {GPU: "2"}), f'{R}.requests["{GPU}"]'),
        (asking({GPU: 1}), f'{R}.limits["{GPU}"]'),
        (asking({PAGES: "2Mi", "cpu": "1"}), f"{R}.limits.{PAGES}"),
        (asking({PAGES: "2Mi", "cpu": "1"}, {PAGES: "4Mi"}), f"{R}.requests.{PAGES}"),
        (asking({"cpu": "-1"}), f"{R}.requests.cpu"),
        (asking({"cpu": -1}), f"{R}.requests.cpu"),
        (asking({"requests.memory": "1"}), f'{R}.requests["requests.memory"]'),
        (asking({"widgets": "1"}), f"{R}.requests.widgets"),
        (asking({"": "1"}), f'{R}.requests[""]'),
    ],
)
def test_amounts_that_do_not_go_together_are_refused(manifest: Any, refused: str) -> None:
    assert paths(manifest) == [refused]


@pytest.mark.parametrize(
    "manifest",
    [
        asking({"cpu": "1"}, {"cpu": "1"}),
        asking({"cpu": "1000m"}, {"cpu": 1}),
        asking({"cpu": "1", "memory": "1Gi"}, {"cpu": "2"}),
        asking({}, {GPU: "2"}),
        asking({GPU: "2000m"}, {GPU: 2}),
        asking({PAGES: "4Mi", "memory": "1"}, {PAGES: "4096Ki"}),
        asking({"kubernetes.io/own": "0.5"}),
        asking({"ephemeral-storage": "0.5"}),
        # below a thousandth the API server rounds up before it compares
        asking({"cpu": "0.0001"}, {"cpu": "0.00001"}),
    ],
)
def test_amounts_that_go_together_are_taken(manifest: Any) -> None:
    assert paths(manifest) == []


@pytest.mark.parametrize(
    ("amount", "name"), [("0.5", GPU), ("3Mi", PAGES), ("1", "hugepages-big"), ("1", f"requests.{GPU}")]
)
def test_a_request_that_is_the_limit_is_refused_with_it(amount: str, name: str) -> None:
    found = paths(asking({"cpu": "1"}, {name: amount}))
    key = f'["{name}"]' if "/" in name else f".{name}"
    assert found == [f"{R}.limits{key}", f"{R}.requests{key}"]


def test_a_limit_is_asked_for_only_where_missing_fields_count() -> None:
    assert paths(asking({GPU: "1"}), required=False) == []
    assert paths(asking({GPU: "1"}, {GPU: "2"}), required=False) != []


def test_huge_pages_alone_are_refused_once_no_limit_range_can_help() -> None:
    alone = asking({PAGES: "2Mi"}, {PAGES: "2Mi"})
    assert paths(alone) == []
    assert admitted_paths(alone) == [R]
    assert admitted_paths(asking({PAGES: "2Mi", "cpu": "1"}, {PAGES: "2Mi"})) == []


@pytest.mark.parametrize(
    ("members", "refused"),
    [
        ({"ports": [{"name": "WEB", "containerPort": 80}]}, "ports[0].name"),
        ({"ports": [{"name": "80", "containerPort": 80}]}, "ports[0].name"),
        ({"ports": [{"containerPort": 0}]}, "ports[0].containerPort"),
        ({"ports": [{"hostPort": 80}]}, "ports[0].containerPort"),
        ({"ports": [{"containerPort": 1, "protocol": "tcp"}]}, "ports[0].protocol"),
        (
            {"ports": [{"name": "a", "containerPort": 1}, {"name": "a", "containerPort": 2}]},
            "ports[1].name",
        ),
        ({"env": [{"name": "A=B"}]}, "env[0].name"),
        ({"env": [{"name": "A", "valueFrom": {}}]}, "env[0].valueFrom"),
        (
            {"env": [{"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]},
            "env[0].valueFrom",
        ),
        (
            {
                "env": [
                    {
                        "name": "A",
                        "valueFrom": {
                            "secretKeyRef": {"name": "s", "key": "k"},
                            "configMapKeyRef": {"name": "s", "key": "k"},
                        },
                    }
                ]
            },
            "env[0].valueFrom",
        ),
        ({"envFrom": [{"prefix": "A"}]}, "envFrom[0]"),
        ({"livenessProbe": {}}, "livenessProbe"),
        ({"livenessProbe": {"exec": {"command": ["a"]}, "grpc": {"port": 1}}}, "livenessProbe.grpc"),
        (
            {"livenessProbe": {"exec": {"command": ["a"]}, "successThreshold": 2}},
            "livenessProbe.successThreshold",
        ),
        (
            {"readinessProbe": {"exec": {"command": ["a"]}, "terminationGracePeriodSeconds": 2}},
            "readinessProbe.terminationGracePeriodSeconds",
        ),
        ({"startupProbe": {"httpGet": {"port": 70000}}}, "startupProbe.httpGet.port"),
        ({"lifecycle": {"preStop": {"exec": {}}}}, "lifecycle.preStop.exec.command"),
        ({"restartPolicy": ""}, "restartPolicy"),
        ({"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In"}}]}, "restartPolicy"),
        (
            {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}] * 2},
            "resizePolicy[1]",
        ),
        ({"imagePullPolicy": "Sometimes"}, "imagePullPolicy"),
        ({"securityContext": {"privileged": True, "allowPrivilegeEscalation": False}}, "securityContext"),
    ],
)
def test_a_container_that_no_server_takes_is_refused(members: Any, refused: str) -> None:
    assert paths(one(**members)) == [f"{C}.{refused}"]


@pytest.mark.parametrize(
    "members",
    [
        {"ports": [{"name": "web-1", "containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]},
        {"ports": [{"containerPort": 80, "hostPort": 0, "hostIP": "1.2.3"}]},
        {"env": [{"name": "any thing but the sign", "value": "x"}, {"name": "A", "valueFrom": None}]},
        {"envFrom": [{"secretRef": {"name": "s"}}]},
        {"livenessProbe": {"httpGet": {"port": "web"}, "successThreshold": 1}},
        {"readinessProbe": {"tcpSocket": {"port": 80}, "successThreshold": 3}},
        {"lifecycle": {"preStop": {"sleep": {"seconds": 1}}}},
        {"restartPolicy": "OnFailure"},
        {"securityContext": {"privileged": True}},
    ],
)
def test_a_container_that_looks_odd_only_is_taken(members: Any) -> None:
    assert paths(one(**members)) == []


VOLUMES = [
    {"name": "a", "emptyDir": {}},
    {"name": "b"},
    {"name": "disk", "persistentVolumeClaim": {"claimName": "x"}},
]


@pytest.mark.parametrize(
    ("members", "refused"),
    [
        ({"volumeMounts": [{"name": "c", "mountPath": "/c"}]}, "volumeMounts[0].name"),
        (
            {"volumeMounts": [{"name": "a", "mountPath": "/c"}, {"name": "b", "mountPath": "/c"}]},
            "volumeMounts[1].mountPath",
        ),
        (
            {"volumeMounts": [{"name": "a", "mountPath": "/c", "subPath": "../x"}]},
            "volumeMounts[0].subPath",
        ),
        (
            {"volumeMounts": [{"name": "a", "mountPath": "/c", "mountPropagation": "Bidirectional"}]},
            "volumeMounts[0].mountPropagation",
        ),
        (
            {"volumeMounts": [{"name": "a", "mountPath": "/c", "recursiveReadOnly": "Enabled"}]},
            "volumeMounts[0].recursiveReadOnly",
        ),
        ({"volumeDevices": [{"name": "a", "devicePath": "/dev/a"}]}, "volumeDevices[0].name"),
        ({"volumeDevices": [{"name": "c", "devicePath": "/dev/a"}]}, "volumeDevices[0].name"),
        ({"volumeDevices": [{"name": "disk", "devicePath": "/dev/../a"}]}, "volumeDevices[0].devicePath"),
    ],
)
def test_mounts_need_volumes_and_places_of_their_own(members: Any, refused: str) -> None:
    assert paths(pod(containers=[container(**members)], volumes=VOLUMES)) == [f"{C}.{refused}"]


def test_mounts_of_volumes_that_are_there_are_taken() -> None:
    mounts = [{"name": "a", "mountPath": "/a"}, {"name": "b", "mountPath": "/b", "subPath": "x/y"}]
    devices = [{"name": "disk", "devicePath": "/dev/x"}]
    assert (
        paths(pod(containers=[container(volumeMounts=mounts, volumeDevices=devices)], volumes=VOLUMES)) == []
    )


def test_a_mount_of_a_volume_that_is_refused_is_refused_too() -> None:
    volumes = [{"name": "a", "emptyDir": {}, "hostPath": {"path": "/x"}}]
    manifest = pod(containers=[container(volumeMounts=[{"name": "a", "mountPath": "/a"}])], volumes=volumes)
    assert paths(manifest) == [f"{C}.volumeMounts[0].name", "volumes[0].hostPath"]
    assert any("is refused" in error.problem for error in refusals(manifest))


@pytest.mark.parametrize(
    ("members", "is_refused"),
    [
        ({"livenessProbe": {"tcpSocket": {"port": 1}}}, True),
        ({"lifecycle": {}}, True),
        ({"livenessProbe": {"tcpSocket": {"port": 1}}, "restartPolicy": "Always"}, False),
        ({"restartPolicy": "OnFailure"}, False),
        ({"name": "main"}, True),
        ({"ports": [{"containerPort": 1, "hostPort": 2}]}, False),
    ],
)
def test_init_containers_end_and_have_names_of_their_own(members: Any, is_refused: bool) -> None:
    manifest = pod(initContainers=[container(**{"name": "init", **members})])
    assert bool(paths(manifest)) == is_refused


def test_every_error_says_what_to_do() -> None:
    for manifest in (one(ports=[{"name": "A", "containerPort": 1}]), asking({"cpu": "2"}, {"cpu": "1"})):
        for error in refusals(manifest):
            assert error.problem
            assert error.fix
