"""One case of the configuration family: what the reference makes of a configuration file."""

from __future__ import annotations

from typing import Any

from schedframe.config import CatalogueEntry, EffectiveConfig, EffectiveProfile, load_config
from schedframe.errors import ConfigError

from .difference import differences

OUT_OF_TREE = (
    CatalogueEntry("OutScore", ("score",)),
    CatalogueEntry("OutFilter", ("filter",)),
    CatalogueEntry("OutSort", ("queueSort",)),
    CatalogueEntry("OutBind", ("bind",)),
    CatalogueEntry(
        "OutMulti",
        (
            "preEnqueue",
            "preFilter",
            "filter",
            "preScore",
            "score",
            "reserve",
            "permit",
            "preBind",
            "postBind",
        ),
    ),
)
"""Plugins that the cases use besides the builtin ones."""

_VERBS = {
    "filter": "filter_verb",
    "prioritize": "prioritize_verb",
    "bind": "bind_verb",
    "preempt": "preempt_verb",
}


def compare(case: dict[str, Any]) -> list[str]:
    """Differences between what is expected of a case and what comes out; none if it conforms."""
    expected = case["expected"]
    try:
        config = load_config(case["yaml"], out_of_tree=OUT_OF_TREE)
    except ConfigError as error:
        return _compare_refusal(expected, error)
    if not expected["ok"]:
        return [f"accepted, but refused at {expected['stage']}: {expected['errors']}"]
    return [
        *_compare_config(expected["config"], config.to_manifest()),
        *_compare_profiles(expected["profiles"], config),
        *_difference("extenders", expected["extenders"], _extenders(config)),
    ]


def _compare_refusal(expected: dict[str, Any], error: ConfigError) -> list[str]:
    if expected["ok"]:
        return [f"refused: {error}"]
    stage = getattr(error, "stage", "")
    if stage != expected["stage"]:
        return [f"refused at {stage}, not at {expected['stage']}: {error}"]
    if stage != "validate":
        return []
    wanted = {(each["type"], each["field"]) for each in expected["error_fields"]}
    found = {(each.type.value, each.field) for each in getattr(error, "errors", ())}
    return _difference("error_fields", [*map(list, sorted(wanted))], [*map(list, sorted(found))])


def _difference(what: str, expected: Any, found: Any) -> list[str]:
    return list(differences(what, expected, found))


def _pruned(value: Any) -> Any:
    """JSON without members that are null or empty lists: absent is as good."""
    if isinstance(value, dict):
        return {key: _pruned(item) for key, item in value.items() if item is not None and item != []}
    return [_pruned(item) for item in value] if isinstance(value, list) else value


def _compare_config(expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    own = {key: value for key, value in found.items() if key != "profiles"}
    return _difference("config", _pruned(expected), _pruned(own))


def _plugins(profile: EffectiveProfile) -> dict[str, list[dict[str, Any]]]:
    return {
        point: [
            {"name": p.name, "weight": p.weight} if point == "score" else {"name": p.name} for p in plugins
        ]
        for point, plugins in profile.plugins.items()
    }


def _compare_profiles(expected: list[dict[str, Any]], config: EffectiveConfig) -> list[str]:
    if len(expected) != len(config.profiles):
        return [f"profiles: expected {len(expected)}, got {len(config.profiles)}"]
    differences = []
    for index, (reference, profile) in enumerate(zip(expected, config.profiles, strict=True)):
        found = {
            "schedulerName": profile.scheduler_name,
            "percentageOfNodesToScore": profile.percentage_of_nodes_to_score,
            "plugins": _plugins(profile),
            "pluginConfig": {
                n: _pruned(config.args_manifest(n, a)) for n, a in profile.plugin_config.items()
            },
            "pluginConfigUsed": sorted(profile.plugin_args),
        }
        config_of = reference["pluginConfig"]
        wanted = {**reference, "pluginConfig": {n: _pruned(a) for n, a in config_of.items()}}
        for key, value in found.items():
            differences += _difference(f"profiles[{index}].{key}", wanted[key], value)
    return differences


def _extenders(config: EffectiveConfig) -> list[dict[str, Any]]:
    return [
        {
            "name": extender.url_prefix,
            "ignorable": extender.ignorable,
            **{verb: bool(getattr(extender, attribute)) for verb, attribute in _VERBS.items()},
        }
        for extender in config.extenders
    ]
