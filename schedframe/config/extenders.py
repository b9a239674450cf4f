"""Extenders at the build stage: order, managed resources and certificates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from .errors import FieldError
from .model import Extender, ExtenderTLSConfig


def in_call_order(extenders: Iterable[Extender]) -> tuple[Extender, ...]:
    """Return the extenders in the order of their calls: ignorable ones come last."""
    return tuple(sorted(extenders, key=lambda extender: extender.ignorable))


def ignored_resources(extenders: Iterable[Extender]) -> tuple[str, ...]:
    """Return the resources that plugins must ignore, in the order of the configuration."""
    return tuple(
        resource.name
        for extender in extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )


def transport_problems(extenders: Iterable[Extender], *, read_files: bool) -> Iterator[FieldError]:
    """Yield the errors in the settings of connections to extenders, and in certificates if *read_files*."""
    for index, extender in enumerate(extenders):
        if extender.tls_config is not None:
            path = f"extenders[{index}].tlsConfig"
            problems = list(_tls_problems(extender.tls_config, path, extender.enable_https, read_files))
            if not problems and (read_files or not _has_files(extender.tls_config)):
                problems += _unusable(extender, path)
            yield from problems


def _has_files(tls: ExtenderTLSConfig) -> bool:
    return bool(tls.ca_file or tls.cert_file or tls.key_file)


def _tls_problems(tls: ExtenderTLSConfig, path: str, https: bool, read_files: bool) -> Iterator[FieldError]:
    has_ca = bool(tls.ca_data or tls.ca_file)
    has_pair = bool(tls.cert_data or tls.cert_file) and bool(tls.key_data or tls.key_file)
    insecure = tls.insecure or (https and not has_ca)
    if tls.insecure and has_ca:
        yield FieldError.forbidden(
            f"{path}.insecure", "the server's certificate is either checked or not; drop one"
        )
    elif has_ca or has_pair or insecure or tls.server_name:
        files = {
            "caFile": (tls.ca_data, tls.ca_file),
            "certFile": (tls.cert_data, tls.cert_file),
            "keyFile": (tls.key_data, tls.key_file),
        }
        for name, (data, file) in files.items():
            content = data
            if not data and file and read_files:
                try:
                    content = Path(file).read_bytes()
                except OSError as error:
                    yield FieldError.invalid(f"{path}.{name}", file, f"cannot be read: {error.strerror}")
                    continue
            if content and (has_pair or name == "caFile") and b"-----BEGIN " not in content:
                detail = "holds no PEM block; give PEM-encoded certificates and keys"
                yield FieldError.invalid(
                    f"{path}.{name if not data else name.replace('File', 'Data')}", file, detail
                )


def _unusable(extender: Extender, path: str) -> Iterator[FieldError]:
    """Yield an error for certificates that are PEM and nevertheless no certificates, or of another key."""
    from .extender_tls import tls_context  # loads ssl, 5 MB

    try:
        tls_context(extender.tls_config, extender.enable_https)
    except (OSError, ValueError) as error:
        yield FieldError.forbidden(path, f"cannot be used: {error}")
