"""Read kubeconfig files: which server, how its certificate is verified, and the credentials of the user.

Several files (``KUBECONFIG``, separated by ``:``) are merged as kubectl does it: of two entries of one name
the first counts, and so does the first ``current-context``. Relative paths are relative to their file.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

from attrs import field

from ..._base.value import value
from ...api.documents import decoded, first_document
from ...api.paths import located
from ...errors import InputError
from ...http.address import PORTS, Address
from ...http.proxies import proxy_url
from .credentials import ExecCredentials, FileToken, NoToken, StaticToken, TokenSource, exec_plugin
from .errors import CredentialsError

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Folder that the kubelet mounts into a pod."""
DEFAULT_FILE: Final = "~/.kube/config"


@value
class Access:
    """The way to one API server as one user."""

    server: str
    """URL without a slash at the end."""
    tokens: TokenSource
    ca_data: str | None = field(default=None, repr=False)
    """PEM of the authority; ``None``: those that the machine trusts."""
    client_cert: bytes | None = field(default=None, repr=False)
    client_key: bytes | None = field(default=None, repr=False)
    insecure: bool = False
    """Whether the certificate of the server is not verified, because the kubeconfig says so."""
    tls_server_name: str | None = None
    proxy_url: str | None = field(default=None, repr=False)
    impersonate: Sequence[tuple[str, str]] = ()
    """Headers of requests on behalf of another user."""
    source: str = ""
    """Where this was read, for messages."""


def load_access(
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
    *,
    context: str | None = None,
    server: str | None = None,
) -> Access:
    """Return the access that kubeconfig *files* describe.

    ``None``: the files in ``KUBECONFIG``, else ``~/.kube/config``, else the service account of the pod that
    this runs in. *context* replaces ``current-context``, *server* the URL of the cluster. Raises
    :class:`CredentialsError` with the fix.
    """
    paths = _paths(files)
    if not paths:
        if (SERVICE_ACCOUNT / "token").exists() and os.environ.get("KUBERNETES_SERVICE_HOST"):
            return in_cluster_access()
        raise CredentialsError(
            f"there is no kubeconfig: {DEFAULT_FILE} does not exist and KUBECONFIG is not set; "
            "name a file with --kubeconfig"
        )
    merged = _merge([_read(path) for path in paths])
    return _access(merged, context, server, ", ".join(str(path) for path in paths))


def in_cluster_access(folder: Path = SERVICE_ACCOUNT) -> Access:
    """Return the access of the service account of this pod. Raises :class:`CredentialsError` elsewhere."""
    host = os.environ.get("KUBERNETES_SERVICE_HOST")
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    token, authority = folder / "token", folder / "ca.crt"
    if not host or not token.exists():
        raise CredentialsError(
            "this is no pod with a service account: KUBERNETES_SERVICE_HOST or the token is missing; "
            "name a kubeconfig with --kubeconfig"
        )
    name = f"[{host}]" if ":" in host else host
    return Access(
        server=f"https://{name}:{port}",
        tokens=FileToken(token),
        ca_data=authority.read_text() if authority.exists() else None,
        source="the service account of this pod",
    )


