"""Policies of the forms that public repositories contain: each is migrated, or refused with the reason.

Names and values are made up. The forms are those of the wild: which fields, in which spelling, nested how.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from plugins_builtin.legacy.config import Migration, migrate
from schedframe import Registry
from schedframe.config import ConfigDecodeError, load_config

HEAD = '"kind": "Policy", "apiVersion": "v1"'
PORTS = '{"name" : "PodFitsHostPorts"}'
LEAST = '{"name": "LeastRequestedPriority", "weight": 1}'
EXTENDER = '"urlPrefix": "http://127.0.0.1:12346/scheduler", "filterVerb": "filter"'

MIGRATED = {
    "example of the documentation": """{
"kind" : "Policy",
"apiVersion" : "v1",
"predicates" : [
\tPORTS,
\t{"name" : "NoVolumeZoneConflict"},
\t{"name" : "HostName"}
\t],
"priorities" : [
\tLEAST,
\t{"name" : "ServiceSpreadingPriority", "weight" : 1},
\t{"name" : "EqualPriority", "weight" : 1}
\t],
"hardPodAffinitySymmetricWeight" : 10,
"alwaysCheckAllPredicates" : false
}""",
    "all on one line": '{HEAD, "predicates": [PORTS], "priorities": [LEAST]}',
    "a comma too many": '{HEAD, "predicates": [\nPORTS,\n], "priorities": [\nLEAST,\n],\n}',
    "an extender with a version": '{HEAD, "extenders": [{EXTENDER, "apiVersion": "v1beta1", "weight": 5}]}',
    "an extender alone, over HTTPS, with nanoseconds": """{HEAD, "extenders": [{
        "urlPrefix": "https://127.0.0.1:8895", "apiVersion": "v1beta1", "filterVerb": "predicates",
        "bindVerb": "", "prioritizeVerb": "", "weight": 1, "enableHttps": true,
        "tlsConfig": {"insecure": true}, "nodeCacheCapable": false, "httpTimeout": 10000000000}]}""",
    "spelled as in v1.7": """{HEAD, "extenders": [{EXTENDER, "BindVerb": "bind", "enableHttps": true,
        "tlsConfig": {"Insecure": true}, "httpTimeout": 1, "weight": 1}]}""",
    "an extender that binds pods with a resource": """{HEAD, "extenders": [{EXTENDER, "bindVerb": "bind",
        "managedResources": [{"name": "example.com/gpu-mem", "ignoredByScheduler": false}],
        "ignorable": false, "nodeCacheCapable": true}]}""",
    "an extender that preempts": '{HEAD, "extenders": [{EXTENDER, "preemptVerb": "preempt"}]}',
    "one that prefers full nodes": """{HEAD,
        "predicates": [{"name": "GeneralPredicates"}, {"name": "MatchInterPodAffinity"}],
        "priorities": [{"name": "MostRequestedPriority", "weight": 1},
                       {"name": "InterPodAffinityPriority", "weight": 2}]}""",
    "most and least at once": """{HEAD, "priorities": [LEAST,
        {"name": "MostRequestedPriority", "weight": 1}]}""",
    "a weight of 100,000": '{HEAD, "priorities": [{"name": "LeastRequestedPriority", "weight": 100000}]}',
    "predicates of any name by their argument": """{HEAD, "predicates": [
        {"name": "ZoneAffinity", "argument": {"serviceAffinity": {"labels": ["zone"]}}},
        {"name": "ZoneAffinity", "argument": {"serviceAffinity": {"labels": ["foo"]}}},
        {"name": "RequireZone", "argument": {"labelsPresence": {"labels": ["zone"], "presence": true}}},
        {"name": "NoFoo", "argument": {"labelsPresence": {"labels": ["foo"], "presence": false}}}],
      "priorities": [
        {"name": "RackSpread", "weight": 3, "argument": {"serviceAntiAffinity": {"label": "rack"}}},
        {"name": "Label", "weight": 3,
         "argument": {"labelPreference": {"label": "l", "presence": true}}}]}""",
    "a shape and its resources": """{HEAD, "priorities": [{"name": "RequestedToCapacityRatioPriority",
        "weight": 2, "argument": {"requestedToCapacityRatioArguments": {
        "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}],
        "resources": [{"name": "example.com/foo", "weight": 3}, {"name": "cpu", "weight": 1}]}}}]}""",
    "YAML with a comment": """
apiVersion: v1
kind: Policy
extenders:
  - urlPrefix: "http://127.0.0.1:8889"
    filterVerb: filter
    #bindVerb: bind
    prioritizeVerb: prioritize
    weight: 1
    enableHttps: false
""",
    "the group of v1.18 and later": """
apiVersion: kubescheduler.config.k8s.io/v1
kind: Policy
predicates:
- name: GeneralPredicates
priorities:
- {name: ImageLocalityPriority, weight: 1}
""",
    "JSON in a ConfigMap": """
