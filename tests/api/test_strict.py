"""What Kubernetes would refuse is refused, reported or ignored, as the caller wants."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe import Simulation, evaluate, explain
from schedframe.api import Pod, from_manifest, load_manifests
from schedframe.cluster import InMemoryCluster
from schedframe.errors import InputError

NODE = {"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4", "pods": "10"}}}


def pod(metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": "web", **(metadata or {})}, "spec": spec}


def requests(**amounts: str) -> dict[str, Any]:
    return pod(containers=[{"name": "c", "resources": {"requests": amounts}}])


SPREAD = {"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}


@pytest.mark.parametrize(
    ("manifest", "path", "words"),
    [
        (pod(nodeSelectr={}), "spec.nodeSelectr", ["did you mean nodeSelector?"]),
        (pod(nodeselector={}), "spec.nodeselector", ["did you mean nodeSelector?"]),
        (pod({"label": {}}), "metadata.label", ["did you mean labels?"]),
        (pod(xyzzy=None), "spec.xyzzy", ["remove it"]),
        (pod(containers=[{"livenessProbe": {"httpGet": {"prot": 1}}}]), None, ["did you mean port?"]),
        (
            pod(terminationGracePeriodSeconds="5"),
            "spec.terminationGracePeriodSeconds",
            ["leave out the quotes"],
        ),
        (pod(dnsConfig=[]), "spec.dnsConfig", ["a list", "key: value"]),
        (pod(tolerations=[{"operator": "Existz"}]), "spec.tolerations[0].operator", ["did you mean Exists?"]),
        (pod(tolerations=[{"effect": "NoShedule"}]), "spec.tolerations[0].effect", ["NoSchedule?"]),
        (pod(restartPolicy="never"), "spec.restartPolicy", ["did you mean Never?"]),
        (pod(topologySpreadConstraints=[{**SPREAD, "maxSkew": 0}]), None, ["0 is out of range", "1 or more"]),
        (
            pod(topologySpreadConstraints=[{**SPREAD, "maxSkew": 1, "whenUnsatisfiable": "Never"}]),
            "spec.topologySpreadConstraints[0].whenUnsatisfiable",
            ["DoNotSchedule, ScheduleAnyway"],
        ),
        (requests(cpus="1"), "spec.containers[0].resources.requests.cpus", ["did you mean cpu?"]),
        (requests(memroy="1"), "spec.containers[0].resources.requests.memroy", ["did you mean memory?"]),
        (requests(slots="1"), "spec.containers[0].resources.requests.slots", ["example.com/slots"]),
        (
            {"kind": "Node", "spec": {"taints": [{"key": "a", "effect": ""}]}},
            "spec.taints[0].effect",
            ["NoExecute"],
        ),
        (pod({"name": "Bad_Name!"}), "metadata.name", ["'Bad_Name!'", "lower case"]),
        (pod({"name": "a" * 254}), "metadata.name", ["254 characters", "253"]),
        (pod({"namespace": "a.b"}), "metadata.namespace", ["'a.b'"]),
        ({"kind": "Namespace", "metadata": {"name": "a.b"}}, "metadata.name", ["'a.b'"]),
        (pod({"name": "", "generateName": "Web-"}), "metadata.generateName", ["Web-"]),
    ],
)
def test_mistakes_are_refused_with_path_and_fix(
    manifest: dict[str, Any], path: str | None, words: list[str]
) -> None:
    with pytest.raises(InputError) as caught:
        from_manifest(manifest)
    assert path is None or caught.value.path == path
    for word in words:
        assert word in str(caught.value)


def test_not_strict_takes_them() -> None:
    made = from_manifest(pod({"name": "A b"}, nodeSelectr={}, tolerations=[{"operator": "x"}]), strict=False)
    assert made.name == "A b"


@pytest.mark.parametrize(
    "manifest",
    [
        pod(containers=[{"name": "c", "livenessProbe": {"httpGet": {"port": "http"}}}]),
        pod({"generateName": "web-", "managedFields": [{"fieldsV1": {"f:spec": {"f:x": {}}}}]}),
        pod(terminationGracePeriodSeconds=None, overhead={}),
        pod(tolerations=[{"key": "a", "operator": "", "effect": ""}]),
        requests(**{"hugepages-2Mi": "2Mi", "example.com/gpu": "1", "ephemeral-storage": "1Gi"}),
        {"kind": "Node", "status": {"capacity": {"attachable-volumes-csi": "25", "slots": "3"}}},
        {"kind": "Node", "status": {"allocatable": {"memroy": "1"}}},
        {"kind": "Pod", "spec": {"containers": ({"name": "c", "args": ("a", "b")},)}},
    ],
)
def test_what_kubernetes_takes_is_right(manifest: dict[str, Any]) -> None:
    from_manifest(manifest)


def test_a_function_gets_every_problem_and_the_object_is_made() -> None:
    problems: list[InputError] = []
    text = "kind: Pod\nmetadata:\n  name: web\n  nam: x\nspec:\n  nodeSelectr: {}\n  restartPolicy: never\n"
    ((location, made),) = load_manifests(text + "  nodeSelectr: {}\n", strict=problems.append)
    assert isinstance(made, Pod)
    assert location == "line 1"
    assert [(each.location, each.path) for each in problems] == [
        ("line 8: Pod web", "spec.nodeSelectr"),
        ("line 4: Pod web", "metadata.nam"),
        ("line 8: Pod web", "spec.nodeSelectr"),
        ("line 7: Pod web", "spec.restartPolicy"),
    ]
    assert problems[0].problem == "the key is there twice, first in line 6"


class TestDuplicateKeys:
    def test_in_yaml(self) -> None:
        with pytest.raises(
            InputError, match="line 5: Pod web: spec: the key is there twice, first in line 4"
        ):
            list(
                load_manifests(
                    "kind: Pod\nmetadata:\n  name: web\nspec: {nodeName: a}\nspec: {nodeName: b}\n"
                )
            )

    def test_in_json(self) -> None:
        text = '{"kind": "PodList",\n"items": [\n{"metadata": {"name": "a",\n"name": "b"}}]}'
        with pytest.raises(
            InputError, match=r"line 4: item 0, Pod b: metadata\.name: the key is there twice"
        ):
            list(load_manifests(text))
        with pytest.raises(InputError, match="line 2: Node: kind: the key is there twice, first in line 1"):
            list(load_manifests('{"kind": "Pod",\n"kind": "Node"}'))

    def test_in_kinds_that_are_skipped(self) -> None:
        with pytest.raises(InputError, match="line 3: Secret: data"):
            list(load_manifests("kind: Secret\ndata: {}\ndata: {}", on_unknown="skip"))

    def test_they_may_be_ignored(self) -> None:
        ((_, made),) = load_manifests("kind: Node\nkind: Pod\nmetadata: {name: a, name: b}", strict=False)
        assert (made.KIND, made.name) == ("Pod", "b")

    @pytest.mark.parametrize("before", [0, 300])
    def test_keys_in_one_line(self, before: int) -> None:
        text = "\n" * before + "kind: Pod\nmetadata: {name: a, name: b}\n"
        line = before + 2
        match = rf"line {line}: Pod b: metadata\.name: the key is there twice, first in line {line};"
        with pytest.raises(InputError, match=match):
            list(load_manifests(text))

    def test_merge_keys_are_no_duplicates(self) -> None:
        text = """\
