"""CEL over devices: the environment of selectors, and what happens without a library."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from plugins_builtin.dynamic_resources.cel import selector as cel
from plugins_builtin.dynamic_resources.cel.domains import Rewritten, rewritten
from plugins_builtin.dynamic_resources.cel.selector import (
    CelDevice,
    CelError,
    CelMissingError,
    compile_selector,
)
from schedframe.api import DeviceAttribute, DeviceCapacity, parse_quantity

DEVICE = CelDevice.of(
    "gpu.example.com",
    False,
    {
        "model": DeviceAttribute(string_value="a100"),
        "index": DeviceAttribute(int_value=1),
        "ecc": DeviceAttribute(bool_value=True),
        "driver": DeviceAttribute(version_value="1.5.1-rc.2+build7"),
        "other.example.com/model": DeviceAttribute(string_value="x"),
    },
    {"memory": DeviceCapacity(parse_quantity("40Gi"))},
)
GPU = "device.attributes['gpu.example.com']"
MEMORY = "device.capacity['gpu.example.com'].memory"


@pytest.mark.parametrize(
    "expression",
    [
        "device.driver == 'gpu.example.com' && !device.allowMultipleAllocations",
        f"{GPU}.model.startsWith('a') && {GPU}.ecc && {GPU}.index < 2",
        "device.attributes['other.example.com'].model == 'x'",
        f"{MEMORY}.compareTo(quantity('40960Mi')) == 0",
        f"{MEMORY} == quantity('40960Mi')",
        f"{MEMORY}.isGreaterThan(quantity('20Gi')) && {MEMORY}.isLessThan(quantity('1Ti'))",
        f"{MEMORY}.sub(quantity('39Gi')).add(1).asInteger() == 1073741825",
        "quantity('1').add(quantity('500m')).asApproximateFloat() == 1.5 && quantity('-1').sign() == -1",
        "isQuantity('1Gi') && !isQuantity('1 Gi') && !quantity('1500m').isInteger()",
        f"{GPU}.driver.isGreaterThan(semver('1.5.1-rc.1')) && {GPU}.driver.isLessThan(semver('1.5.1'))",
        f"{GPU}.driver.major() == 1 && {GPU}.driver.minor() == 5 && {GPU}.driver.patch() == 1",
        "semver('v1.5', true) == semver('1.5.0') && isSemver('1.0.0') && !isSemver('01.0.0')",
        "semver('1.0.0+a') == semver('1.0.0+b')",
        f"cel.bind(gpu, {GPU}, gpu.ecc && gpu.model == 'a100')",
        f"{GPU}.?nosuch.orValue('none') == 'none' && {GPU}.?model.orValue('none') == 'a100'",
        "device.attributes['absent.example.com'].?model.orValue('none') == 'none'",
        "!has(device.attributes['absent.example.com'].model)",
        "!('absent.example.com' in device.attributes)",
        "device.attributes[?'absent.example.com'].hasValue() && device.attributes.?absent.hasValue()",
        "!device.attributes[?'absent.example.com'].?model.hasValue()",
        "device.attributes['absent.example.com'].size() == 0 && !('absent.example.com' in device.attributes)",
        "has(device.attributes.absent) && !has(device.attributes.absent.model)",
        'device . attributes [ ? """absent""" ] .hasValue() // device.attributes[\'commented\']',
        "!('n' in device.capacity) && device.capacity[r'n'] == {} && 'device.attributes[0]' != ''",
        "['a', 'b'].all(name, device.attributes[name].?x.orValue(0) == 0 && !(name in device.attributes))",
        "cel.bind(all, device.attributes, !has(all['absent.example.com'].model) && all.size() >= 2)",
        "device.attributes.exists(domain, domain == 'gpu.example.com') && device.attributes.size() == 2",
        "{'device': {'attributes': {'x': 1}}}.device.attributes.x == 1",
        f"'model' in {GPU} && !('nosuch' in {GPU})",
        f"{GPU}.nosuch == 1 || true",
        f"{GPU}.model.matches('^a[0-9]+$') && {GPU}.model.find('[0-9]+') == '100'",
        f"{GPU}.model.upperAscii() == 'A100' && ['a100', 'h100'].exists(m, m == {GPU}.model)",
    ],
)
def test_holds(expression: str) -> None:
    assert compile_selector(expression).matches(DEVICE) is True


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        (f"{GPU}.nosuch == 1", "nosuch"),
        ("device.attributes['absent.example.com'].model == 'x'", "model"),
        (f"{GPU}.index / 0 == 1", "zero"),
        (f"{GPU}.model.isGreaterThan(semver('1.0.0'))", "overload"),
        (f"{MEMORY}.isGreaterThan(semver('1.0.0'))", "quantity"),
        ("semver('1.0.0').compareTo(quantity('1')) == 0", "semantic version"),
        (f"{GPU}.model", "BOOL"),
        ("quantity('x').isInteger()", "quantity"),
        ("semver('1.0') == semver('1.0.0')", "semantic version"),
    ],
)
def test_fails_at_run_time(expression: str, problem: str) -> None:
    with pytest.raises(CelError, match=problem):
        compile_selector(expression).matches(DEVICE)


@pytest.mark.parametrize(
    ("text", "changed", "domains"),
    [
        ("device.attributes['a']", "device.attributes_or_empty['a']", {("attributes", "a")}),
        ("device.capacity[?'a']", "device.capacity_or_empty[?'a']", {("capacity", "a")}),
        ("device.capacity.?a.b", "device.capacity_or_empty.?a.b", {("capacity", "a")}),
        ("device.attributes[a + 'b']", "device.attributes_or_empty[a + 'b']", set()),
        ("device.attributes[b'a']", "device.attributes_or_empty[b'a']", set()),
        (r"device.attributes['\x61']", r"device.attributes_or_empty['\x61']", set()),
        ("device.attributes.all(a, true)", None, set()),
        ("'a' in device.attributes", None, set()),
        ("my.device.attributes['a']", None, set()),
        ("'device.attributes[\"a\"]'", None, set()),
    ],
)
def test_look_ups_of_domains_read_the_second_maps(text: str, changed: str | None, domains: set[Any]) -> None:
    assert rewritten(text) == Rewritten(changed or text, frozenset(domains))


def test_is_not_valid() -> None:
    with pytest.raises(CelError, match="compile"):
        compile_selector("device.driver ==")


def test_an_attribute_without_a_value_is_an_error() -> None:
    with pytest.raises(CelError, match="unsupported attribute value"):
        CelDevice.of("d", False, {"a": DeviceAttribute()}, {})
    with pytest.raises(CelError, match=r"attribute a: '1\.0' is not a semantic version"):
        CelDevice.of("d", False, {"a": DeviceAttribute(version_value="1.0")}, {})


def test_without_a_library_only_selectors_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cel_expr_python", None)
    cel._environment.cache_clear()
    try:
        with pytest.raises(CelMissingError, match=r"install schedframe\[dra\]"):
            compile_selector("device.driver == 'not compiled before'")
    finally:
        cel._environment.cache_clear()


def test_importing_the_plugin_does_not_load_the_library() -> None:
    code = "import plugins_builtin.dynamic_resources, sys; assert 'cel_expr_python' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
