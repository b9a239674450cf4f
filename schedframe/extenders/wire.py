"""The JSON of extenders, version ``k8s.io/kube-scheduler/extender/v1``, read as Go reads it.

Keys of objects are found without regard to case, unknown ones are ignored, ``null`` is the empty value, and
what follows the first value is ignored. A value of another type is an error. Half of a surrogate pair is
U+FFFD, as is each byte that is no UTF-8; control characters stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeVar

from .._base.value import record
from ..api import ClusterObject, Node, Pod, from_manifest, to_manifest
from ..api._text import encodable, json_source
from ..errors import InputError
from ..framework import (
    ExtenderError,
    ExtenderFilterResult,
    HostPriority,
    Victims,
    VictimUids,
)
from .typed_scores import decode_scores

try:  # several times as fast, and there where schedframe talks to an API server
    from msgspec.json import decode as _fast_decode
    from msgspec.json import encode as _fast_encode
except ImportError:
    _fast_decode = _fast_encode = None  # type: ignore[assignment]  # a module that need not be installed

T = TypeVar("T")
Decode = Callable[[Any], T]

_INT64_MAX: Final = 2**63 - 1
_PROBE: Final = 64
"""Bytes of a list of names by which its place in an answer is found."""
_TYPE_NAMES: Final = {dict: "an object", list: "a list", str: "text", bool: "a boolean", type(None): "null"}


class Mismatch(ExtenderError):
    """A value of the wrong type in an answer."""


# ---- reading -----------------------------------------------------------------------------------------------


def read_json(body: bytes) -> Any:
    """Return the first JSON value of *body*. Raises :class:`ExtenderError` if there is none."""
    if _fast_decode is not None:
        try:
            return _fast_decode(body)
        except (ValueError, RecursionError):
            pass  # not JSON, or JSON and something behind it, or too deep for both
    text = json_source(body).lstrip(" \t\r\n")
    if not text:
        raise ExtenderError("the answer is empty; it must be JSON")
    try:
        value, _ = _DECODER.raw_decode(text)
    except RecursionError:
        raise ExtenderError("the JSON is nested too deeply") from None
    except ValueError as error:
        raise ExtenderError(f"the answer is not JSON: {error}") from error
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant)


def members(value: Any, where: str = "the answer") -> dict[str, Any]:
    """Return the members of an object by key in lower case; of equal keys the last. ``null`` has none."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _mismatch(where, value, "an object")
    return {key.lower(): member for key, member in value.items()}


def _mismatch(where: str, value: Any, wanted: str) -> Mismatch:
    found = _TYPE_NAMES.get(type(value), "a number")
    return Mismatch(f"{where} is {found}; it must be {wanted}")


def text(value: Any, where: str) -> str:
    """Return a text; ``null`` is the empty one."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _mismatch(where, value, "text")
    return value


def integer(value: Any, where: str) -> int:
    """Return a whole number of 64 bits; ``null`` is 0."""
    if value is None:
        return 0
    if type(value) is not int or not -_INT64_MAX - 1 <= value <= _INT64_MAX:
        raise _mismatch(where, value, "a whole number")
    return value


def items(value: Any, where: str) -> list[Any]:
    """Return a list; ``null`` is the empty one."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise _mismatch(where, value, "a list")
    return value


