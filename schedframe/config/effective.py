"""The effective configuration: defaulted, validated and expanded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import attrs
from attrs import field

from .._base.checked import checked
from .._base.value import record
from ..api.yaml_writer import to_yaml
from .catalogue import Catalogue
from .feature_gates import NO_GATES, FeatureGates
from .model import GROUP_VERSION, KIND, Extender, KubeSchedulerConfiguration
from .structure import unstructure


class EnabledPlugin(NamedTuple):
    """A plugin at an extension point; ``weight`` counts where scores are given, elsewhere it is 0."""

    name: str
    weight: int


@record(frozen=True)
class EffectiveProfile:
    """One profile, ready to be instantiated.

    ``plugins``: extension point → plugins in the order in which they run; points without plugins are absent.
    ``plugin_config``: arguments of all plugins that are enabled or configured, None where there are none.
    ``names``: the plugins to instantiate, sorted. ``percentage_of_nodes_to_score`` None means the
    scheduler's. ``run_all_filters``: see :class:`.KubeSchedulerProfile`.
    """

    scheduler_name: str
    percentage_of_nodes_to_score: int | None
    plugins: Mapping[str, tuple[EnabledPlugin, ...]]
    plugin_config: Mapping[str, Any]
    names: tuple[str, ...]
    run_all_filters: bool = False

    @property
    def plugin_args(self) -> dict[str, Any]:
        """Return the arguments of the plugins to instantiate, without plugins that have none."""
        args = ((name, self.plugin_config.get(name)) for name in self.names)
        return {name: value for name, value in args if value is not None}

    @property
    def queue_sort(self) -> str:
        """Return the plugin that sorts the queue."""
        return self.plugins["queueSort"][0].name


@record(frozen=True)
class EffectiveConfig:
    """The configuration of a scheduler after decoding, defaulting, validation and expansion.

    ``config`` is the document with all defaults, ``profiles`` are expanded, and ``extenders`` are in the
    order in which they are called.
    """

    config: KubeSchedulerConfiguration
    profiles: tuple[EffectiveProfile, ...]
    extenders: tuple[Extender, ...]
    _catalogue: Catalogue = field(eq=False, repr=False)
    feature_gates: FeatureGates = field(default=NO_GATES, kw_only=True)

    @property
    def parallelism(self) -> int:
        """Return the degree of parallelism."""
        return self.config.parallelism or 0

    @property
    def percentage_of_nodes_to_score(self) -> int:
        """Return the value for profiles that do not set it; 0 means by the size of the cluster."""
        return self.config.percentage_of_nodes_to_score or 0

    @property
    def pod_initial_backoff_seconds(self) -> int:
        """Return the backoff after the first failure of a pod."""
        return self.config.pod_initial_backoff_seconds or 0

    @property
    def pod_max_backoff_seconds(self) -> int:
        """Return the longest backoff of a pod."""
        return self.config.pod_max_backoff_seconds or 0

    def profile(self, scheduler_name: str) -> EffectiveProfile | None:
        """Return the profile of that ``spec.schedulerName``, None for pods of other schedulers."""
        return next((profile for profile in self.profiles if profile.scheduler_name == scheduler_name), None)

    def args_manifest(self, name: str, args: Any) -> Any:
        """Return the arguments of the plugin *name* in the form of a document."""
        if not attrs.has(type(args)):
            return args
        entry = self._catalogue.get(name)
        type_meta = (
            {"apiVersion": GROUP_VERSION, "kind": entry.args_kind} if entry and entry.args_kind else {}
        )
        return {**type_meta, **unstructure(args)}

    def to_manifest(self) -> dict[str, Any]:
        """Return the document; loading it with the same plugins gives an equal configuration."""
        data: dict[str, Any] = {"apiVersion": GROUP_VERSION, "kind": KIND, **unstructure(self.config)}
        for profile in data["profiles"]:
            for plugin in profile.get("pluginConfig", ()):
                if "args" in plugin:
                    plugin["args"] = self.args_manifest(plugin["name"], plugin["args"])
        return data


@checked
def dump_config(config: EffectiveConfig) -> str:
    """Return the effective configuration as YAML text, for files and logs."""
    return f"{to_yaml(config.to_manifest())}\n"
