"""Credentials that may change while the scheduler runs: token files that rotate, exec plugins with expiry."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from attrs import field

from ..._base.value import record
from ...api.times import parse_time
from ...errors import InputError
from .errors import CredentialsError

REREAD_SECONDS: Final = 60.0
"""Seconds after which a token file is read again; the kubelet rotates tokens long before they expire."""
RENEWAL_MARGIN_SECONDS: Final = 30.0
"""Seconds before its expiry at which a credential of an exec plugin is renewed."""
REFUSED_AGAIN_SECONDS: Final = 5.0
"""Seconds after its renewal in which a refused certificate may be an earlier one: a request was under way."""
EXEC_TIMEOUT_SECONDS: Final = 60.0


@record(frozen=True)
class ClientCertificate:
    """A certificate that says who the user is, and its private key, both as PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


class TokenSource(Protocol):
    """Gives the ``Authorization`` header, and the client certificate if it changes while the client runs."""

    @property
    def certificate(self) -> ClientCertificate | None:
        """The certificate as of the last :meth:`header`; ``None``: that of the kubeconfig, if it has one."""
        ...

    async def header(self) -> str | None:
        """Return the present value, ``None`` for no header. Raises :class:`CredentialsError`."""
        ...

    def refused(self, header: str | None) -> bool:
        """Note that the server refused *header* (401); return whether there may be another one by now."""
        ...


class _WithoutCertificate:
    """A source of tokens alone."""

    @property
    def certificate(self) -> None:
        """None: the source has no certificate."""
        return None


@record(frozen=True)
class NoToken(_WithoutCertificate):
    """No header: the client certificate says who the user is."""

    async def header(self) -> str | None:
        """Return None."""
        return None

    def refused(self, header: str | None) -> bool:
        """Return whether there is another credential: there is not."""
        return False


@record(frozen=True)
class StaticToken(_WithoutCertificate):
    """A header that stays."""

    value: str = field(repr=False)

    async def header(self) -> str | None:
        """Return the header."""
        return self.value

    def refused(self, header: str | None) -> bool:
        """Return whether there is another credential: there is not."""
        return False


@record(eq=False)
class FileToken(_WithoutCertificate):
    """A bearer token in a file that is replaced from time to time."""

    path: Path
    _value: str = field(default="", init=False, repr=False)
    _read_at: float | None = field(default=None, init=False)

    async def header(self) -> str | None:
        """Return the token as of the last minute. A file without a token any more leaves the last one."""
        now = time.monotonic()
        if self._read_at is None or now - self._read_at >= REREAD_SECONDS:
            try:
                token = self.path.read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                token, problem = "", f"cannot be read: {getattr(error, 'strerror', None) or error}"
            else:
                problem = "is empty"  # or it is being written
            if token:
                self._value, self._read_at = f"Bearer {token}", now
            elif not self._value:
                raise CredentialsError(f"token file {self.path} {problem}")
        return self._value

    def refused(self, header: str | None) -> bool:
        """Read the file again next time, unless that was done since *header* was sent."""
        if header == self._value:
            self._read_at = None
        return True


@record(frozen=True)
class ExecPlugin:
    """A command that prints an ``ExecCredential``."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    api_version: str
    info: str = field(repr=False)
    """Value of KUBERNETES_EXEC_INFO."""
    hint: str = ""


def exec_plugin(spec: Mapping[str, Any], folder: Path, cluster: Mapping[str, Any]) -> ExecPlugin:
    """Return the plugin of ``users[].user.exec``; a relative path begins in the kubeconfig's *folder*."""
    command = str(spec.get("command") or "")
    if not command:
        raise CredentialsError("users[].user.exec has no command")
    if os.sep in command:
        command = str(folder / command)
    version = str(spec.get("apiVersion") or "client.authentication.k8s.io/v1")
    request: dict[str, Any] = {"interactive": False}
    if spec.get("provideClusterInfo"):
        request["cluster"] = {
            key: cluster[key]
            for key in ("server", "tls-server-name", "certificate-authority-data", "proxy-url")
            if cluster.get(key)
        }
    info = json.dumps({"apiVersion": version, "kind": "ExecCredential", "spec": request})
    environment = {str(pair["name"]): str(pair.get("value", "")) for pair in spec.get("env") or ()}
    arguments: Sequence[Any] = spec.get("args") or ()
    return ExecPlugin(
        (command, *map(str, arguments)), environment, version, info, str(spec.get("installHint") or "")
    )


