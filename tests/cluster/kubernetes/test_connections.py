"""Connections to a real TLS server: who it is, who the client is, and proxies on the way."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from schedframe.cluster.kubernetes.client import ApiClient
from schedframe.cluster.kubernetes.errors import ApiError, CredentialsError, NoAnswer, Unreachable
from schedframe.cluster.kubernetes.kubeconfig import load_access

from .scripted import run

FOLDER = Path(__file__).parent / "certificates"


def kubeconfig(folder: Path, port: int, user: dict[str, Any], **cluster: Any) -> Path:
    file = folder / "config"
    cluster = {
        "server": f"https://127.0.0.1:{port}",
        "certificate-authority": str(FOLDER / "ca.pem"),
        "tls-server-name": "api.example",
        **cluster,
    }
    document = {
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    file.write_text(json.dumps(document))
    return file


@asynccontextmanager
async def server(*, refuse: str | None = None) -> AsyncIterator[int]:
    """A server that answers with the name in the client's certificate; 401 for *refuse*."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(FOLDER / "ca.pem"))
    context.verify_mode = ssl.CERT_OPTIONAL
    # The certificates lack key usage, which many authorities of clusters lack and Python 3.13 asks for.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.load_cert_chain(FOLDER / "server.pem", FOLDER / "server.key")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = writer.get_extra_info("peercert") or {}
        name = peer["subject"][0][0][1] if peer else ""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                headers = [line for line in head.decode().split("\r\n") if line.startswith("Impersonate")]
                body = json.dumps({"name": name, "headers": headers}).encode()
                status = "401 Unauthorized" if name == refuse else "200 OK"
                writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        except asyncio.IncompleteReadError:
            writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()


async def asked(client: ApiClient) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(await client.request("GET", "/version"))
    return answer


def printing(folder: Path, *names: str, expires: str = "2999-01-01T00:00:00Z") -> dict[str, Any]:
    """Return a user whose exec plugin prints the certificates *names*, one after the other."""
    for number, name in enumerate(names):
        status = {
            "clientCertificateData": (FOLDER / f"{name}.pem").read_text(),
            "clientKeyData": (FOLDER / f"{name}.key").read_text(),
            "expirationTimestamp": expires,
        }
        document = {"kind": "ExecCredential", "status": status}
        (folder / f"credential-{number}").write_text(json.dumps(document))
    script = folder / "plugin.sh"
    script.write_text(
        f'#!/bin/sh\ncd {folder}\ncat "$(ls credential-* | head -1)"\n'
        'test "$(ls credential-* | wc -l)" = 1 || rm "$(ls credential-* | head -1)"\n'
    )
    script.chmod(0o755)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(script)}}


def test_the_certificate_of_an_exec_plugin_is_renewed_when_it_expires(tmp_path: Path) -> None:
    async def names() -> list[str]:
        async with server() as port:
            user = printing(tmp_path, "first", "second", expires="2020-01-01T00:00:00Z")
            client = ApiClient(load_access(kubeconfig(tmp_path, port, user)))
            seen = [(await asked(client))["name"], (await asked(client))["name"]]
            await client.close()
        return seen

    assert run(names) == ["first", "second"]


def test_a_refused_certificate_is_renewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedframe.cluster.kubernetes.credentials.REFUSED_AGAIN_SECONDS", 0.0)

    async def name() -> str:
        async with server(refuse="first") as port:
            user = printing(tmp_path, "first", "second")
            client = ApiClient(load_access(kubeconfig(tmp_path, port, user)))
            seen: str = (await asked(client))["name"]
            await client.close()
        return seen

    assert run(name) == "second"


def test_a_certificate_that_was_just_renewed_is_not_renewed_again(tmp_path: Path) -> None:
    async def ask() -> None:
        async with server(refuse="first") as port:
            user = printing(tmp_path, "first", "second")
            client = ApiClient(load_access(kubeconfig(tmp_path, port, user)))
            try:
                await asked(client)
            finally:
                await client.close()

    with pytest.raises(ApiError, match="401"):
        run(ask)


