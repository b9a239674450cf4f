"""Settings of the server from the options, checked before anything begins."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ..._base.value import record
from ...errors import InputError, InputErrors
from .flag_values import boolean, duration
from .options import RunOptions

LARGEST_PORT: Final = 65_535
TLS_VERSIONS: Final = {
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}
"""Values of ``--tls-min-version``; older versions of TLS are refused."""


@record(frozen=True, kw_only=True)
class CacheTimes:
    """Seconds for which answers of the API server about a request are cached; 0 means not at all."""

    token: float
    allowed: float
    denied: float


@record(frozen=True, kw_only=True)
class ServingSettings:
    """Settings of the server."""

    address: str
    port: int
    """0 means that nothing is served."""
    files: tuple[Path, Path] | None
    """Certificate and key; ``None`` if no files are named."""
    min_version: ssl.TLSVersion
    profiling: bool
    cache_times: CacheTimes
    always_allowed: tuple[str, ...]
    authentication_kubeconfig: str | None
    authorization_kubeconfig: str | None


def serving_settings(options: RunOptions) -> ServingSettings:
    """Return the settings of the server. Raises :class:`InputErrors` with all that is wrong with them."""
    problems = list(_problems(options))
    if problems:
        raise InputErrors(problems)
    certificate, key = options.tls_cert_file, options.tls_private_key_file
    return ServingSettings(
        address=options.bind_address,
        port=options.secure_port,
        files=None if certificate is None or key is None else (Path(certificate), Path(key)),
        min_version=TLS_VERSIONS[options.tls_min_version or "VersionTLS12"],
        profiling=boolean("--profiling", options.profiling),
        cache_times=_cache_times(options),
        always_allowed=_paths(options.authorization_always_allow_paths),
        authentication_kubeconfig=options.authentication_kubeconfig,
        authorization_kubeconfig=options.authorization_kubeconfig,
    )


def _problems(options: RunOptions) -> Iterator[InputError]:
    if not 0 <= options.secure_port <= LARGEST_PORT:
        yield InputError("--secure-port", f"{options.secure_port} is no port", f"write 0 to {LARGEST_PORT}")
    if not _is_address(options.bind_address):
        yield InputError(
            "--bind-address",
            f"{options.bind_address!r} is no IP address",
            "write one such as 127.0.0.1, 0.0.0.0 or ::",
        )
    if (options.tls_cert_file is None) != (options.tls_private_key_file is None):
        yield InputError("--tls-cert-file", "certificate and key belong together", "name both files")
    if options.tls_min_version not in (None, *TLS_VERSIONS):
        names = " or ".join(TLS_VERSIONS)
        yield InputError("--tls-min-version", f"{options.tls_min_version} is not served", f"write {names}")
    for path in _paths(options.authorization_always_allow_paths):
        if "*" in path[:-1]:
            yield InputError(
                "--authorization-always-allow-paths",
                f"{path!r} has a * before its end",
                "name single paths, or all with one beginning such as /healthz/*",
            )


def _is_address(text: str) -> bool:
    """Return whether *text* is an IP address or localhost: other names may change what they stand for."""
    if text == "localhost":
        return True
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _cache_times(options: RunOptions) -> CacheTimes:
    of_denials = options.authorization_webhook_cache_unauthorized_ttl
    texts = {
        "--authentication-token-webhook-cache-ttl": options.authentication_token_webhook_cache_ttl,
        "--authorization-webhook-cache-authorized-ttl": options.authorization_webhook_cache_authorized_ttl,
        "--authorization-webhook-cache-unauthorized-ttl": of_denials,
    }
    token, allowed, denied = (duration(flag, text, zero=True).seconds for flag, text in texts.items())
    return CacheTimes(token=token, allowed=allowed, denied=denied)


def _paths(text: str) -> tuple[str, ...]:
    """Return the paths of a list with commas, each with a slash at its beginning."""
    return tuple("/" + each.strip().lstrip("/") for each in text.split(",") if each.strip())
