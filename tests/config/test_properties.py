"""Properties of all configurations: writing and reading, defaulting, expansion, wrong types."""

from __future__ import annotations

import contextlib
import json
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from schedframe.api.yaml_writer import to_yaml
from schedframe.config import POINTS, Plugin, Plugins, PluginSet, dump_config, load_config
from schedframe.config.build import expand
from schedframe.config.defaults import apply_defaults, default_plugins, merge_plugin_set
from schedframe.config.model import ATTRIBUTES, GROUP_VERSION, KIND, KubeSchedulerConfiguration
from schedframe.config.source import read
from schedframe.config.structure import structure, unstructure
from schedframe.errors import ConfigError
from tests.profiles import many

from .mutations import FULL_DOCUMENT, mutated
from .strategies import CATALOGUE, NAMES, configurations, json_values, plugin_sets, plugins


@given(configurations())
def test_structure_undoes_unstructure(config: KubeSchedulerConfiguration) -> None:
    assert structure(unstructure(config), KubeSchedulerConfiguration, "") == config


@given(configurations())
def test_what_is_written_reads_back_the_same(config: KubeSchedulerConfiguration) -> None:
    effective = load_config(config, catalogue=CATALOGUE)
    assert load_config(dump_config(effective), catalogue=CATALOGUE) == effective
    assert load_config(effective.to_manifest(), catalogue=CATALOGUE) == effective
    assert load_config(effective.config, catalogue=CATALOGUE) == effective


@given(configurations())
def test_python_values_yaml_and_json_mean_the_same(config: KubeSchedulerConfiguration) -> None:
    effective = load_config(config, catalogue=CATALOGUE)
    # Written without defaults, args as plain data.
    manifest = {"apiVersion": GROUP_VERSION, "kind": KIND, **unstructure(config)}
    for profile in manifest.get("profiles", []):
        for plugin in profile.get("pluginConfig", []):
            if "args" in plugin:
                plugin["args"] = effective.args_manifest(plugin["name"], plugin["args"])
    assert load_config(json.dumps(manifest), catalogue=CATALOGUE) == effective
    assert load_config(to_yaml(manifest), catalogue=CATALOGUE) == effective


@given(configurations())
def test_defaulting_twice_changes_nothing(config: KubeSchedulerConfiguration) -> None:
    once = apply_defaults(config, CATALOGUE)
    assert apply_defaults(once, CATALOGUE) == once


@given(plugin_sets(NAMES))
def test_merging_keeps_every_enabled_plugin_and_no_disabled_default(given_set: PluginSet) -> None:
    merged = merge_plugin_set(default_plugins(CATALOGUE), given_set)
    enabled = {plugin.name for plugin in given_set.enabled}
    disabled = {plugin.name for plugin in given_set.disabled}
    names = [plugin.name for plugin in merged.enabled]
    defaults = [plugin.name for plugin in default_plugins(CATALOGUE)]
    survivors = [] if "*" in disabled else [name for name in defaults if name not in disabled]
    assert names == survivors + [plugin.name for plugin in given_set.enabled if plugin.name not in survivors]
    assert set(given_set.enabled) <= set(merged.enabled)
    assert not (disabled - enabled) & set(names)


def _naive(plugins: Plugins, point: str) -> list[str]:
    """The documented rule, one plugin at a time."""
    own = [plugin.name for plugin in plugins.at(point).enabled]
    disabled = [plugin.name for plugin in plugins.at(point).disabled]
    multi = [plugin.name for plugin in plugins.multi_point.enabled]
    if "*" in disabled:
        return own

    def implements(name: str) -> bool:
        entry = CATALOGUE.get(name)
        return entry is not None and point in entry.points

    spread = [name for name in multi if implements(name) and name not in disabled]
    order = {}
    for name in {*own, *spread}:
        part = 0 if name in own and name in spread else 1 if name in spread else 2
        order[name] = (part, (multi if part == 1 else own).index(name))
    return sorted(order, key=lambda name: order[name])


@given(plugins(), plugin_sets(NAMES), st.sampled_from(POINTS))
def test_expansion_is_that_of_the_naive_model(given_plugins: Plugins, multi: PluginSet, point: str) -> None:
    lists = {ATTRIBUTES[name]: given_plugins.at(name) for name in POINTS}
    merged = Plugins(**lists, multi_point=merge_plugin_set(default_plugins(CATALOGUE), multi))
    assert list(expand(merged, point, CATALOGUE)) == _naive(merged, point)


@given(configurations())
def test_effective_plugins_implement_their_points(config: KubeSchedulerConfiguration) -> None:
    for profile in load_config(config, catalogue=CATALOGUE).profiles:
        for point, enabled in profile.plugins.items():
            assert enabled
            for plugin in enabled:
                entry = CATALOGUE.get(plugin.name)
                assert entry is not None
                assert point in entry.points
                assert (plugin.weight > 0) == (point in ("score", "placementScore"))
            assert len({plugin.name for plugin in enabled}) == len(enabled)
        assert {plugin.name for enabled in profile.plugins.values() for plugin in enabled} <= set(
            profile.names
        )


@given(json_values.map(lambda value: {"value": value}))
def test_yaml_written_is_yaml_read(data: dict[str, object]) -> None:
    assert read(to_yaml(data)).value == data
    assert read(json.dumps(data)).value == data


@many
@given(st.randoms(use_true_random=False))
def test_wrong_types_are_refused_with_their_paths(random: Random) -> None:
    document = mutated(FULL_DOCUMENT, random)
    with contextlib.suppress(ConfigError):  # any other exception is the loader's mistake
        load_config(document)


@given(st.randoms(use_true_random=False), st.text(max_size=3))
def test_broken_text_is_refused(random: Random, inserted: str) -> None:
    text = to_yaml(FULL_DOCUMENT)
    position = random.randrange(len(text))
    with contextlib.suppress(ConfigError):
        load_config(text[:position] + inserted + text[position + random.randrange(3) :])


def test_the_mutated_document_is_valid() -> None:
    load_config(FULL_DOCUMENT)


def test_a_default_plugin_that_is_enabled_again_loses_its_default_weight() -> None:
    merged = merge_plugin_set(default_plugins(CATALOGUE), PluginSet((Plugin("Fit"),)))
    assert Plugin("Fit") in merged.enabled
