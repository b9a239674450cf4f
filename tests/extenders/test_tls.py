"""Extenders over HTTPS: which servers are trusted, and what a server learns of the scheduler."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography")

from cryptography import x509

import schedframe
from schedframe.errors import ConfigError
from tests.cycle.build import make_node, make_pod

from .certificates import LOOPBACK, Authority, Pair, server_context
from .server import FakeExtender
from .test_bad_servers import config

Start = Callable[..., FakeExtender]
UNTRUSTED = "certificate verify failed"


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority("authority")


@pytest.fixture(scope="module")
def stranger() -> Authority:
    return Authority("stranger")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts servers; they keep all nodes."""
    servers = []

    def start(pair: Pair, clients: Authority | None = None) -> FakeExtender:
        server = FakeExtender(tls=server_context(tmp_path, pair, clients))
        server.answers["/filter"] = [{"body": {"NodeNames": ["node"]}}]
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.close()


def message(server: FakeExtender, tls: dict[str, Any] | None, **more: Any) -> str:
    """Schedule a pod; return why it has no node, nothing if it has one."""
    entry = {"urlPrefix": server.url, "filterVerb": "filter", "nodeCacheCapable": True, **more}
    if tls is not None:
        entry["tlsConfig"] = tls
    with schedframe.Simulation([make_node("node", cpu=8)], config(entry)) as simulation:
        (placed,) = simulation.schedule([make_pod()])
    assert (placed.node_name is None) == bool(placed.message)
    return placed.message


def data(pem: bytes) -> str:
    return base64.b64encode(pem).decode()


def test_a_server_of_the_authority_is_trusted(start: Start, authority: Authority, tmp_path: Path) -> None:
    server = start(authority.issue("server", LOOPBACK))
    file = tmp_path / "ca.crt"
    file.write_bytes(authority.cert)
    assert message(server, {"caData": data(authority.cert)}) == ""
    assert message(server, {"caFile": str(file)}) == ""
    assert message(server, {"caData": data(authority.cert)}, enableHTTPS=True) == ""


def test_data_has_precedence_over_a_file(
    start: Start, authority: Authority, stranger: Authority, tmp_path: Path
) -> None:
    server = start(authority.issue("server", LOOPBACK))
    file = tmp_path / "ca.crt"
    file.write_bytes(stranger.cert)
    assert message(server, {"caData": data(authority.cert), "caFile": str(file)}) == ""


@pytest.mark.parametrize(
    ("tls", "more", "trusted"),
    [
        (None, {}, False),  # an authority that the system does not know
        (None, {"enableHTTPS": True}, True),
        ({"insecure": True}, {}, True),
        ({"serverName": "127.0.0.1"}, {}, False),
        ({"serverName": "127.0.0.1"}, {"enableHTTPS": True}, True),
    ],
)
def test_servers_of_an_unknown_authority(
    start: Start, authority: Authority, tls: dict[str, Any] | None, more: dict[str, Any], trusted: bool
) -> None:
    found = message(start(authority.issue("server", LOOPBACK)), tls, **more)
    assert (found == "") is trusted
    assert trusted or UNTRUSTED in found


def test_another_authority_is_not_trusted(start: Start, authority: Authority, stranger: Authority) -> None:
    server = start(authority.issue("server", LOOPBACK))
    assert UNTRUSTED in message(server, {"caData": data(stranger.cert)})
    assert UNTRUSTED in message(server, {"caData": data(stranger.cert)}, enableHTTPS=True)


@pytest.mark.parametrize("names", [(x509.DNSName("other.example"),), ()])
def test_a_certificate_for_another_host_is_refused(
    start: Start, authority: Authority, names: tuple[x509.GeneralName, ...]
) -> None:
    """The common name does not count, as in Go."""
    server = start(authority.issue("127.0.0.1", *names))
    assert UNTRUSTED in message(server, {"caData": data(authority.cert)})


