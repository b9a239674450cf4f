"""One walk over a manifest, derived from the published fields and the rules.

A check returns ``None`` or errors with their paths from there, so a right manifest costs no paths. Null is
right everywhere. O(size of the manifest).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache, partial
from typing import Any, Final, NamedTuple

from ...errors import InputError
from .._text import did_you_mean, meant
from ..metadata import ClusterObject
from ..times import parse_time
from ..valuecodecs import Codec, at_key, decode_bool, decode_integer, decode_text, describe, list_of, map_of
from . import rules
from .cluster_fields import CLUSTER_NAMES
from .pod_fields import NAMES as POD_NAMES
from .published import OBJECT_META, published_name, published_types
from .whole import ADMITTED_CHECKS, CHECKS, CHECKS_AFTER, REQUIRED_CHECKS, SEEN_AS, CheckAfter, WholeCheck
from .whole.resources import check_requested

NAMES: Final = {**POD_NAMES, **CLUSTER_NAMES}
"""Field → whether it is a DNS label (or else a DNS subdomain), and whether an empty text is absence."""

Errors = list[InputError] | None
Check = Callable[[Any], Errors]


class _Member(NamedTuple):
    """A value of exactly the type ``expected`` needs only ``inner``; others go through ``otherwise``."""

    expected: type | None
    inner: Check | None
    otherwise: Check


class _Mode(NamedTuple):
    """Checks besides those of types: missing fields, rules over several fields, what admission could mend."""

    required: bool
    whole: bool
    admitted: bool


def problems_of(
    manifest: Mapping[str, Any],
    cls: type[ClusterObject],
    *,
    required: bool = False,
    admitted: bool = False,
) -> list[InputError]:
    """Return what the API server would refuse in the manifest of a *cls*, in the order of the manifest.

    Fields that are missing count if *required*. Of a kind that Kubernetes does not publish, only the metadata
    is checked. Objects that a cluster has written have been accepted by it: rules over several fields, which
    may be newer than the object, are not for them. *admitted*: the object has passed admission, so that what
    a LimitRange could have added is missing for good.
    """
    version = manifest.get("apiVersion")
    name = published_name(cls, version if isinstance(version, str) else "")
    metadata = manifest.get("metadata")
    found = _root(name, required, not _is_dumped(metadata), admitted)(manifest) or []
    if isinstance(metadata, Mapping) or metadata is None:
        found += [
            error.at("metadata")
            for error in _name_problems(metadata or {}, cls, required)
            if not _is_misspelt(error.path, found)
        ]
    return found


def _is_dumped(metadata: Any) -> bool:
    """Return whether a cluster has written an object with that metadata."""
    if type(metadata) is not dict and not isinstance(metadata, Mapping):  # the type first: it is nearly all
        return False
    return bool(metadata.get("uid") and metadata.get("resourceVersion"))


def _is_misspelt(key: str, found: Iterable[InputError]) -> bool:
    """Return whether a field is missing because its name is misspelt, which is among the errors *found*."""
    question = did_you_mean(key)
    return any(error.fix == question for error in found)


@cache
def _root(name: str, required: bool, whole: bool, admitted: bool) -> Check:
    mode = _Mode(required, whole, admitted)
    if name in published_types():
        return _struct(name, mode)
    return _struct_check({"metadata": _member(OBJECT_META, "", mode)}, is_open=True)


def _name_problems(metadata: Mapping[str, Any], cls: type[ClusterObject], required: bool) -> list[InputError]:
    label = cls.KIND in rules.LABEL_NAMED
    found = []
    if required and not metadata.get("name") and not metadata.get("generateName"):
        found.append(InputError("name", f"a {cls.KIND} has no name", "give it one, or a generateName"))
    for key, is_label in (("name", label), ("generateName", label), ("namespace", True)):
        text = metadata.get(key)
        if isinstance(text, str) and text:
            # a random end follows a generateName
            whole = f"{text[:50]}x" if key == "generateName" else text
            error = rules.check_name(whole, label=is_label)
            if error is not None:
                found.append(error.at(key))
    return found


@cache
def _struct(name: str, mode: _Mode) -> Check:
    """Return the check of a type with fixed fields."""
    fields = published_types()[name]
    members = {key: _member(code, f"{name}.{key}", mode) for key, code in fields.items()}
    check, keys = _struct_check(members), rules.REQUIRED.get(name, ())
    if mode.required and keys:
        check = _with_required(check, keys)
    if not mode.whole:
        return check
    registries = ((CHECKS, True), (REQUIRED_CHECKS, mode.required), (ADMITTED_CHECKS, mode.admitted))
    for registry, is_made in registries:
        if is_made and name in registry:
            check = _with_whole(check, registry[name])
    if name in CHECKS_AFTER:
        check = _with_after(check, CHECKS_AFTER[name])
    return _as_seen(check, SEEN_AS[name]) if name in SEEN_AS else check


def _as_seen(check: Check, seen_as: Callable[[Any], Any]) -> Check:
    return lambda value: check(seen_as(value))


def _with_whole(check: Check, whole: WholeCheck) -> Check:
    def check_all(value: Any) -> Errors:
        found = check(value)
        over_fields = whole(value)
        if not over_fields or (found and _is_undecoded(found)):
            return found
        return [*(found or ()), *over_fields]

    return check_all


def _is_undecoded(found: Iterable[InputError]) -> bool:
    """Return whether there is an unknown field among *found*: the API server validates no such object.

    What is wrong over several fields follows most often from the one that is misspelt.
    """
    return any(error.problem == _UNKNOWN for error in found)


def _with_after(check: Check, after: CheckAfter) -> Check:
    def check_all(value: Any) -> Errors:
        found = check(value) or []
        over_parts = after(value, found)
        return [*found, *over_parts] if over_parts and not _is_undecoded(found) else found

    return check_all


_UNKNOWN: Final = "Kubernetes has no such field here"
_EMPTY: Final[tuple[Any, ...]] = (None, "", [])


def _with_required(check: Check, keys: tuple[str, ...]) -> Check:
    own = tuple(key for key in keys if "." not in key)
    below = tuple(key for key in keys if "." in key)

    def lacks(value: Any) -> bool:
        get = value.get
        for key in own:
            if not get(key) and get(key) in _EMPTY:
                return True
        return bool(below) and any(_is_missing(value, path) for path in below)

    def check_all(value: Any) -> Errors:
        found = check(value)
        if not lacks(value):
            return found
        missing: list[str] = []
        for path in keys:
            # of a part that is missing, nothing else is
            if path.startswith(tuple(f"{other}." for other in missing)) or not _is_missing(value, path):
                continue
            missing.append(path)
            if not any(_is_misspelt(key, found or ()) for key in path.split(".")):
                found = [*(found or ()), rules.check_required(path)]
        return found

    return check_all


def _is_missing(value: Any, path: str) -> bool:
    """Return whether nothing is at *path*; something of a wrong type on the way is another error."""
    for key in path.split("."):
        if not isinstance(value, Mapping):
            return False
        value = value.get(key)
        if value in _EMPTY:
            return True
    return False


def _struct_check(members: dict[str, _Member], *, is_open: bool = False) -> Check:
    find = members.get

    def check(value: Any) -> Errors:
        found: list[InputError] = []
        for key, entry in value.items():
            member = find(key)
            if member is None:
                if not is_open:
                    found.append(_unknown(key, members))
                continue
            below = _below(member, entry)
            if below:
                found += [error.at(key) for error in below]
        return found

    return check


def _below(member: _Member, entry: Any) -> Errors:
    """Return the errors of a value of an object; null is a value that is left out."""
    expected, inner, otherwise = member
    if type(entry) is expected:
        return None if inner is None else inner(entry)
    return None if entry is None else otherwise(entry)


def _unknown(key: Any, members: Mapping[str, Any]) -> InputError:
    similar = meant(key, tuple(members)) if isinstance(key, str) else ""
    fix = similar or "remove it, or move it to where it belongs"
    return at_key(InputError("", _UNKNOWN, fix), key)


_SCALARS: Final[Mapping[str, tuple[type, Callable[[Any], Any]]]] = {
    "s": (str, decode_text),
    "n": (int, decode_integer),
    "b": (bool, decode_bool),
    "t": (str, parse_time),
}
_decode_list: Final = list_of(Codec(None, lambda value: value, None)).decode
_decode_map: Final = map_of(Codec(None, lambda value: value, None)).decode


def _member(code: str, field: str, mode: _Mode) -> _Member:
    """Return the check of a value with that code; *field* is ``type.field``, by which rules are found."""
    if code == "a":
        return _Member(None, None, _anything)
    if code[0] == "[":
        items = _items(_member(code[1:], field, mode))
        return _Member(list, items, partial(_converted, _decode_list, items))
    if code[0] == "{":
        entries = _entries(_member(code[1:], "", mode), _entries_check(field))
        return _Member(dict, entries, partial(_converted, _decode_map, entries))
    if code in _SCALARS:
        expected, decode = _SCALARS[code]
        inner = _rule(field)
        return _Member(expected, inner, partial(_converted, decode, inner))
    # A type that holds itself: its check is made once it is complete.
    is_own = field.rpartition(".")[0] == code
    struct = partial(_check_later, code, mode) if is_own else _struct(code, mode)
    return _Member(dict, struct, partial(_as_object, struct))


def _check_later(name: str, mode: _Mode, value: Any) -> Errors:
    return _struct(name, mode)(value)


def _rule(field: str) -> Check | None:
    values, limits = rules.VALUES.get(field), rules.RANGES.get(field)
    if values is not None:
        return lambda value: _one(rules.check_value(value, values))
    if limits is not None:
        return lambda value: _one(rules.check_range(value, limits))
    if field in NAMES:
        return _name_check(*NAMES[field])
    if field in rules.LABEL_KEYS:
        return lambda value: _one(rules.check_label_key(value))
    if field in rules.LABEL_VALUES:
        return lambda value: _one(rules.check_label_value(value))
    return None


@cache
def _name_check(is_label: bool, may_be_empty: bool) -> Check:
    @lru_cache(maxsize=4096)
    def check(name: str) -> Errors:
        return None if may_be_empty and not name else _one(rules.check_name(name, label=is_label))

    return check


def _one(error: InputError | None) -> Errors:
    return None if error is None else [error]


def _entries_check(field: str) -> Callable[[Mapping[str, Any]], list[InputError]] | None:
    """Return the check of keys and values of a mapping, ``None`` if any will do."""
    if field in rules.REQUESTS:
        return check_requested
    if field in rules.LABELS:
        return rules.check_labels
    if field == rules.ANNOTATIONS:
        return rules.check_annotations
    return None


def _anything(_value: Any) -> Errors:
    return None


def _converted(decode: Callable[[Any], Any], inner: Check | None, value: Any) -> Errors:
    """Check a value of another type than from a file: a tuple, or a mistake."""
    try:
        made = decode(value)
    except InputError as error:
        return [error]
    return None if inner is None else inner(made)


def _as_object(inner: Check, value: Any) -> Errors:
    if isinstance(value, Mapping):
        return inner(value)
    return [InputError("", f"expected an object, got {describe(value)}", "write members as key: value")]


def _items(member: _Member) -> Check:
    expected, inner, otherwise = member

    def check(value: Any) -> Errors:
        found: list[InputError] = []
        for index, entry in enumerate(value):
            if type(entry) is expected:
                if inner is None:
                    continue
                below = inner(entry)
            else:
                below = otherwise(entry)
            if below:
                found += [error.at(f"[{index}]") for error in below]
        return found

    return check


def _entries(member: _Member, whole: Callable[[Mapping[str, Any]], list[InputError]] | None) -> Check:
    def check(value: Any) -> Errors:
        found = [] if whole is None else whole(value)
        for key, entry in value.items():
            below = _below(member, entry)
            if below:
                found += [at_key(error, key) for error in below]
        return found

    return check