@record(eq=False)
class ExecCredentials:
    """The token, the certificate, or both that a command prints; it runs again before they expire."""

    plugin: ExecPlugin
    certificate: ClientCertificate | None = field(default=None, init=False)
    _header: str | None = field(default=None, init=False, repr=False)
    _has_any: bool = field(default=False, init=False)
    _renewed_at: float = field(default=0.0, init=False)
    _expires: float | None = field(default=None, init=False)
    """Seconds since the epoch, ``None``: never."""
    _lock: asyncio.Lock = field(factory=asyncio.Lock, init=False, repr=False)

    async def header(self) -> str | None:
        """Return the token, ``None`` beside a certificate. Raises :class:`CredentialsError`."""
        if self._is_stale():
            async with self._lock:
                if self._is_stale():
                    await self._renew()
        return self._header

    def refused(self, header: str | None) -> bool:
        """Run the command again next time, unless that was done since *header* was sent."""
        is_old = time.monotonic() - self._renewed_at >= REFUSED_AGAIN_SECONDS
        if header == self._header and (header is not None or is_old):
            self._has_any = False
        return True

    def _is_stale(self) -> bool:
        if not self._has_any:
            return True
        return self._expires is not None and time.time() > self._expires - RENEWAL_MARGIN_SECONDS

    async def _renew(self) -> None:
        status = _status_of(self.plugin, await asyncio.to_thread(_run, self.plugin))
        token, certificate = status.get("token"), _certificate_of(self.plugin, status)
        if not token and certificate is None:
            raise CredentialsError(f"exec plugin {self.plugin.command[0]} gave neither token nor certificate")
        try:
            stamp = status.get("expirationTimestamp")
            self._expires = parse_time(stamp) if stamp else None
        except InputError as error:
            raise CredentialsError(f"exec plugin {self.plugin.command[0]}: {error}") from None
        self._header = f"Bearer {token}" if token else None
        if certificate != self.certificate:
            self.certificate = certificate
        self._has_any, self._renewed_at = True, time.monotonic()


def _certificate_of(plugin: ExecPlugin, status: Mapping[str, Any]) -> ClientCertificate | None:
    certificate, key = status.get("clientCertificateData"), status.get("clientKeyData")
    if not certificate and not key:
        return None
    if not certificate or not key:
        missing = "clientKeyData" if certificate else "clientCertificateData"
        raise CredentialsError(f"exec plugin {plugin.command[0]} gave no {missing}")
    return ClientCertificate(str(certificate).encode(), str(key).encode())


def _run(plugin: ExecPlugin) -> bytes:
    environment = {**os.environ, **plugin.environment, "KUBERNETES_EXEC_INFO": plugin.info}
    name = plugin.command[0]
    try:
        done = subprocess.run(
            plugin.command,
            env=environment,
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            timeout=EXEC_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CredentialsError(f"exec plugin {name} did not end within {EXEC_TIMEOUT_SECONDS:g} s") from None
    except OSError as error:
        hint = f"; {plugin.hint}" if plugin.hint else ""
        raise CredentialsError(f"exec plugin {name} cannot be run: {error}{hint}") from None
    if done.returncode:
        raise CredentialsError(f"exec plugin {name} ended with code {done.returncode}")
    return done.stdout


def _status_of(plugin: ExecPlugin, printed: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(printed)
        if document["kind"] != "ExecCredential" or not isinstance(document["status"], dict):
            raise TypeError
    except (ValueError, KeyError, TypeError):
        raise CredentialsError(
            f"exec plugin {plugin.command[0]} printed no ExecCredential with a status"
        ) from None
    status: Mapping[str, Any] = document["status"]
    return status
