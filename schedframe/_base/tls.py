"""Settings of TLS that clients share, and certificates of servers that are replaced while they are served."""

from __future__ import annotations

import logging
import os
import ssl
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final

from attrs import field

from ..errors import InputError
from .value import record

REFRESH_SECONDS: Final = 10.0
"""Seconds between two looks at the files of a certificate; a look reads a few kilobytes."""
RETRY_SECONDS: Final = 1.0
"""The same after files that cannot be used: mostly, one of them is new and the other one not yet."""


def client_context(authorities: str | None = None) -> ssl.SSLContext:
    """Return what verifies a server by *authorities* (PEM certificates), ``None``: by those of the system.

    The rules are those of Go's clients, such as kubectl, on every version of Python: the common name of a
    certificate does not count, and a certificate may lack extensions that Python 3.13 asks for by default
    (key usage, authority key identifier). Raises ``ssl.SSLError`` for certificates that cannot be used.
    """
    context = ssl.create_default_context(cadata=authorities)
    context.hostname_checks_common_name = False
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Load a certificate and its key, both PEM. Raises ``ssl.SSLError`` for what cannot be used."""
    # The ssl module reads certificates from files only.
    with _file(certificate) as certificate_file, _file(key) as key_file:
        context.load_cert_chain(certificate_file, key_file, _no_password)


def _no_password() -> str:
    """Refuse an encrypted key; without this, OpenSSL would ask the terminal for the password."""
    raise ssl.SSLError("the key is encrypted; name a file with the plain key")


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


@record(eq=False)
class ServerCertificate:
    """The settings of a server whose certificate is in files that may be replaced while it serves.

    Invariant: a handshake uses one certificate and the key that belongs to it. So each pair has a context of
    its own, which does not change once it is in use; ``context`` hands every handshake the newest one.
    """

    certificate: Path
    key: Path
    client_ca: Path | None = None
    """Authority of the clients, who need a certificate then; it is read again with the others."""
    context: ssl.SSLContext = field(init=False)
    """What the server is given; it stays the same."""
    _newest: ssl.SSLContext = field(init=False)
    _read: tuple[bytes, ...] = field(default=(), init=False)
    """Digests of the files that the newest context was made of: no key is kept longer than needed."""

    def __attrs_post_init__(self) -> None:
        self.context = self._newest = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.sni_callback = self._choose
        if self.client_ca is not None:
            self.context.verify_mode = ssl.CERT_REQUIRED

    def refresh(self) -> bool:
        """Read the files; if their content has changed, later handshakes use it. O(bytes).

        Raises :class:`InputError` for files that cannot be used; then the former ones stay in use.
        """
        files = self.certificate, self.key, *(() if self.client_ca is None else (self.client_ca,))
        try:
            content = [each.read_bytes() for each in files]
            digests = tuple(sha256(each).digest() for each in content)
            if digests == self._read:
                return False
            context = _context(*content)
        except (OSError, ValueError) as error:
            names = ", ".join(map(str, files[:-1]))
            raise InputError("--tls-cert-file", f"{names} and {files[-1]} cannot be used: {error}") from None
        self._newest, self._read = context, digests
        return True

    def _choose(self, connection: ssl.SSLSocket | ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        """Give a handshake the newest certificate. OpenSSL calls it for clients that name no server, too."""
        connection.context = self._newest


def _context(certificate: bytes, key: bytes, client_ca: bytes | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load_pair(context, certificate, key)
    if client_ca is not None:
        context.load_verify_locations(cadata=client_ca.decode("ascii", errors="replace"))
    return context


@record(eq=False)
class CertificateWatch:
    """Looks at the files of a certificate when it is called, and logs what is wrong with them once."""

    refresh: Callable[[], object]
    logger: logging.Logger
    _problem: str = field(default="", init=False)

    def look(self) -> float:
        """Read the files again if they changed; return the seconds until the next look."""
        former, self._problem = self._problem, ""
        try:
            self.refresh()
        except InputError as error:
            self._problem = str(error)
            if self._problem != former:
                self.logger.warning("the former certificate stays in use: %s", error)
        except Exception as error:
            self._problem = repr(error)
            if self._problem != former:
                self.logger.exception("the former certificate stays in use after a fault")
        return RETRY_SECONDS if self._problem else REFRESH_SECONDS
