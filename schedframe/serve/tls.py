"""The server's certificate: from files, which are read again when they change, or made at the start."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from typing import Final

from .._base.tls import ServerCertificate, load_pair
from ..errors import InputError

__all__ = ["ServerCertificate", "self_signed"]

VALID_DAYS: Final = 365
"""Days for which a certificate made at the start is valid."""


def self_signed(host: str) -> ssl.SSLContext:
    """Return a context with a new certificate for *host*, whose key is in memory only afterwards."""
    certificate, key = _made(host)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load_pair(context, certificate, key)
    return context


def _addresses(host: str) -> list[str]:
    """Return loopback, and *host* unless it is localhost."""
    return [*dict.fromkeys(("127.0.0.1", "::1", *(() if host == "localhost" else (host,))))]


def _made(host: str) -> tuple[bytes, bytes]:
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError:
        raise InputError(
            "--bind-address",
            "a certificate cannot be made without the package cryptography",
            "pip install 'schedframe[serve]', or name --tls-cert-file and --tls-private-key-file",
        ) from None
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "schedframe")])
    now = datetime.datetime.now(datetime.UTC)
    hosts: list[x509.GeneralName] = [x509.DNSName("localhost")]
    hosts += [x509.IPAddress(ipaddress.ip_address(each)) for each in _addresses(host)]
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    return made.public_bytes(serialization.Encoding.PEM), key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain
    )
