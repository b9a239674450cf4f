"""Kubeconfig files: contexts, several files, relative paths, credentials, and messages that name the fix."""

from __future__ import annotations

import asyncio
import base64
import os
from math import nan
from pathlib import Path
from typing import Any

import pytest
import yaml
from attrs import evolve

from schedframe import InputError
from schedframe.cluster.kubernetes import (
    Access,
    CredentialsError,
    KubernetesCluster,
    in_cluster_access,
    load_access,
)
from schedframe.cluster.kubernetes.credentials import FileToken, StaticToken, exec_plugin


def config(**parts: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "clusters": [{"name": "c", "cluster": {"server": "https://one:6443/", **parts.get("cluster", {})}}],
        "users": [{"name": "u", "user": parts.get("user", {"token": "secret"})}],
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u"}}],
    }


def written(path: Path, document: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(document))
    return path


def header(access: Any) -> str | None:
    value: str | None = asyncio.run(access.tokens.header())
    return value


def test_the_current_context_names_server_and_user(tmp_path: Path) -> None:
    access = load_access(written(tmp_path / "config", config()))
    assert access.server == "https://one:6443"
    assert header(access) == "Bearer secret"
    assert not access.insecure
    assert access.ca_data is None


def test_another_context_and_server(tmp_path: Path) -> None:
    document = config()
    document["clusters"].append({"name": "d", "cluster": {"server": "https://two"}})
    document["contexts"].append({"name": "other", "context": {"cluster": "d", "user": "u"}})
    file = written(tmp_path / "config", document)
    assert load_access(file, context="other").server == "https://two"
    assert load_access(file, server="https://three/").server == "https://three"
    with pytest.raises(CredentialsError, match=r"no context third; there are: main, other"):
        load_access(file, context="third")


def test_of_several_files_the_first_entry_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = config(), config()
    del first["current-context"]
    first["clusters"][0]["cluster"]["server"] = "https://first"
    second["users"].append({"name": "v", "user": {"token": "other"}})
    second["contexts"].append({"name": "both", "context": {"cluster": "c", "user": "v"}})
    files = [written(tmp_path / name, document) for name, document in (("a", first), ("b", second))]
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, [*files, tmp_path / "absent"])))
    assert load_access().server == "https://first"
    assert header(load_access(context="both")) == "Bearer other"


def test_relative_files_are_relative_to_their_kubeconfig(tmp_path: Path) -> None:
    file = written(
        tmp_path / "deep" / "config",
        config(cluster={"certificate-authority": "ca.crt"}, user={"tokenFile": "token"}),
    )
    (file.parent / "ca.crt").write_text("PEM")
    (file.parent / "token").write_text("from-file\n")
    access = load_access(file)
    assert access.ca_data == "PEM"
    assert header(access) == "Bearer from-file"


