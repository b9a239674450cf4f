"""Workloads of scheduler_perf: a tiny file for each operation. Idle time is skipped."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from schedframe.bench import Options, load_workloads, run_workload, select
from schedframe.bench.objects import make_pod
from schedframe.bench.perf.creating import needed_plugin
from schedframe.bench.perf.definitions import Fields
from schedframe.bench.perf.files import ObjectTemplate
from schedframe.errors import InputError

TEMPLATES = {
    "node.yaml": """
        apiVersion: v1
        kind: Node
        metadata: {generateName: node-}
        status: {capacity: {pods: "110", cpu: "4", memory: 32Gi}}
        """,
    "closed-node.yaml": """
        apiVersion: v1
        kind: Node
        metadata: {name: "closed-{{ .Index }}"}
        spec: {unschedulable: true}
        status: {capacity: {pods: "110", cpu: "4", memory: 32Gi}}
        """,
    "open-node.yaml": """
        apiVersion: v1
        kind: Node
        metadata: {name: "closed-{{ .Index }}"}
        status: {capacity: {pods: "110", cpu: "4", memory: 32Gi}}
        """,
    "pod.yaml": """
        apiVersion: v1
        kind: Pod
        metadata: {generateName: pod-, labels: {type: measured}}
        spec: {containers: [{name: a, image: b, resources: {requests: {cpu: 100m}}}]}
        """,
    "large.yaml": """
        apiVersion: v1
        kind: Pod
        metadata: {generateName: large-}
        spec: {priority: 10, containers: [{name: a, image: b, resources: {requests: {cpu: 9}}}]}
        """,
    "numbered.yaml": """
        apiVersion: v1
        kind: Pod
        metadata: {name: "numbered-{{ .Index }}"}
        spec:
          containers: [{name: a, image: b, resources: {requests: {cpu: "{{ DivideInt 4 .Count }}"}}}]
        """,
    "shrunk.yaml": """
        apiVersion: v1
        kind: Pod
        metadata: {name: "numbered-{{ .Index }}"}
        spec: {containers: [{name: a, image: b, resources: {requests: {cpu: 100m}}}]}
        """,
    "class.yaml": """
        apiVersion: resource.k8s.io/v1
        kind: DeviceClass
        metadata: {name: "class"}
        spec: {extendedResourceName: example.com/device}
        """,
    "claim.yaml": """
        apiVersion: resource.k8s.io/v1
        kind: ResourceClaim
        metadata: {name: "claim-{{ .Index }}"}
        spec: {devices: {requests: [{name: a, exactly: {deviceClassName: class}}]}}
        """,
    "claim-template.yaml": """
        apiVersion: resource.k8s.io/v1
        kind: ResourceClaimTemplate
        metadata: {name: template}
        spec: {spec: {devices: {requests: [{name: a, exactly: {deviceClassName: class}}]}}}
        """,
    "claiming.yaml": """
        apiVersion: v1
        kind: Pod
        metadata: {generateName: claiming-}
        spec:
          containers: [{name: a, image: b}]
          resourceClaims: [{name: device, resourceClaimTemplateName: template}]
        """,
    "extended.yaml": """
        apiVersion: v1
        kind: Pod
        metadata: {generateName: extended-}
        spec: {containers: [{name: a, image: b, resources: {requests: {example.com/device: 1}}}]}
        """,
    "service.yaml": """
        apiVersion: v1
        kind: Service
        metadata: {generateName: service-}
        spec: {selector: {app: a}}
        """,
    "widget.yaml": """
        apiVersion: example.com/v1
        kind: Widget
        metadata: {name: a}
        """,
}
NODES = """
    - {opcode: createNodes, countParam: $nodes, nodeTemplatePath: node.yaml}"""
POD = "podTemplatePath: pod.yaml"


@pytest.fixture
def played(tmp_path: Path) -> Any:
    """Carries out operations: given as YAML, indented by four blanks; with nodes = 3 and pods = 5."""
    for name, text in TEMPLATES.items():
        (tmp_path / name).write_text(dedent(text), encoding="utf-8")

    def play(operations: str, **options: Any) -> dict[str, Any]:
        file = tmp_path / "performance-config.yaml"
        file.write_text(
            f"""
