"""Feature gates: names, dependencies, and settings that cannot be honoured."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedframe.config.feature_gates import (
    FEATURE_GATES,
    NO_GATES,
    FeatureGates,
    GateStage,
    GateSupport,
)
from schedframe.config.other_feature_gates import OTHER_GATES
from schedframe.errors import InputError, InputErrors


def test_defaults_are_those_of_the_table() -> None:
    assert NO_GATES.enabled("DRADeviceTaints")
    assert not NO_GATES.enabled("GenericWorkload")
    with pytest.raises(KeyError):
        NO_GATES.enabled("NoSuchGate")


def test_a_missing_feature_is_off_even_if_its_default_is_on() -> None:
    missing = [each for each in FEATURE_GATES.values() if each.support is GateSupport.MISSING]
    assert any(each.default for each in missing)
    assert not any(NO_GATES.enabled(each.name) for each in missing)


def test_dependencies_name_gates_of_the_table() -> None:
    for gate in FEATURE_GATES.values():
        assert set(gate.depends_on) <= FEATURE_GATES.keys()
        assert gate.stage is not GateStage.ALPHA or not gate.default
    assert not OTHER_GATES & FEATURE_GATES.keys()


def test_text_is_read_as_kube_scheduler_reads_it() -> None:
    gates = FeatureGates.parse("kube:OpportunisticBatching=false, KubeletPSI=true,DRADeviceTaints=1,")
    assert gates.settings == {"OpportunisticBatching": False, "KubeletPSI": True, "DRADeviceTaints": True}
    assert gates.without_effect() == ("OpportunisticBatching", "KubeletPSI")


@pytest.mark.parametrize("text", ["DRADeviceTaints", "DRADeviceTaints=maybe", "=true", "DRADeviceTaints="])
def test_text_without_a_setting_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        FeatureGates.parse(text)


@pytest.mark.parametrize(
    ("name", "on", "reason"),
    [
        ("DRADeviceTaint", True, "did you mean DRADeviceTaints"),
        ("DRADeviceTaintRules", True, "does not have the feature"),
        ("DRADeviceTaints", False, "cannot switch the feature off"),
        ("DynamicResourceAllocation", False, "locked to true"),
        ("AllAlpha", True, "DRAListTypeAttributes"),
        ("AllBeta", False, "cannot switch off DRAConsumableCapacity"),
    ],
)
def test_a_setting_that_cannot_be_honoured_is_refused(name: str, on: bool, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        FeatureGates.of({name: on})


def test_all_refusals_are_reported_at_once() -> None:
    with pytest.raises(InputErrors) as caught:
        FeatureGates.of({"Nonsense": True, "DynamicResourceAllocation": False})
    assert [each.path for each in caught.value.errors] == ["Nonsense", "DynamicResourceAllocation"]


def test_a_gate_needs_the_gates_it_depends_on() -> None:
    with pytest.raises(InputError, match="depends on GenericWorkload"):
        FeatureGates.of({"GangScheduling": True})
    gates = FeatureGates.of({"GangScheduling": True, "GenericWorkload": True})
    assert gates.enabled("GangScheduling")


def test_gates_are_accepted_in_each_form() -> None:
    gates = FeatureGates.of({"OpportunisticBatching": False})
    assert FeatureGates.of(gates) is gates
    assert FeatureGates.of(None) == NO_GATES


def test_the_reference_lists_every_gate_under_its_support() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/feature-gates.md").read_text(encoding="utf-8")
    sections = dict(zip(GateSupport, page.split("\n## ")[1:], strict=True))
    for gate in FEATURE_GATES.values():
        locked = ", locked" if gate.locked else ""
        depends = ", ".join(f"`{name}`" for name in gate.depends_on)
        row = f"| `{gate.name}` | {gate.stage.value}{locked} | {str(gate.default).lower()} | {depends} |"
        assert row in sections[gate.support]