def test_data_in_the_file(tmp_path: Path) -> None:
    data = base64.b64encode(b"PEM").decode()
    user = {"client-certificate-data": data, "client-key-data": data}
    access = load_access(
        written(tmp_path / "config", config(cluster={"certificate-authority-data": data}, user=user))
    )
    assert (access.ca_data, access.client_cert, access.client_key) == ("PEM", b"PEM", b"PEM")
    assert header(access) is None


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    data = base64.b64encode(b"PRIVATE").decode()
    user = {"client-certificate-data": data, "client-key-data": data, "token": "secret-token"}
    document = config(cluster={"server": "http://one"}, user=user)
    access = load_access(written(tmp_path / "config", document))
    with KubernetesCluster(access=access) as cluster:
        for shown in (repr(access), repr(cluster), repr(access.tokens)):
            assert "PRIVATE" not in shown
            assert "secret-token" not in shown


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"qps": nan}, "qps: nan is not a finite number; give requests a second"),
        ({"burst": 0}, "burst: 0 is below 1; give 1 or more"),
        ({"sync_timeout": nan}, "sync_timeout: nan is not a finite number; give seconds"),
        ({"sync_timeout": -1}, "sync_timeout: -1 is below 0; give seconds"),
        ({"binding_limit": 0}, "binding_limit: 0 is below 1; give 1 or more"),
        ({"nomination_delay": nan}, "nomination_delay: nan is not a finite number; give seconds"),
    ],
)
def test_numbers_of_a_connection_are_checked(options: Any, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        KubernetesCluster(access=Access("http://one", StaticToken("x")), **options)
    assert str(caught.value) == problem


def test_certificates_that_are_none(tmp_path: Path) -> None:
    data = base64.b64encode(b"no PEM").decode()
    user = {"client-certificate-data": data, "client-key-data": data}
    file = written(tmp_path / "config", config(user=user))
    with pytest.raises(CredentialsError, match="client-key cannot be used"):
        KubernetesCluster.from_kubeconfig(file)


def test_the_rest_of_a_cluster(tmp_path: Path) -> None:
    cluster = {"insecure-skip-tls-verify": True, "tls-server-name": "name", "proxy-url": "http://proxy"}
    access = load_access(
        written(tmp_path / "config", config(cluster=cluster, user={"username": "a", "password": "b"}))
    )
    assert (access.insecure, access.tls_server_name, access.proxy_url) == (True, "name", "http://proxy")
    assert header(access) == f"Basic {base64.b64encode(b'a:b').decode()}"


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (config(user={"client-certificate-data": "QQ=="}), "both client-certificate and client-key"),
        (config(user={"client-certificate-data": "?", "client-key-data": "?"}), "is not base64"),
        (config(user={"auth-provider": {"name": "gcp"}}), "use its exec plugin"),
        (config(cluster={"certificate-authority": "absent"}), "cannot be read"),
        (config(cluster={"server": ""}), "has no server"),
        ([1], "is no mapping"),
        ({}, "there is no context"),
    ],
)
def test_what_cannot_be_used_is_an_error(tmp_path: Path, document: Any, message: str) -> None:
    with pytest.raises(CredentialsError, match=message):
        load_access(written(tmp_path / "config", document))


def test_a_file_that_does_not_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CredentialsError, match="does not exist"):
        load_access(tmp_path / "absent")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "absent"))
    with pytest.raises(CredentialsError, match="names no file that exists"):
        load_access()


def test_no_kubeconfig_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(CredentialsError, match="name a file with --kubeconfig"):
        load_access()


def test_the_service_account_of_a_pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    with pytest.raises(CredentialsError, match="no pod with a service account"):
        in_cluster_access(tmp_path)
    (tmp_path / "token").write_text("mounted")
    (tmp_path / "ca.crt").write_text("PEM")
    access = in_cluster_access(tmp_path)
    assert access.server == "https://[fd00::1]:443"
    assert header(access) == "Bearer mounted"


def test_a_token_file_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    file = tmp_path / "token"
    file.write_text("one")
    tokens = FileToken(file)

    async def read() -> list[str | None]:
        values = [await tokens.header()]
        file.write_text("two")
        values.append(await tokens.header())
        now[0] = 61.0
        values.append(await tokens.header())
        file.write_text("three")
        assert tokens.refused("Bearer one")  # refused before the file was read again
        values.append(await tokens.header())
        assert tokens.refused("Bearer two")
        values.append(await tokens.header())
        file.unlink()
        now[0] = 200.0
        values.append(await tokens.header())
        return values

    # asyncio itself reads the clock, so the loop is driven by hand.
    steps = read()
    with pytest.raises(StopIteration) as end:
        steps.send(None)
    words = ["one", "one", "two", "two", "three", "three"]
    assert end.value.value == [f"Bearer {word}" for word in words]
    assert not StaticToken("x").refused("x")


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe"])
def test_a_token_file_that_is_being_written_leaves_the_last_token(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    file = tmp_path / "token"
    file.write_bytes(content)
    tokens = FileToken(file)

    def header() -> str | None:
        with pytest.raises(StopIteration) as end:  # asyncio itself reads the clock
            tokens.header().send(None)  # type: ignore[attr-defined]  # it is a coroutine
        value: str | None = end.value.value
        return value

    with pytest.raises(CredentialsError, match="token file"):
        tokens.header().send(None)  # type: ignore[attr-defined]  # it is a coroutine
    file.write_text("one")
    assert header() == "Bearer one"
    now[0] = 61.0
    file.write_bytes(content)
    assert header() == "Bearer one"
    file.write_text("two")
    assert header() == "Bearer two", "the next request looks again, without another minute"


def plugin(tmp_path: Path, body: str) -> dict[str, Any]:
    script = tmp_path / "plugin.sh"
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(0o755)
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "./plugin.sh",
            "args": ["say"],
            "env": [{"name": "WORD", "value": "hello"}],
            "installHint": "install it",
        }
    }


