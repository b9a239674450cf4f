"""Redirects of extenders: which are followed, how often, and where they may lead."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cycle.build import make_pod

from .test_answers import KEEP, RawServer, extender_of, outcome, plain, world


def redirect(location: str, status: int = 307) -> bytes:
    return plain(b"moved", b"Location: " + location.encode()).replace(b"200 OK", b"%d Moved" % status)


@pytest.fixture
def servers() -> Iterator[tuple[RawServer, RawServer]]:
    """One to be redirected by, and one that keeps node-1."""
    made = RawServer(), RawServer([plain(KEEP)])
    yield made
    for server in made:
        server.close()


@pytest.mark.parametrize("status", [307, 308])
def test_the_request_is_repeated_where_a_redirect_leads(
    servers: tuple[RawServer, RawServer], status: int
) -> None:
    first, second = servers
    first.answers = [redirect(f"{second.url}/other/filter?x=1", status)]
    assert outcome(first) == "node-1"
    assert second.heads[0].startswith(b"POST /other/filter?x=1 HTTP/1.1\r\n")
    assert second.bodies == first.bodies


def test_connections_to_both_servers_are_kept(servers: tuple[RawServer, RawServer]) -> None:
    first, second = servers
    first.answers = [redirect(f"{second.url}/filter")]
    with world(first) as simulation:
        for _ in range(3):
            assert simulation.evaluate(make_pod()).best == ["node-1"]
        assert extender_of(simulation).idle_connections == 2
    assert (first.requests, first.connections) == (second.requests, second.connections) == (3, 1)


def test_a_location_may_be_relative() -> None:
    server = RawServer([redirect("../there filter"), plain(KEEP)])
    assert outcome(server, urlPrefix=f"{server.url}/a/b") == "node-1"
    assert server.heads[1].startswith(b"POST /a/there%20filter HTTP/1.1\r\n")
    server.close()


def test_the_tenth_redirect_is_an_error() -> None:
    """As in Go, which counts requests."""
    server = RawServer([redirect("/again")])
    assert f'Post "{server.url}/filter": stopped after 10 redirects' in outcome(server)
    assert server.requests == 10
    server.close()


def test_nine_redirects_are_followed() -> None:
    server = RawServer([*[redirect("/again")] * 9, plain(KEEP)])
    assert outcome(server) == "node-1"
    server.close()


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_redirect_that_would_lose_the_request_is_an_error(status: int) -> None:
    """Go repeats it as a GET without a body, which no extender can answer."""
    server = RawServer([redirect("https://elsewhere/filter", status), plain(KEEP)])
    found = outcome(server)
    assert f"failed filter with extender at URL {server.url}/filter, code {status}" in found
    assert "it redirects to https://elsewhere/filter with a code that does not repeat the request" in found
    assert server.requests == 1
    server.close()


def test_a_redirect_without_a_location_is_an_error() -> None:
    server = RawServer([plain(b"").replace(b"200 OK", b"307 Moved"), plain(KEEP)])
    assert f"failed filter with extender at URL {server.url}/filter, code 307" in outcome(server)
    server.close()


@pytest.mark.parametrize("location", ["ftp://elsewhere/filter", "http://[bad/filter", "mailto:example"])
def test_a_location_that_cannot_be_used_is_an_error(location: str) -> None:
    server = RawServer([redirect(location)])
    assert "cannot" in outcome(server)
    server.close()


def test_a_failure_after_a_redirect_names_both_urls(servers: tuple[RawServer, RawServer]) -> None:
    first, second = servers
    first.answers = [redirect(f"{second.url}/filter")]
    second.answers = [plain(b"").replace(b"200 OK", b"500 Broken")]
    found = outcome(first)
    assert f"at URL {first.url}/filter, code 500 from {second.url}/filter, to which it redirected" in found


def test_redirects_share_one_timeout(servers: tuple[RawServer, RawServer]) -> None:
    first, second = servers
    first.answers = [redirect(f"{second.url}/filter")]
    second.answers = [b""]
    assert "no answer in time, within 0.3s" in outcome(first, httpTimeout="300ms")


def test_servers_without_end_are_not_kept() -> None:
    """Each name of this machine counts as a server of its own."""
    server = RawServer()
    port = server.url.rpartition(":")[2]
    with world(server) as simulation:
        for i in range(1, 40):
            server.answers = [redirect(f"http://127.0.0.{i + 1}:{port}/filter"), plain(KEEP)]
            simulation.evaluate(make_pod())
        assert extender_of(simulation).idle_connections <= 16
        server.answers = [plain(KEEP)]
        assert simulation.evaluate(make_pod()).best == ["node-1"]
    server.close()
