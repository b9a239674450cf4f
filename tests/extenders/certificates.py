"""Certificates for tests: an authority, servers and clients."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from pathlib import Path

from attrs import frozen
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LOOPBACK = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))


@frozen
class Pair:
    """A certificate and its key, both PEM."""

    cert: bytes
    key: bytes

    def write(self, directory: Path, name: str) -> tuple[Path, Path]:
        """Write both; return the files."""
        cert, key = directory / f"{name}.crt", directory / f"{name}.key"
        cert.write_bytes(self.cert)
        key.write_bytes(self.key)
        return cert, key


class Authority:
    """A certificate authority."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._key = ec.generate_private_key(ec.SECP256R1())
        constraint = x509.BasicConstraints(ca=True, path_length=None)
        self.cert = self._sign(name, self._key, ((constraint, True),), days=1)

    def issue(self, name: str, *alternatives: x509.GeneralName, days: int = 1) -> Pair:
        """Return a certificate that ends in *days*; expired if negative."""
        key = ec.generate_private_key(ec.SECP256R1())
        extensions = ((x509.SubjectAlternativeName(alternatives), False),) if alternatives else ()
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        return Pair(self._sign(name, key, extensions, days), private)

    def _sign(
        self,
        name: str,
        key: ec.EllipticCurvePrivateKey,
        extensions: tuple[tuple[x509.ExtensionType, bool], ...],
        days: int,
    ) -> bytes:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, self._name)]))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=9))
            .not_valid_after(now + datetime.timedelta(days=days))
        )
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical=critical)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def server_context(directory: Path, pair: Pair, clients: Authority | None = None) -> ssl.SSLContext:
    """Return the settings of a server; with *clients* it requires a certificate of that authority."""
    cert, key = pair.write(directory, "server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=clients.cert.decode())
    return context