apiVersion: v1
kind: ConfigMap
metadata: {name: scheduler-policy, namespace: kube-system}
data:
 policy.cfg : |
  {
  HEAD,
  "predicates" : [
  \tPORTS
  ]
  }
""",
    "conditions of nodes": """{HEAD, "predicates": [{"name": "CheckNodeCondition"},
        {"name": "CheckNodeMemoryPressure"}, {"name": "CheckNodeDiskPressure"},
        {"name": "CheckNodePIDPressure"}, {"name": "MaxAzureDiskVolumeCount"}],
        "priorities": [{"name": "NodePreferAvoidPodsPriority", "weight": 10000}]}""",
    "a port predicate of v1.0": '{HEAD, "predicates": [{"name": "PodFitsPorts"}]}',
}

REFUSED = {
    "a template": (
        '{HEAD,\n{{- if .Values.old }}\n"predicates": []\n{{- end }}\n}',
        "cannot be read as YAML",
    ),
    "comments of JavaScript": ("{\n  // ours\n  HEAD\n}", "cannot be read as YAML"),
    "another kind": (
        '{"kind": "SchedulerExtender", "apiVersion": "v1", "extenders": []}',
        "'SchedulerExtender of v1'",
    ),
    "no kind": ('{"predicates": [], "priorities": []}', "a document without kind"),
    "a kind in another case": ('{"Kind": "Policy", "apiVersion": "v1"}', "a document without kind"),
    "nothing": ("\n", "an empty document"),
    "a predicate that never was": ('{HEAD, "predicates": [{"name": "PodFitsHost"}]}', "'PodFitsHost'"),
    "an order of predicates": (
        '{HEAD, "predicates": [{"name": "HostName", "order": 2}]}',
        r"predicates\[0\].order: unknown field",
    ),
    "an argument in the plural": (
        '{HEAD, "predicates": [{"name": "A", "arguments": {"labelsPresence": {"labels": ["a"]}}}]}',
        r"predicates\[0\].arguments: unknown field",
    ),
    "a weight as text": (
        '{HEAD, "priorities": [{"name": "EqualPriority", "weight": "1"}]}',
        "an integer above 0",
    ),
    "no weight": ('{HEAD, "priorities": [{"name": "EqualPriority"}]}', "an integer above 0"),
    "names without objects": ('{HEAD, "predicates": ["HostName"]}', "expected an object"),
    "an object for a list": ('{HEAD, "priorities": {"name": "EqualPriority"}}', "expected a list"),
    "labels that are text": (
        '{HEAD, "predicates": [{"name": "A", "argument": {"labelsPresence": {"label": "a"}}}]}',
        "argument.labelsPresence.label: unknown field",
    ),
    "a field that no policy has": ('{HEAD, "profiles": []}', "profiles: unknown field"),
    "a ConfigMap with other entries": (
        "apiVersion: v1\nkind: ConfigMap\ndata: {config.yaml: a, policy.yaml: b}\n",
        "and none with a KubeSchedulerConfiguration; it has config.yaml, policy.yaml",
    ),
}


def text_of(form: str) -> str:
    """Return a form with its abbreviations written out."""
    for short, long in (("HEAD", HEAD), ("PORTS", PORTS), ("LEAST", LEAST), ("EXTENDER", EXTENDER)):
        form = form.replace(short, long)
    return form


def loaded(migration: Migration) -> Any:
    """Load the new configuration, which must be valid."""
    return load_config(migration.config, catalogue=Registry.installed().full_catalogue())


@pytest.mark.parametrize("name", MIGRATED)
def test_a_public_form_is_migrated(name: str) -> None:
    migration = migrate(text_of(MIGRATED[name]))
    config = loaded(migration)
    (profile,) = config.profiles
    assert profile.plugins["filter"]
    assert not migration.not_kept
    if "extenders" in MIGRATED[name]:
        (extender,) = config.config.extenders
        assert extender.filter_verb


@pytest.mark.parametrize("name", REFUSED)
def test_a_public_form_is_refused_with_the_reason(name: str) -> None:
    text, reason = REFUSED[name]
    with pytest.raises(ConfigDecodeError, match=reason):
        migrate(text_of(text))


def test_the_version_of_an_extender_is_dropped_with_a_note() -> None:
    """It was in examples from v1.2 on and had no effect."""
    migration = migrate(text_of(MIGRATED["an extender with a version"]))
    (extender,) = migration.config["extenders"]
    assert "apiVersion" not in extender
    notes = [note for note in migration.notes if note.field == "extenders[0].apiVersion"]
    assert [note.text for note in notes] == ["left out; extenders had no version"]


def test_misspelt_fields_of_extenders_are_named() -> None:
    text = json.dumps(
        {"kind": "Policy", "apiVersion": "v1", "extenders": [{"urlPrefix": "http://e", "filterVrb": "f"}]}
    )
    with pytest.raises(Exception, match=r"extenders\[0\].filterVrb: unknown field"):
        loaded(migrate(text))
