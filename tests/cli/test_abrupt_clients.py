"""Servers outlive clients that leave, break off or hang; each is started by ``main()`` in a process."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("cryptography", reason="the extra serve is not installed")
pytest.importorskip("uvicorn", reason="the extra serve is not installed")

from .abrupt_clients import KINDS, SERVERS, Server, hang, send

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs signals of POSIX")

CLIENTS = 20


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
@pytest.mark.slow
def test_a_server_outlives_abrupt_clients(server: Server) -> None:
    with server.running() as running:
        for kind in KINDS:
            send(running, kind, CLIENTS)
            assert running.answers(), kind.__name__
        assert hang(running, CLIENTS) == 1
        assert running.answers()