@pytest.mark.parametrize("missing", ["clientKeyData", "clientCertificateData"])
def test_half_a_certificate(tmp_path: Path, missing: str) -> None:
    user = printing(tmp_path, "first")
    file = tmp_path / "credential-0"
    document = json.loads(file.read_text())
    del document["status"][missing]
    file.write_text(json.dumps(document))
    access = load_access(kubeconfig(tmp_path, 1, user))
    with pytest.raises(CredentialsError, match=f"gave no {missing}"):
        run(access.tokens.header)


def test_an_encrypted_key_is_refused_and_no_password_is_asked_for(tmp_path: Path) -> None:
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    plain = serialization.load_pem_private_key((FOLDER / "first.key").read_bytes(), None)
    pkcs8, locked = serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"secret")
    (tmp_path / "key").write_bytes(plain.private_bytes(serialization.Encoding.PEM, pkcs8, locked))
    user = {"client-certificate": str(FOLDER / "first.pem"), "client-key": "key"}
    with pytest.raises(CredentialsError, match="the key is encrypted"):
        ApiClient(load_access(kubeconfig(tmp_path, 1, user)))


def test_the_certificate_of_the_kubeconfig(tmp_path: Path) -> None:
    user = {
        "client-certificate": str(FOLDER / "second.pem"),
        "client-key-data": base64.b64encode((FOLDER / "second.key").read_bytes()).decode(),
    }

    async def name() -> str:
        async with server() as port:
            client = ApiClient(load_access(kubeconfig(tmp_path, port, user)))
            seen: str = (await asked(client))["name"]
            await client.close()
        return seen

    assert run(name) == "second"


def test_the_name_in_the_certificate_of_the_server_counts(tmp_path: Path) -> None:
    async def ask() -> None:
        async with server() as port:
            client = ApiClient(load_access(kubeconfig(tmp_path, port, {}, **{"tls-server-name": None})))
            try:
                await asked(client)
            finally:
                await client.close()

    with pytest.raises((NoAnswer, Unreachable), match="certificate verify failed"):
        run(ask)


def test_requests_for_another_user(tmp_path: Path) -> None:
    user = {"as": "jane", "as-groups": ["a", "b"], "as-uid": "7", "as-user-extra": {"example.com/x": ["y"]}}

    async def headers() -> list[str]:
        async with server() as port:
            client = ApiClient(load_access(kubeconfig(tmp_path, port, user)))
            seen: list[str] = (await asked(client))["headers"]
            await client.close()
        return seen

    assert run(headers) == [
        "Impersonate-User: jane",
        "Impersonate-Group: a",
        "Impersonate-Group: b",
        "Impersonate-Uid: 7",
        "Impersonate-Extra-example.com%2Fx: y",
    ]


def test_a_proxy_on_the_way(tmp_path: Path) -> None:
    passed: list[str] = []

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        passed.append(head.split("\r\n")[0])
        there_reader, there_writer = await asyncio.open_connection(
            "127.0.0.1", int(head.split()[1].split(":")[1])
        )
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")

        async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65536):
                sink.write(data)

        await asyncio.gather(copy(reader, there_writer), copy(there_reader, writer), return_exceptions=True)

    async def name() -> str:
        proxy = await asyncio.start_server(tunnel, "127.0.0.1", 0)
        address = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
        async with server() as port:
            user = printing(tmp_path, "first")
            client = ApiClient(load_access(kubeconfig(tmp_path, port, user, **{"proxy-url": address})))
            seen: str = (await asked(client))["name"]
            await client.close()
        proxy.close()
        return seen

    assert run(name) == "first"
    assert [line.split()[0] for line in passed] == ["CONNECT"]


def test_the_proxy_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("https_proxy", "no_proxy", "NO_PROXY", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")

    def proxy_for(server: str) -> str | None:
        return load_access(kubeconfig(tmp_path, 1, {}, server=server)).proxy_url

    assert proxy_for("https://api.example:6443") == "http://proxy.example:3128"
    assert proxy_for("https://127.0.0.1:6443") is None
    assert proxy_for("http://api.example:8080") is None
    monkeypatch.setenv("NO_PROXY", "api.example")
    assert proxy_for("https://api.example:6443") is None


def test_a_proxy_of_another_kind(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match="begins with socks5: only http and https") as caught:
        load_access(kubeconfig(tmp_path, 1, {}, **{"proxy-url": "socks5://user:hidden@proxy.example"}))
    assert "hidden" not in str(caught.value)
