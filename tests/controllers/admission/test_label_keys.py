"""Label keys of affinity terms and spread constraints become selectors of the pod's own values."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe.api import LabelSelectorRequirement, Pod, PodAffinityTerm

from .made import admission, admit, decoded, pod

IN = LabelSelectorRequirement("app", "In", ("web",))
NOT_IN = LabelSelectorRequirement("rev", "NotIn", ("1",))
TERM = {
    "topologyKey": "zone",
    "labelSelector": {},
    "matchLabelKeys": ["app", "absent"],
    "mismatchLabelKeys": ["rev"],
}


def labelled(**spec: Any) -> dict[str, Any]:
    manifest = pod(**spec)
    manifest["metadata"]["labels"] = {"app": "web", "rev": "1"}
    return manifest


@pytest.mark.parametrize("name", ["podAffinity", "podAntiAffinity"])
def test_terms_select_pods_with_the_same_and_with_other_values(name: str) -> None:
    preferred = [{"weight": 1, "podAffinityTerm": TERM}]
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    both = {required: [TERM], "preferredDuringSchedulingIgnoredDuringExecution": preferred}
    found = admit(labelled(affinity={name: both})).object
    for term in terms_of(found):
        assert term.label_selector is not None
        assert term.label_selector.match_expressions == (IN, NOT_IN)


def test_constraints_select_pods_with_the_same_values() -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"x": "y"}},
        "matchLabelKeys": ["app"],
    }
    found = admit(labelled(topologySpreadConstraints=[constraint])).object
    selector = found.spec.topology_spread_constraints[0].label_selector
    assert (selector.match_labels, selector.match_expressions) == ({"x": "y"}, (IN,))


def test_without_a_selector_nothing_is_selected_with_label_keys_either() -> None:
    term = {key: value for key, value in TERM.items() if key != "labelSelector"}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    (found,) = terms_of(admit(labelled(affinity={"podAffinity": required})).object)
    assert found.label_selector is None


def test_pods_with_one_spec_and_other_labels_get_their_own_selectors() -> None:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}
    first, second = (labelled(affinity={"podAffinity": required}) for _ in range(2))
    second["metadata"]["labels"]["app"] = "api"
    admitting = admission()
    for manifest, value in ((first, "web"), (second, "api"), (first, "web")):
        (term,) = terms_of(admitting.admit(decoded(manifest)).object)
        assert term.label_selector is not None
        assert term.label_selector.match_expressions[0].values == (value,)


def terms_of(found: Pod) -> list[PodAffinityTerm]:
    affinity = found.spec.affinity
    assert affinity is not None
    sides = [each for each in (affinity.pod_affinity, affinity.pod_anti_affinity) if each is not None]
    return [term for side in sides for term in (*side.required, *(each.term for each in side.preferred))]
