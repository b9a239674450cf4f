"""The comparer of the admission family itself."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from schedframe.errors import InputError

from .admission_case import (
    DEFAULTS,
    INVALID,
    Answer,
    answer_differences,
    comparable,
    create,
    in_manifest,
    steps,
)
from .corpus import Case, Corpus
from .mutation import Path, mutations
from .reporting import differing


def answered(case: Case) -> Answer:
    """The answer that conforms, as far as the expectation says it."""
    expect = case["expect"]
    if expect["accepted"]:
        return Answer(stored={"spec": expect.get("spec", {})})
    fields = [field for field, _ in expect["causes"]] or ["spec"]
    return Answer(tuple(InputError(field, "is wrong") for field in fields))


def parts(case: Case, answer: Answer) -> set[str]:
    """The parts in which they differ."""
    return set(differing(answer_differences(case, answer))[1])


def some(corpus: Corpus, *, code: int | None) -> list[Case]:
    """Cases with that code, ``None``: with a stored spec."""
    cases = corpus.cases("admission")
    return [
        case for case in cases if case["expect"].get("code") == code and (code or "spec" in case["expect"])
    ]


def test_what_was_measured_conforms(bundled: Corpus) -> None:
    for case in bundled.cases("admission"):
        assert parts(case, answered(case)) == set(), case["name"]


@pytest.mark.parametrize("code", [None, 400, 403, INVALID])
def test_a_wrong_verdict_shows(bundled: Corpus, code: int | None) -> None:
    for case in some(bundled, code=code)[::20]:
        other = Answer(stored={"spec": {}}) if code else Answer((InputError("spec", "is wrong"),))
        assert parts(case, other) == {"verdict"}


def is_implied(path: Path, spec: dict[str, Any]) -> bool:
    """Whether nothing changes if the field at *path* of *spec* is removed."""
    value: Any = spec
    for step in path:
        if isinstance(value, dict) and step not in value:
            return False
        if isinstance(value, list) and isinstance(step, int) and step >= len(value):
            return False
        value = value[step]
    return isinstance(value, str) and (path[-1], value) in DEFAULTS


def test_every_change_of_a_stored_spec_shows(bundled: Corpus) -> None:
    cases = some(bundled, code=None)
    claims = [case for case in cases if case["object"]["kind"] == "PersistentVolumeClaim"]
    checked = 0
    for case in [*cases[::60], *claims]:
        spec = case["expect"]["spec"]
        for path, changed in mutations(spec):
            if comparable(changed, "") == comparable(spec, ""):
                assert is_implied(path, spec), path
                continue
            checked += 1
            mutated = {**case, "expect": {**case["expect"], "spec": changed}}
            assert parts(mutated, answered(case)) == {"spec"}, path
    assert checked > 1000


def test_amounts_count_by_value() -> None:
    def claims(storage: str) -> Any:
        return comparable({"resources": {"requests": {"storage": storage}}}, "")

    assert claims("1Gi") == claims("1024Mi")
    assert claims("1Gi") != claims("1G")
    assert claims("much") != claims("1Gi")


def test_an_empty_selector_is_not_an_absent_one() -> None:
    assert comparable({"labelSelector": {}}, "") != comparable({}, "")
    assert comparable({"storageClassName": ""}, "") != comparable({}, "")
    assert comparable({"nodeSelector": {}, "volumeName": None}, "") == comparable({}, "")


def test_every_cause_counts_by_its_field(bundled: Corpus) -> None:
    for case in some(bundled, code=INVALID)[::10]:
        causes = case["expect"]["causes"]
        for number, (field, reason) in enumerate(causes):
            for other in (f"{field}?", f"{field}.below"):
                changed = [*causes[:number], [other, reason], *causes[number + 1 :]]
                mutated = {**case, "expect": {**case["expect"], "causes": changed}}
                assert parts(mutated, answered(case)) == {"causes"}, other
        more = {
            **case,
            "expect": {**case["expect"], "causes": [*causes, ["spec.other", "FieldValueInvalid"]]},
        }
        assert parts(more, answered(case)) == {"causes"}


@pytest.mark.parametrize(
    ("named", "conforms"),
    [
        ("spec.containers[0].resources.requests.cpu", True),
        ('spec.containers[0].resources.requests["cpu"]', True),
        ("spec.containers[0].resources.requests.cpu.below", True),
        ("spec.containers[0].resources.requests", False),
        ("spec.containers[1].resources.requests.cpu", False),
        ("spec.containers[0].resources.requests.cpus", False),
    ],
)
def test_a_cause_is_named_by_its_path_or_below(named: str, conforms: bool) -> None:
    causes = [["spec.containers[0].resources.requests[cpu]", "FieldValueInvalid"]]
    case = {"object": {"kind": "Pod"}, "expect": {"accepted": False, "code": INVALID, "causes": causes}}
    assert (parts(case, Answer((InputError(named, "is wrong"),))) == set()) == conforms


@pytest.mark.parametrize(
    ("of_the_server", "field"),
    [
        ("metadata.taints[1].key", "spec.taints[1].key"),
        ("spec.resources[storage]", "spec.resources.requests.storage"),
        (
            "spec.volumeClaimTemplates[0].spec.resources[storage]",
            "spec.volumeClaimTemplates[0].spec.resources.requests.storage",
        ),
        ("spec.template.labels", "spec.template.metadata.labels"),
        ("spec.affinity.podAffinity.x[0].namespace", "spec.affinity.podAffinity.x[0].namespaces"),
    ],
)
def test_paths_that_lead_to_no_field_are_translated(of_the_server: str, field: str) -> None:
    assert steps(in_manifest(of_the_server)) == steps(field)
    assert in_manifest(field) == field


def test_causes_count_for_validation_only(bundled: Corpus) -> None:
    for case in some(bundled, code=403)[::20]:
        assert parts(case, Answer((InputError("elsewhere", "is wrong"),))) == set()


def test_an_object_is_refused_or_stored(bundled: Corpus) -> None:
    case = next(case for case in some(bundled, code=None) if case["object"]["kind"] == "Pod")
    stored = create(case)
    assert not stored.errors
    assert stored.stored["metadata"]["name"] == case["object"]["metadata"]["name"]
    misspelt = {**case["object"], "spec": {**case["object"]["spec"], "contaners": []}}
    refused = create({**case, "object": misspelt})
    assert refused == evolve(refused, stored={})
    assert [error.path for error in refused.errors] == ["spec.contaners"]