CREDENTIAL = '{"kind": "ExecCredential", "status": {"token": "%s", "expirationTimestamp": "%s"}}'


def test_an_exec_plugin_runs_again_when_its_token_expires(tmp_path: Path) -> None:
    count = tmp_path / "count"
    number, until = f'$(wc -l < {count} | tr -d " ")', f"$(cat {tmp_path}/until)"
    body = f'echo x >> {count}; printf \'{CREDENTIAL}\' "$WORD-$1-{number}" "{until}"'
    file = written(tmp_path / "config", config(user=plugin(tmp_path, body)))
    (tmp_path / "until").write_text("2020-01-01T00:00:00Z")
    access = load_access(file)

    async def headers() -> list[str | None]:
        values = [await access.tokens.header(), await access.tokens.header()]
        (tmp_path / "until").write_text("2999-01-01T00:00:00Z")
        values += [await access.tokens.header(), await access.tokens.header()]
        assert access.tokens.refused("Bearer hello-say-2")  # one that was replaced before the answer came
        values.append(await access.tokens.header())
        assert access.tokens.refused("Bearer hello-say-3")
        return [*values, await access.tokens.header()]

    assert asyncio.run(headers()) == [f"Bearer hello-say-{number}" for number in (1, 2, 3, 3, 3, 4)]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("exit 3", "ended with code 3"),
        ("echo nonsense", "printed no ExecCredential"),
        ('echo \'{"kind": "ExecCredential", "status": {}}\'', "neither token nor certificate"),
    ],
)
def test_an_exec_plugin_that_fails(tmp_path: Path, body: str, message: str) -> None:
    file = written(tmp_path / "config", config(user=plugin(tmp_path, body)))
    with pytest.raises(CredentialsError, match=message):
        header(load_access(file))


def test_an_exec_plugin_that_is_not_installed(tmp_path: Path) -> None:
    user = plugin(tmp_path, "")
    user["exec"]["command"] = "no-such-command-anywhere"
    with pytest.raises(CredentialsError, match=r"cannot be run: .*; install it"):
        header(load_access(written(tmp_path / "config", config(user=user))))


@pytest.mark.parametrize(
    "text", ["token: 'hidden\n", "token: *hidden\n", "a: {token: hidden\n", "token: a: hidden\n"]
)
def test_an_error_of_the_file_quotes_no_secret(text: str, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(CredentialsError, match="is not YAML") as caught:
        load_access(path)
    assert "hidden" not in str(caught.value)


def test_a_description_has_no_secret(tmp_path: Path) -> None:
    plugin = exec_plugin({"command": "c", "env": [{"name": "N", "value": "hidden"}]}, tmp_path, {})
    access = Access("https://h", StaticToken("Bearer hidden"), client_key=b"hidden")
    for each in (plugin, access, evolve(access, proxy_url="http://user:hidden@proxy")):
        assert "hidden" not in repr(each)
