"""From a source to the effective configuration, in three stages. The first stage with errors raises them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from typing import Final

from attrs import evolve

from .._base.checked import checked_except
from .build import build
from .catalogue import Catalogue, CatalogueEntry, installed_catalogue
from .decode import Source, decode, profiles_of, resolve_args
from .defaults import apply_defaults
from .effective import EffectiveConfig
from .errors import ConfigBuildError, ConfigValidationError, FieldError
from .feature_gates import FeatureGates
from .gated_args import apply_gates
from .model import KubeSchedulerConfiguration
from .passed import PassedPlugin, enable_passed
from .profile import unknown_disabled
from .validation import validate

_MULTI_POINT: Final = re.compile(r"profiles\[(\d+)\]\.plugins\.multiPoint\.enabled")

ConfigSource = Source | EffectiveConfig
"""What a scheduler takes as its configuration; ``None`` is the default one."""


@checked_except("source", "feature_gates")
def load_config(
    source: Source = None,
    *,
    catalogue: Catalogue | None = None,
    out_of_tree: Iterable[CatalogueEntry] = (),
    passed: Iterable[PassedPlugin] = (),
    feature_gates: FeatureGates | Mapping[str, bool] | None = None,
    read_files: bool = True,
) -> EffectiveConfig:
    """Read, default and check a configuration.

    :param source: YAML or JSON text, a file, a document as a dict, a :class:`KubeSchedulerConfiguration`, a
        :class:`Profile`, a list or tuple of profiles, or None for the default configuration. Of several YAML
        documents the first is read.
    :param catalogue: the plugins there are; by default those of all installed distributions.
    :param out_of_tree: further plugins; PluginError if one has a name that is taken.
    :param passed: plugins to enable in every profile, if no profile names them. PluginError if one is passed
        with a weight and named too.
    :param read_files: False: the certificates that extenders name need not be on this machine.
    :param feature_gates: by name, see :class:`FeatureGates`; they add plugins to the default profile.

    Raises ConfigDecodeError, ConfigValidationError or ConfigBuildError, each with all errors of its stage.
    """
    plugins = (installed_catalogue() if catalogue is None else catalogue).extended(out_of_tree)
    config, document = decode(source, plugins)
    given = config
    for message in unknown_disabled(profiles_of(source), plugins):
        warnings.warn(message, stacklevel=2)
    gates = FeatureGates.of(feature_gates)
    config, errors = resolve_args(apply_defaults(enable_passed(config, passed), plugins, gates), plugins)
    config, problems = apply_gates(config, plugins, gates)
    errors.extend((*validate(config, plugins), *problems))
    if errors:
        raise ConfigValidationError(evolve(error, location=document.locate(error.field)) for error in errors)
    try:
        return evolve(build(config, plugins, read_files=read_files), feature_gates=gates)
    except ConfigBuildError as error:
        indexed = [_with_index(each, given) for each in error.errors]
        raise ConfigBuildError(evolve(e, location=document.locate(e.field)) for e in indexed) from None


def _with_index(error: FieldError, given: KubeSchedulerConfiguration) -> FieldError:
    """Return an error about a plugin of multiPoint with its index in the list as given, without defaults."""
    match = _MULTI_POINT.fullmatch(error.field)
    if match is None or int(match[1]) >= len(given.profiles):
        return error
    plugins = given.profiles[int(match[1])].plugins
    names = [plugin.name for plugin in plugins.multi_point.enabled] if plugins is not None else []
    if error.value not in names:
        return error
    last = max(index for index, name in enumerate(names) if name == error.value)
    return evolve(error, field=f"{error.field}[{last}]")