kind: Pod
metadata: {name: a}
spec:
  containers:
  - &first {name: c, image: i, resources: &room {requests: {cpu: 1}}}
  - {<<: *first, name: d}
  - {<<: *first, name: e, resources: {<<: *room, limits: {cpu: 2}}}
"""
        ((_, made),) = load_manifests(text)
        assert isinstance(made, Pod)
        assert [each.name for each in made.spec.containers] == ["c", "d", "e"]


def test_an_error_in_a_merged_part_has_a_line() -> None:
    text = "kind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - &c {name: c,\n     imag: i}\n  - *c\n"
    with pytest.raises(
        InputError, match=r"line 6: Pod a: spec\.containers\[0\]\.imag: .* did you mean image\?"
    ):
        list(load_manifests(text))


def test_the_line_of_a_wrong_value_in_json() -> None:
    text = '{"kind": "Pod",\n "metadata": {"name": "a", "labels": {"x.y/z": "",\n "b[0].c": 5}}}'
    with pytest.raises(InputError, match=r"line \d: Pod a: metadata\.labels"):
        list(load_manifests(text))


def test_strict_of_simulations_and_questions() -> None:
    wrong = pod(nodeSelectr={}, containers=[{"name": "c"}])
    for call in (
        lambda: Simulation([NODE, wrong]),
        lambda: Simulation([NODE]).schedule([wrong]),
        lambda: Simulation([NODE]).add(wrong),
        lambda: evaluate([NODE], wrong),
        lambda: explain([NODE], wrong),
        lambda: InMemoryCluster().create(wrong),
    ):
        with pytest.raises(InputError, match="nodeSelectr"):
            call()
    assert Simulation([NODE], strict=False).schedule([wrong])[0].node_name == "n"
    assert evaluate([NODE], wrong, strict=False).feasible
    assert explain([NODE], wrong, strict=False).verdict == "fits"
    assert InMemoryCluster(strict=False).create(wrong).name == "web"
