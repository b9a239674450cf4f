"""TLS to extenders, from ``tlsConfig``."""

from __future__ import annotations

import ssl
from pathlib import Path

from .._base.tls import client_context, load_pair
from .model import ExtenderTLSConfig


def tls_context(tls: ExtenderTLSConfig | None, enable_https: bool) -> ssl.SSLContext:
    """Return the settings of connections to an ``https`` URL.

    As in the reference, ``enableHTTPS`` without a certificate authority trusts any server, and a certificate
    without a key is left out. Raises ``OSError`` or ``ValueError`` for certificates that cannot be used.
    """
    tls = tls if tls is not None else ExtenderTLSConfig()
    has_ca = bool(tls.ca_data or tls.ca_file)
    context = client_context(_text(tls.ca_data, tls.ca_file) if has_ca and not tls.insecure else None)
    if tls.insecure or (enable_https and not has_ca):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if (tls.cert_data or tls.cert_file) and (tls.key_data or tls.key_file):
        pair = (tls.cert_data, tls.cert_file), (tls.key_data, tls.key_file)
        load_pair(context, *(_bytes(*each) for each in pair))
    return context


def _text(data: bytes, file: str) -> str:
    return _bytes(data, file).decode("ascii", errors="replace")


def _bytes(data: bytes, file: str) -> bytes:
    return data or Path(file).read_bytes()
