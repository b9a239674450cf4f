"""Flags of kube-scheduler given to ``schedframe run``: other notations, and flags without a use."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

_BEARER: Final = "clients of the server identify themselves by bearer tokens"
_LOG: Final = "lines are written to stderr at once; --log-format chooses their form"
_LOOKUP: Final = "no settings for authentication are read from the cluster"
_METRICS: Final = "all metrics are served as they are"
_PORTS: Final = "the address is listened on by one process alone"
_TLS: Final = "the ciphers are those of OpenSSL; --tls-min-version chooses the oldest version"
_VERSION: Final = "the behaviour is that of Kubernetes v1.36"

INAPPLICABLE: Final[dict[str, str]] = {
    "--address": "use --bind-address",
    "--port": "nothing is served without authorization but on loopback; use --secure-port",
    "--cert-dir": "a certificate made at the start is kept in memory; name one by --tls-cert-file",
    "--client-ca-file": _BEARER,
    "--requestheader-allowed-names": _BEARER,
    "--requestheader-client-ca-file": _BEARER,
    "--requestheader-extra-headers-prefix": _BEARER,
    "--requestheader-group-headers": _BEARER,
    "--requestheader-uid-headers": _BEARER,
    "--requestheader-username-headers": _BEARER,
    "--authentication-skip-lookup": _LOOKUP,
    "--authentication-tolerate-lookup-failure": _LOOKUP,
    "--disable-http2-serving": "only HTTP/1.1 is served",
    "--http2-max-streams-per-connection": "only HTTP/1.1 is served",
    "--permit-address-sharing": _PORTS,
    "--permit-port-sharing": _PORTS,
    "--tls-cipher-suites": _TLS,
    "--tls-curve-preferences": _TLS,
    "--tls-sni-cert-key": "there is one certificate; name it by --tls-cert-file",
    "--emulated-version": _VERSION,
    "--min-compatibility-version": _VERSION,
    "--allow-metric-labels": _METRICS,
    "--allow-metric-labels-manifest": _METRICS,
    "--disabled-metrics": _METRICS,
    "--show-hidden-metrics-for-version": _METRICS,
    "--log-flush-frequency": _LOG,
    "--log-json-info-buffer-size": _LOG,
    "--log-json-split-stream": _LOG,
    "--log-text-info-buffer-size": _LOG,
    "--log-text-split-stream": _LOG,
    "--vmodule": "use -v or -vv",
    "--lock-object-name": "use --leader-elect-resource-name",
    "--lock-object-namespace": "use --leader-elect-resource-namespace",
    "--pod-max-in-unschedulable-pods-duration": "pods that wait are tried again after five minutes",
}
"""Flag → why ``schedframe run`` does not take it."""

_BOOLEAN: Final = frozenset({"--leader-elect", "--profiling", "--contention-profiling", "--tracing"})
"""Flags that mean true without a value."""
_LEVELS: Final = ((6, ["-vv"]), (3, ["-v"]), (0, list[str]()))
"""Least level of kube-scheduler's log → the options that come nearest."""
_VERSION_FLAGS: Final = frozenset({"--version", "--version=true", "--version=raw"})


def inapplicable_flag(arguments: Sequence[str]) -> str | None:
    """Return what is wrong with the first flag without a use for ``run``; ``None`` if there is none."""
    if not _is_run(arguments):
        return None
    for argument in map(_with_hyphens, arguments):
        flag = argument.partition("=")[0]
        if flag in INAPPLICABLE:
            return f"{flag} does not apply: {INAPPLICABLE[flag]}"
    return None


def wants_version(arguments: Sequence[str]) -> bool:
    """Return whether ``run`` is to print the version and end."""
    return _is_run(arguments) and not _VERSION_FLAGS.isdisjoint(arguments)


def in_own_notation(arguments: Sequence[str]) -> list[str]:
    """Return *arguments* of ``run`` in the notation of its options.

    A flag without a value gets one, ``--v=LEVEL`` and ``-v LEVEL`` become ``-v`` or ``-vv``, and underscores
    in names of flags become hyphens, as in kube-scheduler.
    """
    if not _is_run(arguments):
        return list(arguments)
    own: list[str] = []
    left = deque(map(_with_hyphens, arguments))
    while left:
        argument = left.popleft()
        following = left[0] if left else "-"
        flag, equals, value = argument.partition("=")
        if argument in _BOOLEAN and following.startswith("-"):
            own.append(f"{argument}=true")
        elif flag in ("--v", "-v") and equals and value.isdecimal():
            own += _verbosity(int(value))
        elif argument in ("--v", "-v") and following.isdecimal():
            own += _verbosity(int(left.popleft()))
        else:
            own.append(argument)
    return own


def _is_run(arguments: Sequence[str]) -> bool:
    return list(arguments[:1]) == ["run"]


def _with_hyphens(argument: str) -> str:
    flag, equals, value = argument.partition("=")
    return flag.replace("_", "-") + equals + value if flag.startswith("--") else argument


def _verbosity(level: int) -> list[str]:
    return next(options for least, options in _LEVELS if level >= least)