- name: Tiny
  featureGates: {{GateB: false}}
  workloadTemplate:{operations}
  workloads:
  - name: small
    labels: [short, performance]
    threshold: 2
    featureGates: {{GateA: true}}
    params: {{nodes: 3, pods: 5}}
  - name: none
    params: {{nodes: 0, pods: 0}}
""",
            encoding="utf-8",
        )
        (workload,) = select(load_workloads(file), None, "performance")
        return run_workload(workload, Options(**options))

    return play


def outcome(figures: dict[str, Any]) -> tuple[int, int, int]:
    assert "faults" not in figures, figures["fault"]
    return figures["pods"], figures["scheduled"], figures["attempts"]


def test_pods_are_measured_where_metrics_are_collected(played: Any) -> None:
    figures = played(f"""{NODES}
    - {{opcode: createPods, count: 4, {POD}}}
    - {{opcode: createPods, countParam: $pods, {POD}, collectMetrics: true}}""")
    assert outcome(figures) == (5, 5, 5)
    assert (figures["workload"], figures["nodes"], figures["threshold"]) == ("Tiny/small", 3, 2.0)
    assert figures["ratio"] == pytest.approx(figures["pods_per_s"] / 2, abs=0.1)
    assert figures["ignored"] == ["GateA=true", "GateB=false"]
    assert figures["waited_seconds"] == 0


def test_without_templates_nodes_and_pods_are_the_usual_ones(played: Any) -> None:
    assert outcome(
        played("""
    - {opcode: createNodes, count: 1}
    - {opcode: createPods, count: 40, collectMetrics: true}""")
    ) == (40, 40, 40)


def test_sampling_places_all_pods_too(played: Any) -> None:
    figures = played(
        f"{NODES}\n    - {{opcode: createPods, count: 4, {POD}, collectMetrics: true}}", percentage=0
    )
    assert outcome(figures) == (4, 4, 4)


def test_what_never_fits_is_told(played: Any) -> None:
    figures = played(
        f"{NODES}\n    - {{opcode: createPods, count: 2, podTemplatePath: large.yaml, collectMetrics: true}}"
    )
    assert (figures["pods"], figures["scheduled"]) == (2, 0)
    assert figures["stalled"].startswith("waiting for pods to be scheduled")


def test_churn_goes_on_meanwhile_and_time_is_skipped(played: Any) -> None:
    """The deletions take a second each; a node comes and goes, and unschedulable pods pile up."""
    figures = played(f"""{NODES}
    - {{opcode: churn, mode: recreate, number: 1, templatePaths: [node.yaml, service.yaml],
       intervalMilliseconds: 300}}
    - {{opcode: churn, mode: create, templatePaths: [large.yaml], intervalMilliseconds: 500}}
    - {{opcode: createPods, count: 4, {POD}, namespace: going}}
    - {{opcode: startCollectingMetrics, namespaces: [going], labelSelector: {{type: measured}}}}
    - {{opcode: deletePods, namespace: going, deletePodsPerSecond: 1}}
    - {{opcode: createPods, count: 1, {POD}, namespace: going}}
    - {{opcode: stopCollectingMetrics}}""")
    assert (figures["pods"], figures["scheduled"]) == (1, 1)
    assert 4 < figures["waited_seconds"] < 6
    assert figures["waited_seconds"] <= figures["seconds"]
    assert figures["attempts"] > 5


def test_a_barrier_waits_until_nodes_are_updated(played: Any) -> None:
    figures = played(f"""
    - {{opcode: startCollectingMetrics, namespaces: [a, b]}}
    - {{opcode: createNodes, countParam: $nodes, nodeTemplatePath: closed-node.yaml}}
    - {{opcode: createPods, count: 2, {POD}, namespace: a, skipWaitToCompletion: true}}
    - {{opcode: createPods, count: 3, {POD}, namespace: elsewhere, skipWaitToCompletion: true}}
    - {{opcode: barrier, stageRequirement: Attempted}}
    - {{opcode: updateAny, countParam: $nodes, templatePath: open-node.yaml, updatePerSecond: 10}}
    - {{opcode: barrier, labelSelector: {{type: measured}}}}
    - {{opcode: stopCollectingMetrics}}""")
    assert outcome(figures) == (2, 2, 10)
    assert figures["waited_seconds"] > 0.2


def test_pods_that_shrink_make_room(played: Any) -> None:
    figures = played(f"""
    - {{opcode: createNodes, count: 1, nodeTemplatePath: node.yaml}}
    - {{opcode: createPods, count: 2, podTemplatePath: numbered.yaml, namespace: a}}
    - {{opcode: createPods, count: 3, {POD}, namespace: b, skipWaitToCompletion: true}}
    - {{opcode: barrier, stageRequirement: Attempted}}
    - {{opcode: startCollectingMetrics, namespaces: [b]}}
    - {{opcode: updateAny, count: 1, templatePath: shrunk.yaml, namespace: a, subresources: [resize]}}
    - {{opcode: barrier}}
    - {{opcode: stopCollectingMetrics}}""")
    assert (figures["scheduled"], figures["unschedulable"]) == (3, 0)


def test_namespaces_pod_sets_objects_and_sleep(played: Any) -> None:
    figures = played(f"""{NODES}
    - {{opcode: createNamespaces, prefix: ns, count: 2}}
    - {{opcode: createAny, namespace: ns-0, templatePath: service.yaml, count: 2}}
    - {{opcode: startCollectingMetrics}}
    - {{opcode: createPodSets, count: 2, namespacePrefix: ns,
       createPodsOp: {{opcode: createPods, countParam: $pods, {POD}}}}}
    - {{opcode: sleep, duration: 1m30s}}
    - {{opcode: stopCollectingMetrics}}""")
    assert outcome(figures) == (10, 10, 10)
    assert 89 < figures["waited_seconds"] < 91


def test_nodes_are_prepared_by_strategies(played: Any) -> None:
    """A label in turn, one of its own, more of a resource, and a CSINode."""
    figures = played("""
    - {opcode: createNodes, count: 2, labelNodePrepareStrategy: {labelKey: zone, labelValues: [a, b]}}
    - {opcode: createNodes, count: 2, uniqueNodeLabelStrategy: {labelKey: own}}
    - {opcode: createNodes, count: 1, nodeAllocatableStrategy:
       {nodeAllocatable: {example.com/thing: "2"}, csiNodeAllocatable: {driver: {count: 3}},
        migratedPlugins: [kubernetes.io/aws-ebs]}}
    - {opcode: createPods, count: 3, collectMetrics: true}""")
    assert outcome(figures) == (3, 3, 3)


DRIVER = """
    - {opcode: createResourceDriver, driverName: d.example.com, nodes: node-*, maxClaimsPerNode: 4}
    - {opcode: createAny, templatePath: class.yaml}"""


def test_pods_get_claims_from_a_template_and_devices_of_a_driver(played: Any) -> None:
    """Twelve devices, four of which are allocated before."""
    figures = played(f"""{NODES}{DRIVER}
    - {{opcode: createResourceClaims, templatePath: claim.yaml, count: 4, namespace: before}}
    - {{opcode: allocResourceClaims, namespace: before}}
    - {{opcode: createAny, templatePath: claim-template.yaml, namespace: ns}}
    - {{opcode: createPods, count: 8, namespace: ns, podTemplatePath: claiming.yaml, collectMetrics: true}}
    - {{opcode: createPods, count: 1, namespace: ns, podTemplatePath: claiming.yaml,
       skipWaitToCompletion: true}}
    - {{opcode: barrier, stageRequirement: Attempted}}""")
    assert outcome(figures) == (8, 8, 8)


def test_devices_of_pods_that_go_are_given_to_the_next_ones(played: Any) -> None:
    figures = played(f"""{NODES}{DRIVER}
    - {{opcode: createAny, templatePath: claim-template.yaml, namespace: ns}}
    - {{opcode: createPods, count: 12, namespace: ns, podTemplatePath: claiming.yaml, steadyState: true,
       duration: 50ms, collectMetrics: true}}""")
    pods, placed, attempts = outcome(figures)
    assert pods == placed == attempts
    assert pods % 12 == 0
    assert pods


def test_devices_stand_in_for_extended_resources(played: Any) -> None:
    figures = played(f"""{NODES}{DRIVER}
    - {{opcode: createPods, count: 12, podTemplatePath: extended.yaml, collectMetrics: true}}""")
    assert outcome(figures) == (12, 12, 12)


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ("opcode: createAny, templatePath: widget.yaml", "is not a kind that scheduling reads"),
    ],
)
def test_what_is_not_delivered_is_told(played: Any, operation: str, reason: str) -> None:
    figures = played(f"{NODES}\n    - {{{operation}}}")
    assert reason in figures["not_delivered"]
    assert figures["pods"] == 0


@pytest.mark.parametrize(
    ("operation", "problem"),
    [
        ("opcode: dance", r"workloadTemplate\[1\].opcode: dance is unknown"),
        ("count: 1", r"workloadTemplate\[1\].opcode: is missing"),
        (
            "opcode: createPods, countParam: $many",
            "countParam: there is no parameter many; use one of nodes, pods",
        ),
        ("opcode: createPods, count: -1", "count: -1 is no count"),
        ("opcode: createPods, count: 1, podTemplatePath: none.yaml", "none.yaml: cannot be read"),
        ("opcode: deletePods, namespace: a, labelSelector: 3", "labelSelector: expected a mapping"),
        ("opcode: sleep, duration: soon", "'soon' is no duration"),
        ("opcode: updateAny, templatePath: open-node.yaml", "there is no Node closed-0"),
    ],
)
def test_definitions_that_make_no_sense_are_refused(played: Any, operation: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        played(f"{NODES}\n    - {{{operation}}}")


def test_workloads_are_chosen_by_name_and_label(tmp_path: Path) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(
        """
