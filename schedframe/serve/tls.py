"""The server's certificate: from files, which are read again when they change, or made at the start."""

from __future__ import annotations

import datetime
import ipaddress
import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from attrs import define, field

from ..errors import InputError

VALID_DAYS: Final = 365
"""Days for which a certificate made at the start is valid."""


@define(eq=False)
class ServerCertificate:
    """A context for the server, and the files that it was read from."""

    certificate: Path
    key: Path
    context: ssl.SSLContext = field(factory=lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    _read: tuple[int, ...] = field(default=(), init=False)

    def refresh(self) -> bool:
        """Read the files if they changed; new connections use them. Raises :class:`InputError`.

        Then the former certificate stays in use: the files are tried in another context first, since loading
        a certificate replaces the present one even if its key turns out not to belong to it.
        """
        try:
            now = tuple(os.stat(each).st_mtime_ns for each in (self.certificate, self.key))
            if now == self._read:
                return False
            for context in (ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), self.context):
                context.load_cert_chain(self.certificate, self.key, _no_password)
        except (OSError, ssl.SSLError) as error:
            raise InputError(
                "--tls-cert-file", f"{self.certificate} and {self.key} cannot be used: {error}"
            ) from None
        self._read = now
        return True


def _no_password() -> str:
    """Refuse an encrypted key; without this, OpenSSL would ask the terminal for the password."""
    raise InputError("--tls-private-key-file", "the key is encrypted", "name a file with the plain key")


def self_signed(host: str) -> ssl.SSLContext:
    """Return a context with a new certificate for *host*, whose key is in memory only afterwards."""
    certificate, key = _made(host)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # The ssl module reads certificates from files only.
    with _file(certificate) as certificate_file, _file(key) as key_file:
        context.load_cert_chain(certificate_file, key_file)
    return context


@contextmanager
def _file(content: bytes) -> Iterator[str]:
    """Hold *content* in a file that only this user can read: in memory on Linux, else in a temporary one.

    A container with a read-only root file system has no folder for temporary files.
    """
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("schedframe")
        name = f"/proc/self/fd/{descriptor}"
    else:
        descriptor, name = tempfile.mkstemp(prefix="schedframe-")
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            yield name
    finally:
        if not name.startswith("/proc/"):
            os.unlink(name)


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
