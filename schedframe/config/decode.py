"""First stage: from a document (or Python values) to a KubeSchedulerConfiguration without defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import attrs
from attrs import evolve

from ..api.codec import json_names
from ..api.documents import Document
from .catalogue import Catalogue, CatalogueEntry
from .errors import ConfigDecodeError, FieldError, FieldErrorType
from .model import GROUP_VERSION, KIND, KubeSchedulerConfiguration, KubeSchedulerProfile, PluginConfig
from .source import read
from .structure import StructureError, structure, unstructure

_TYPE_META: Final = ("apiVersion", "kind")

Source = (
    str
    | Path
    | Mapping[str, Any]
    | KubeSchedulerConfiguration
    | KubeSchedulerProfile
    | Sequence[KubeSchedulerProfile]
    | None
)


def decode(source: Source, catalogue: Catalogue) -> tuple[KubeSchedulerConfiguration, Document]:
    """Read *source*; arguments of plugins that have a kind become instances of their args classes.

    Raises ConfigDecodeError with all errors.
    """
    if source is None:
        return KubeSchedulerConfiguration(), Document(None)
    if profiles := profiles_of(source):
        source = KubeSchedulerConfiguration(profiles=profiles)
    if isinstance(source, KubeSchedulerConfiguration):
        # Python does not check types, so values go through the same decoder as documents.
        document = Document(_with_type_meta(unstructure(source)))
    else:
        document = read(source)
    errors: list[FieldError] = []
    config = _structure(_body(document), document, errors)
    if config is not None:
        config = _decode_args(config, catalogue, errors)
    if errors or config is None:
        located = (evolve(e, location=e.location or document.locate(e.field)) for e in errors)
        raise ConfigDecodeError(located)
    return config, document


def profiles_of(source: Source) -> tuple[KubeSchedulerProfile, ...]:
    """Return the profiles of a source that consists of nothing else; none for any other source."""
    each = source if isinstance(source, list | tuple) else (source,)
    profiles = tuple(profile for profile in each if isinstance(profile, KubeSchedulerProfile))
    return profiles if len(profiles) == len(each) else ()


def _with_type_meta(data: Any) -> dict[str, Any]:
    return {"apiVersion": GROUP_VERSION, "kind": KIND, **data}


def _body(document: Document) -> dict[str, Any]:
    """Return the fields besides apiVersion and kind; ConfigDecodeError if these two are not supported."""
    data = document.value
    error: FieldError | None = None
    if data is None or data == {}:
        error = FieldError.required(
            "", f"the document is empty; start with apiVersion: {GROUP_VERSION}, kind: {KIND}"
        )
    elif not isinstance(data, Mapping):
        error = FieldError.wrong_type("", data, f"a {KIND}")
    elif not data.get("apiVersion"):
        error = FieldError.required("apiVersion", f"write {GROUP_VERSION}")
    elif not data.get("kind"):
        error = FieldError.required("kind", f"write {KIND}")
    elif data["kind"] == "ConfigMap":
        detail = f"expected a {KIND}; schedframe config migrate takes it out of a ConfigMap"
        error = FieldError.invalid("kind", "ConfigMap", detail)
    elif data["apiVersion"] != GROUP_VERSION:
        converter = "schedframe config migrate converts older versions and policies"
        detail = f"only {GROUP_VERSION} can be read; {converter}"
        error = FieldError.invalid("apiVersion", data["apiVersion"], detail)
    elif data["kind"] != KIND:
        error = FieldError.invalid("kind", data["kind"], f"expected a {KIND}")
    if error is not None:
        raise ConfigDecodeError([evolve(error, location=document.locate(error.field))])
    return {key: value for key, value in data.items() if key not in _TYPE_META}


def _structure(
    body: Mapping[str, Any], document: Document, errors: list[FieldError]
) -> KubeSchedulerConfiguration | None:
    try:
        return structure(body, KubeSchedulerConfiguration, "")
    except StructureError as error:
        errors.extend(error.errors)
        return None


def _decode_args(
    config: KubeSchedulerConfiguration, catalogue: Catalogue, errors: list[FieldError]
) -> KubeSchedulerConfiguration:
    profiles = []
    for i, profile in enumerate(config.profiles):
        decoded = []
        for j, plugin in enumerate(profile.plugin_config):
            entry = catalogue.get(plugin.name)
            args = plugin.args
            if entry is not None and entry.args_kind and entry.args_class is not None:
                args = _args_of_kind(args, entry, f"profiles[{i}].pluginConfig[{j}].args", errors)
            decoded.append(PluginConfig(plugin.name, args))
        profiles.append(evolve(profile, plugin_config=tuple(decoded)))
    return evolve(config, profiles=tuple(profiles))


def _args_of_kind(args: Any, entry: CatalogueEntry, path: str, errors: list[FieldError]) -> Any:
    """Structure arguments of the v1 API, in which apiVersion and kind are optional but must be right."""
    assert entry.args_class is not None
    if isinstance(args, Mapping):
        for key, expected in zip(_TYPE_META, (GROUP_VERSION, entry.args_kind), strict=True):
            if args.get(key) not in (None, "", expected):
                detail = f"arguments of {entry.name} are {GROUP_VERSION}, {entry.args_kind}; leave {key} out"
                errors.append(FieldError.invalid(f"{path}.{key}", args[key], detail))
    try:
        return structure_args(args, entry.args_class, path)
    except StructureError as error:
        errors.extend(error.errors)
        return None


def structure_args(args: Any, args_class: type[Any], path: str = "$") -> Any:
    """Structure arguments from JSON data (None: the defaults); an instance of the class is returned as it is.

    ``apiVersion`` and ``kind`` are ignored if the class has no such fields. Raises StructureError with the
    path of each problem (``$.resources[0].weight``).
    """
    if isinstance(args, args_class):
        return args
    if args is None:
        args = {}
    elif isinstance(args, Mapping):
        aside = set(_TYPE_META).difference(json_names(args_class).values())
        args = {key: value for key, value in args.items() if key not in aside}
    elif attrs.has(type(args)):
        detail = f"expected {args_class.__name__}, got {type(args).__name__}; use the args of the plugin"
        raise StructureError([FieldError(FieldErrorType.TYPE_INVALID, path, args, detail)])
    return structure(args, args_class, path)


def resolve_args(
    config: KubeSchedulerConfiguration, catalogue: Catalogue
) -> tuple[KubeSchedulerConfiguration, list[FieldError]]:
    """Structure the arguments of plugins that have an args class but no kind; also return the errors.

    The field of an error is its path in the document; the detail repeats the path within the arguments.
    """
    errors: list[FieldError] = []
    profiles = []
    for i, profile in enumerate(config.profiles):
        resolved = []
        for j, plugin in enumerate(profile.plugin_config):
            entry = catalogue.get(plugin.name)
            args = plugin.args
            if entry is not None and entry.args_class is not None and not entry.args_kind:
                path = f"profiles[{i}].pluginConfig[{j}].args"
                args = _args_without_kind(args, entry.args_class, path, errors)
            resolved.append(PluginConfig(plugin.name, args))
        profiles.append(evolve(profile, plugin_config=tuple(resolved)))
    return evolve(config, profiles=tuple(profiles)), errors


def _args_without_kind(args: Any, args_class: type[Any], path: str, errors: list[FieldError]) -> Any:
    try:
        return structure_args(args, args_class)
    except StructureError as error:
        for each in error.errors:
            detail = f"{each.field}: {each.detail}"
            errors.append(FieldError.invalid(path + each.field.removeprefix("$"), each.value, detail))
        return args


def suggestion(name: str, known: tuple[str, ...]) -> str:
    """Return ``; did you mean …?`` for a similar name, else an empty string."""
    close = get_close_matches(name, known, n=1, cutoff=0.82)
    return f'; did you mean "{close[0]}"?' if close else ""