- name: A
  workloadTemplate: []
  workloads: [{name: x, labels: [short]}, {name: z, threshold: {topic: 7}}]
- name: B
  labels: [short]
  workloadTemplate: []
  workloads: [{name: x}]
"""
    )
    workloads = load_workloads(file)

    def names(name: str | None, label: str | None) -> list[str]:
        return [each.full_name for each in select(workloads, name, label)]

    assert names(None, None) == ["A/x", "A/z", "B/x"]
    assert names("A", None) == ["A/x", "A/z"]
    assert names(None, "short") == ["A/x", "B/x"]
    assert names("A/z", None) == ["A/z"]
    assert [each.threshold for each in workloads] == [None, 7.0, None]
    with pytest.raises(InputError, match="there is no workload C with label short; use one of A/x, A/z, B/x"):
        names("C", "short")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: b", "expected a list of test cases"),
        ("- a: b", "is no test case"),
        ("a: [", "cannot be read as YAML"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=problem):
        load_workloads(file)


def test_names_of_fields_in_any_case_and_data_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(
        """
kind: Pod
apiVersion: v1
metadata: {name: a, labels: {Team: b}}
spec:
  Containers: [{name: a, resources: {requests: {Example.com/a: 1}}}]
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule,
    NodeTaintsPolicy: Honor}]
"""
    )
    pod: Any = ObjectTemplate.read(file).make(0, 1)
    assert pod.spec.topology_spread_constraints[0].node_taints_policy == "Honor"
    assert pod.labels == {"Team": "b"}
    assert "Example.com/a" in pod.requests
    file.write_text("- a")
    with pytest.raises(InputError, match="expected one object"):
        ObjectTemplate.read(file)


def test_pods_may_need_a_plugin() -> None:
    claimed = make_pod("a", resourceClaims=[{"name": "c", "resourceClaimName": "d"}])
    mounted = make_pod("b", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])
    assert needed_plugin(claimed) == "DynamicResources"
    assert needed_plugin(mounted) == "VolumeBinding"
    assert needed_plugin(make_pod("c")) is None


def test_numbers_flags_and_durations_may_be_parameters() -> None:
    fields = Fields({"countParam": "$n", "steadyStateParam": "$s"}, {"n": 3, "s": True}, "op")
    assert (fields.number("count"), fields.flag("steadyState"), fields.number("other", 7)) == (3, True, 7)
    assert fields.seconds("duration", "500ms") == 0.5