def _paths(files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None) -> list[Path]:
    """Return the files to read; a file that was named must exist, one of ``KUBECONFIG`` need not."""
    if isinstance(files, str | os.PathLike):
        files = [files]
    if files is not None:
        named = [Path(file).expanduser() for file in files]
        for path in named:
            if not path.is_file():
                raise CredentialsError(f"kubeconfig {path} does not exist; name a file that can be read")
        return named
    listed = [Path(part).expanduser() for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    present = [path for path in listed or [Path(DEFAULT_FILE).expanduser()] if path.is_file()]
    if listed and not present:
        raise CredentialsError(f"KUBECONFIG names no file that exists: {os.environ['KUBECONFIG']}")
    return present


def _read(path: Path) -> dict[str, Any]:
    try:
        read = first_document(decoded(path.read_bytes(), str(path)), str(path))
    except OSError as error:
        raise CredentialsError(f"kubeconfig {path} cannot be read: {error.strerror or error}") from None
    except InputError as error:  # its problem may quote a token or a key
        raise CredentialsError(f"kubeconfig {error.location} is not YAML; {error.fix}") from None
    for mistake in read.mistakes:
        if not mistake.is_repeated_key:
            place = located(str(path), mistake.line)
            raise CredentialsError(f"kubeconfig {place} is not YAML; {mistake.fix}")
    document = read.value
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise CredentialsError(f"kubeconfig {path} is no mapping; it begins with apiVersion, kind: Config")
    for section in ("clusters", "users", "contexts"):
        for entry in document.get(section) or ():
            if isinstance(entry, dict):
                entry["_folder"] = path.parent
    return document


def _merge(documents: list[dict[str, Any]]) -> dict[str, Any]:
    merged: dict[str, Any] = {"clusters": {}, "users": {}, "contexts": {}, "current-context": ""}
    for document in documents:
        merged["current-context"] = merged["current-context"] or document.get("current-context") or ""
        for section in ("clusters", "users", "contexts"):
            for entry in document.get(section) or ():
                if isinstance(entry, dict) and entry.get("name"):
                    merged[section].setdefault(entry["name"], entry)
    return merged


def _access(merged: dict[str, Any], context: str | None, server: str | None, source: str) -> Access:
    wanted = context or merged["current-context"]
    if not wanted and len(merged["contexts"]) == 1:
        wanted = next(iter(merged["contexts"]))
    if not wanted and not merged["contexts"] and len(merged["clusters"]) == 1 and len(merged["users"]) <= 1:
        chosen = {"cluster": next(iter(merged["clusters"])), "user": next(iter(merged["users"]), "")}
    else:
        chosen = _body(merged, "contexts", wanted, "context", source)
    cluster_entry = merged["clusters"].get(chosen.get("cluster")) or {}
    cluster = _body(merged, "clusters", chosen.get("cluster"), "cluster", source)
    user_entry = merged["users"].get(chosen.get("user")) or {}
    user = _body(merged, "users", chosen.get("user"), "user", source) if chosen.get("user") else {}
    url = (server or str(cluster.get("server") or "")).rstrip("/")
    if not url:
        raise CredentialsError(f"{source}: cluster {chosen.get('cluster')} has no server")
    ca_data = _material(cluster, cluster_entry, "certificate-authority")
    client_cert, client_key = (
        _material(user, user_entry, "client-certificate"),
        _material(user, user_entry, "client-key"),
    )
    if (client_cert is None) != (client_key is None):
        raise CredentialsError(
            f"{source}: user {chosen.get('user')} needs both client-certificate and client-key"
        )
    return Access(
        server=url if "://" in url else f"https://{url}",
        tokens=_tokens(user, user_entry, cluster, url),
        ca_data=ca_data.decode() if ca_data is not None else None,
        client_cert=client_cert,
        client_key=client_key,
        insecure=bool(cluster.get("insecure-skip-tls-verify")),
        tls_server_name=cluster.get("tls-server-name") or None,
        proxy_url=_proxy(cluster, url, source),
        impersonate=_impersonation(user),
        source=source,
    )


def _impersonation(user: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the headers of requests on behalf of the user, groups and extra fields that *user* names."""
    if not user.get("as"):
        return []
    headers = [("Impersonate-User", str(user["as"]))]
    headers += [("Impersonate-Group", str(group)) for group in user.get("as-groups") or ()]
    if user.get("as-uid"):
        headers.append(("Impersonate-Uid", str(user["as-uid"])))
    for key, values in (user.get("as-user-extra") or {}).items():
        headers += [(f"Impersonate-Extra-{quote(str(key), safe='')}", str(value)) for value in values]
    return headers


def _proxy(cluster: Mapping[str, Any], server: str, source: str) -> str | None:
    """Return the proxy on the way to *server*: that of the kubeconfig, else that of the environment."""
    where, url = f"{source}: proxy-url", str(cluster.get("proxy-url") or "")
    if not url:
        try:
            there = Address.of(server if "://" in server else f"https://{server}")
        except ValueError as error:
            raise CredentialsError(f"{source}: server cannot be used: {error}") from None
        where, url = f"{there.scheme.upper()}_PROXY", proxy_url(there.scheme, there.host, there.port) or ""
        url = f"http://{url}" if url and "://" not in url else url
    scheme = urlsplit(url).scheme or "nothing"  # the rest may have a password
    if url and scheme not in PORTS:
        raise CredentialsError(f"{where} begins with {scheme}: only http and https proxies are supported")
    return url or None


def _body(merged: dict[str, Any], section: str, name: Any, what: str, source: str) -> dict[str, Any]:
    entry = merged[section].get(name)
    if entry is None:
        there = ", ".join(merged[section]) or "none"
        raise CredentialsError(f"{source}: there is no {what} {name or '(not named)'}; there are: {there}")
    body = entry.get(what)
    return body if isinstance(body, dict) else {}


def _material(body: Mapping[str, Any], entry: Mapping[str, Any], name: str) -> bytes | None:
    """Return the bytes of a certificate or key that stands in the file, or in a file that it names."""
    if data := body.get(f"{name}-data"):
        try:
            return base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError, TypeError):
            raise CredentialsError(f"{entry.get('name')}: {name}-data is not base64") from None
    if file := body.get(name):
        path = Path(entry.get("_folder", ".")) / str(file)
        try:
            return path.read_bytes()
        except OSError as error:
            raise CredentialsError(f"{name} {path} cannot be read: {error.strerror or error}") from None
    return None


def _tokens(
    user: Mapping[str, Any], entry: Mapping[str, Any], cluster: Mapping[str, Any], server: str
) -> TokenSource:
    """Return the source of bearer tokens; of several ways, the one that kubectl takes."""
    if file := user.get("tokenFile"):
        return FileToken(Path(entry.get("_folder", ".")) / str(file))
    if token := user.get("token"):
        return StaticToken(f"Bearer {token}")
    if user.get("username"):
        pair = f"{user['username']}:{user.get('password', '')}".encode()
        return StaticToken(f"Basic {base64.b64encode(pair).decode()}")
    if isinstance(user.get("exec"), dict):
        return ExecCredentials(
            exec_plugin(user["exec"], Path(entry.get("_folder", ".")), {**cluster, "server": server})
        )
    if isinstance(user.get("auth-provider"), dict):
        name = user["auth-provider"].get("name", "")
        raise CredentialsError(
            f"auth-provider {name} is no longer part of Kubernetes; use its exec plugin (users[].user.exec)"
        )
    return NoToken()