def mapping(value: Any, where: str, of: Callable[[Any, str], T]) -> dict[str, T]:
    """Return an object with members of one kind."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _mismatch(where, value, "an object")
    return {key: of(member, f"{where}.{key}") for key, member in value.items()}


def _texts(value: Any, where: str) -> list[str]:
    found = items(value, where)
    if set(map(type, found)) == {str}:
        return found
    return [text(each, where) for each in found]


def _object(cls: type[ClusterObject], value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise _mismatch(where, value, "an object")
    try:
        return from_manifest({**value, "apiVersion": cls.API_VERSION, "kind": cls.KIND}, strict=False)
    except InputError as error:
        raise Mismatch(f"{where}: {error}") from error


def read_nodes(value: Any, where: str = "Nodes") -> list[Node]:
    """Return the nodes of a node list."""
    found = items(members(value, where).get("items"), f"{where}.items")
    return [_object(Node, {} if each is None else each, f"{where}.items") for each in found]


def read_pod(value: Any, where: str = "Pod") -> Pod:
    """Return a pod."""
    pod: Pod = _object(Pod, value, where)
    return pod


def read_filter_result(
    body: bytes, *, by_name: bool, sent: tuple[Sequence[str], bytes] | None = None
) -> ExtenderFilterResult:
    """Return an answer to filter. *by_name*: the extender is cache capable, and may answer with names.

    *sent*: the names that were sent, and their JSON. An answer with the same bytes is not decoded.
    """
    answer = _without_names(body, *sent) if sent is not None else None
    if answer is None:
        answer = members(read_json(body))
    names, nodes = answer.get("nodenames"), answer.get("nodes")
    kept_names: Sequence[str] | None = None
    if names is not None:
        kept_names = names if sent is not None and names is sent[0] else _texts(names, "NodeNames")
    kept_nodes = None if nodes is None else read_nodes(nodes)
    failed = mapping(answer.get("failednodes"), "FailedNodes", text)
    unresolvable = mapping(answer.get("failedandunresolvablenodes"), "FailedAndUnresolvableNodes", text)
    _raise_error(answer)
    if by_name and kept_names is not None:
        return ExtenderFilterResult(kept_names, None, failed, unresolvable)
    return ExtenderFilterResult(None, kept_nodes or (), failed, unresolvable)


def _without_names(body: bytes, names: Sequence[str], encoded: bytes) -> dict[str, Any] | None:
    """Return the members of an answer with *names* as they were sent; ``None`` for any other answer."""
    # Comparing at one place is several times as fast as a search for tens of kilobytes.
    start = body.find(encoded[:_PROBE])
    if start < 0 or not body.startswith(encoded, start):
        return None
    answer = members(read_json(b"%btrue%b" % (body[:start], body[start + len(encoded) :])))
    if answer.get("nodenames") is not True:
        return None
    answer["nodenames"] = names
    return answer


def _raise_error(answer: Mapping[str, Any]) -> None:
    error = text(answer.get("error"), "Error")
    if error:
        raise ExtenderError(error)


def read_priorities(body: bytes) -> list[HostPriority]:
    """Return an answer to prioritize."""
    scores = decode_scores(body)
    if scores is not None:
        return scores
    # Keys in another case, null, further fields, or a mistake that is to be named.
    return [_priority(members(each, "a score")) for each in items(read_json(body), "the answer")]


def _priority(score: Mapping[str, Any]) -> HostPriority:
    return HostPriority(text(score.get("host"), "Host"), integer(score.get("score"), "Score"))


def read_binding_result(body: bytes) -> None:
    """Read an answer to bind. Raises :class:`ExtenderError` if it says that there was an error."""
    _raise_error(members(read_json(body)))


def read_preemption_result(body: bytes) -> dict[str, VictimUids]:
    """Return an answer to preempt."""
    victims = members(read_json(body)).get("nodenametometavictims")
    return mapping(victims, "NodeNameToMetaVictims", _victim_uids)


def _victim_uids(value: Any, where: str) -> VictimUids:
    victims = members(value, where)
    pods = items(victims.get("pods"), f"{where}.Pods")
    uids = [text(members(pod, f"{where}.Pods").get("uid"), f"{where}.Pods.UID") for pod in pods]
    return VictimUids(tuple(uids), integer(victims.get("numpdbviolations"), f"{where}.NumPDBViolations"))


# ---- reading requests --------------------------------------------------------------------------------------


@record(frozen=True)
class BindingArgs:
    """A request to bind."""

    name: str
    namespace: str
    uid: str
    node_name: str


def read_binding_args(body: bytes) -> BindingArgs:
    """Return a request to bind."""
    given = members(read_json(body), "the request")
    names = ("PodName", "PodNamespace", "PodUID", "Node")
    return BindingArgs(*[text(given.get(name.lower()), name) for name in names])


def read_preemption_args(body: bytes) -> tuple[Pod, dict[str, VictimUids]]:
    """Return the pod of a request to preempt, and the victims by node; they come as uids or as pods."""
    given = members(read_json(body), "the request")
    pod = read_pod(given.get("pod"))
    by_uid, whole = given.get("nodenametometavictims"), given.get("nodenametovictims")
    if by_uid is None:
        return pod, mapping(whole, "NodeNameToVictims", _uids_of_victims)
    return pod, mapping(by_uid, "NodeNameToMetaVictims", _victim_uids)


def _uids_of_victims(value: Any, where: str) -> VictimUids:
    victims = members(value, where)
    pods = [members(pod, f"{where}.Pods") for pod in items(victims.get("pods"), f"{where}.Pods")]
    path = f"{where}.Pods.metadata"
    uids = [text(members(pod.get("metadata"), path).get("uid"), f"{path}.uid") for pod in pods]
    return VictimUids(tuple(uids), integer(victims.get("numpdbviolations"), f"{where}.NumPDBViolations"))


# ---- writing -----------------------------------------------------------------------------------------------


def encode(value: Any) -> bytes:
    """Return *value* as compact JSON. Half of a surrogate pair becomes U+FFFD, as Go writes it."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return _encode(encodable(value))


def _encode(value: Any) -> bytes:
    if _fast_encode is not None:
        return _fast_encode(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def document(obj: ClusterObject) -> dict[str, Any]:
    """Return an object as it stands inside of other ones: without ``apiVersion`` and ``kind``."""
    manifest = to_manifest(obj)
    manifest.pop("apiVersion", None)
    manifest.pop("kind", None)
    return manifest


def binding_args(pod: Pod, node_name: str) -> bytes:
    """Return the body of a request to bind."""
    names = {"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": node_name}
    return encode(names)


def preemption_args(pod: bytes, victims: Mapping[str, Victims], *, by_uid: bool) -> bytes:
    """Return the body of a request to preempt; *pod* is encoded. *by_uid*: the extender is cache capable."""

    def of(each: Victims) -> dict[str, Any]:
        pods = [{"UID": pod.uid} if by_uid else document(pod) for pod in each.pods]
        return {"Pods": pods, "NumPDBViolations": each.pdb_violations}

    given = encode({name: of(each) for name, each in victims.items()})
    whole, short = (b"null", given) if by_uid else (given, b"null")
    return b'{"Pod":%b,"NodeNameToVictims":%b,"NodeNameToMetaVictims":%b}' % (pod, whole, short)


def preemption_result(victims: Mapping[str, VictimUids]) -> bytes:
    """Return the answer to a request to preempt."""
    given = {
        name: {"Pods": [{"UID": uid} for uid in each.uids], "NumPDBViolations": each.pdb_violations}
        for name, each in victims.items()
    }
    return encode({"NodeNameToMetaVictims": given})


def extender_args(pod: bytes, nodes: bytes | None, names: bytes | None) -> tuple[bytes, ...]:
    """Return the body of a request to filter or prioritize in parts; give one of the last two arguments.

    All arguments are JSON; *nodes* is a list without its brackets.
    """
    if names is not None:
        return b'{"Pod":', pod, b',"Nodes":null,"NodeNames":', names, b"}"
    return b'{"Pod":', pod, b',"Nodes":{"metadata":{},"items":[', nodes or b"", b']},"NodeNames":null}'
