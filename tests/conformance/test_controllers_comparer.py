"""The comparer of the controllers family itself."""

from __future__ import annotations

from functools import partial
from typing import Any

from .controllers_case import compare, record_differences
from .corpus import Case, Corpus
from .mutation import Path, mutations, shows


def is_free(path: Path, case: Case) -> bool:
    """Whether a change there is none: a hash in a generated name, another volume that is as good."""
    if path[-1:] == ("generate_name",) and path[:1] == ("pods",):
        return "pod-template-hash" in case["expect"]["pods"][path[1]]["labels"]
    return False


def test_what_was_measured_conforms(bundled: Corpus) -> None:
    for case in bundled.cases("controllers"):
        assert record_differences(case, case["expect"]) == []


def test_the_order_of_pods_and_claims_makes_no_difference(bundled: Corpus) -> None:
    for case in bundled.cases("controllers")[::20]:
        expect = case["expect"]
        turned = {**expect, "pods": expect["pods"][::-1], "claims": expect["claims"][::-1]}
        assert record_differences(case, turned) == []


def test_every_change_of_what_was_measured_shows(bundled: Corpus) -> None:
    seen = 0
    for case in bundled.cases("controllers")[::40]:
        for path, changed in mutations(case["expect"]):
            if not is_free(path, case):
                seen += 1
                assert shows(partial(record_differences, case, changed)), path
    assert seen > 500


def twins(first: str, second: str, labels: tuple[str, str], **claim: Any) -> Case:
    """A claim that two volumes fit, which got *first*; then *second* is given for it."""
    volumes = [
        {
            "kind": "PersistentVolume",
            "metadata": {"name": name, "labels": {"tier": label}},
            "spec": {"capacity": {"storage": "1Gi"}, "hostPath": {"path": f"/{name}"}},
        }
        for name, label in zip(("v1", "v2"), labels, strict=True)
    ]
    record = {
        "name": "c",
        "owner": None,
        "labels": {},
        "storage_class": "",
        "phase": "Bound",
        "volume": first,
    }
    wanted = {"kind": "PersistentVolumeClaim", "metadata": {"name": "c"}, "spec": claim}
    return {
        "cluster": volumes,
        "objects": [wanted],
        "expect": {"pods": [], "claims": [record], "resource_claims": 0},
        "given": {"pods": [], "claims": [{**record, "volume": second}], "resource_claims": 0},
    }


def test_one_of_two_equal_volumes_is_as_good_as_the_other() -> None:
    case = twins("v2", "v1", ("gold", "gold"))
    assert record_differences(case, case["given"]) == []
    case = twins("v2", "v1", ("gold", "tin"))
    assert record_differences(case, case["given"]) == []
    case = twins("v2", "v1", ("gold", "tin"), selector={"matchLabels": {"tier": "gold"}})
    assert record_differences(case, case["given"]) == ['claims[0].volume: expected "v2", got "v1"']


def test_a_case_is_played(bundled: Corpus) -> None:
    case = bundled.case("controllers", 0)
    assert compare(case) == []
    assert compare({**case, "objects": case["objects"][:-1]}) != []
