"""The server's certificate: from files, which are read again when they change, or made at the start."""

from __future__ import annotations

import datetime
import ipaddress
import os
import ssl
import tempfile
from pathlib import Path
from typing import Final

from attrs import define, field

from ..errors import InputError

VALID_DAYS: Final = 365
"""Days for which a certificate made at the start is valid."""
VERSIONS: Final = {
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}
"""Values of ``--tls-min-version``; older versions of TLS are refused."""


@define(eq=False)
class ServerCertificate:
    """A context for the server, and the files that it was read from."""

    certificate: Path
    key: Path
    context: ssl.SSLContext = field(factory=lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    _read: tuple[int, ...] = field(default=(), init=False)

    def refresh(self) -> bool:
        """Read the files if they changed; new connections use them. Raises :class:`InputError`."""
        try:
            now = tuple(os.stat(each).st_mtime_ns for each in (self.certificate, self.key))
            if now == self._read:
                return False
            self.context.load_cert_chain(self.certificate, self.key)
        except (OSError, ssl.SSLError) as error:
            raise InputError(
                "--tls-cert-file", f"{self.certificate} and {self.key} cannot be used: {error}"
            ) from None
        self._read = now
        return True


def self_signed(host: str) -> ssl.SSLContext:
    """Return a context with a new certificate for *host*, whose key is in memory only afterwards."""
    certificate, key = _made(host)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # The ssl module reads certificates from files only.
    with tempfile.TemporaryDirectory(prefix="schedframe-") as folder:
        files = Path(folder, "cert"), Path(folder, "key")
        files[1].touch(mode=0o600)
        for file, text in zip(files, (certificate, key), strict=True):
            file.write_bytes(text)
        context.load_cert_chain(*files)
    return context


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
    try:
        hosts.append(x509.IPAddress(ipaddress.ip_address(host)))
    except ValueError:
        hosts.append(x509.DNSName(host))
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