def test_the_name_of_the_server_may_differ_from_the_host(start: Start, authority: Authority) -> None:
    server = start(authority.issue("server", x509.DNSName("extender.example")))
    ca = {"caData": data(authority.cert)}
    assert message(server, {**ca, "serverName": "extender.example"}) == ""
    assert "other.example" in message(server, {**ca, "serverName": "other.example"})


def test_the_common_name_does_not_count_for_a_server_name(start: Start, authority: Authority) -> None:
    server = start(authority.issue("extender.example"))
    tls = {"caData": data(authority.cert), "serverName": "extender.example"}
    assert UNTRUSTED in message(server, tls)


def test_an_expired_certificate_is_refused(start: Start, authority: Authority) -> None:
    server = start(authority.issue("server", LOOPBACK, days=-1))
    found = message(server, {"caData": data(authority.cert)})
    assert UNTRUSTED in found
    assert "expired" in found
    assert message(server, {"insecure": True}) == ""


def test_a_client_shows_its_certificate(start: Start, authority: Authority, tmp_path: Path) -> None:
    server = start(authority.issue("server", LOOPBACK), authority)
    client = authority.issue("scheduler")
    cert, key = client.write(tmp_path, "client")
    ca = {"caData": data(authority.cert)}
    assert message(server, {**ca, "certData": data(client.cert), "keyData": data(client.key)}) == ""
    assert message(server, {**ca, "certFile": str(cert), "keyFile": str(key)}) == ""
    assert message(server, {**ca, "certData": data(client.cert), "keyFile": str(key)}) == ""


def test_a_server_may_refuse_clients(start: Start, authority: Authority, stranger: Authority) -> None:
    server = start(authority.issue("server", LOOPBACK), authority)
    client = stranger.issue("scheduler")
    ca = {"caData": data(authority.cert)}
    assert message(server, ca).startswith(f'Post "{server.url}/filter": ')
    pair = {"certData": data(client.cert), "keyData": data(client.key)}
    assert message(server, {**ca, **pair}).startswith(f'Post "{server.url}/filter": ')


def test_a_certificate_without_its_key_is_left_out(start: Start, authority: Authority) -> None:
    """As in the reference."""
    server = start(authority.issue("server", LOOPBACK))
    client = authority.issue("scheduler")
    assert message(server, {"caData": data(authority.cert), "certData": data(client.cert)}) == ""


def test_settings_that_cannot_be_used_are_refused_before_any_request(authority: Authority) -> None:
    entry = {"urlPrefix": "https://127.0.0.1:1", "filterVerb": "filter"}
    ca = data(authority.cert)
    client = authority.issue("scheduler")
    for tls, words in (
        ({"caData": ca, "insecure": True}, "drop one"),
        ({"caFile": "/does/not/exist"}, "cannot be read"),
        ({"caData": data(b"no certificate")}, "holds no PEM block"),
        (
            {"certData": data(client.cert), "keyData": data(authority.issue("other").key)},
            "cannot be used",
        ),
        ({"caData": data(b"-----BEGIN CERTIFICATE-----\nnonsense\n")}, "cannot be used"),
    ):
        with pytest.raises(ConfigError, match=words):
            schedframe.Simulation([], config({**entry, "tlsConfig": tls}))


def test_requests_over_tls_keep_their_connection(start: Start, authority: Authority) -> None:
    server = start(authority.issue("server", LOOPBACK))
    nodes = [make_node(f"node-{i:04d}", cpu=8) for i in range(3000)]
    names = [node.name for node in nodes]
    server.answers["/filter"] = [{"body": {"NodeNames": names}}]
    entry = {
        "urlPrefix": server.url,
        "filterVerb": "filter",
        "nodeCacheCapable": True,
        "tlsConfig": {"caData": data(authority.cert)},
    }
    with schedframe.Simulation(nodes, config(entry)) as simulation:
        placed = simulation.schedule([make_pod(f"pod-{i}") for i in range(5)])
    assert all(each.node_name for each in placed)
    assert server.connections == 1
    assert server.requests[-1].body["NodeNames"] == names
