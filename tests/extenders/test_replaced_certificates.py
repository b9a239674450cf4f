"""``schedframe extender`` serves HTTPS with files that are replaced while it runs."""

from __future__ import annotations

import http.client
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="the extra serve is not installed")

from schedframe._base.tls import ServerCertificate
from schedframe.errors import InputError
from schedframe.serve import HttpServer, Listener
from schedframe.serve.extender import extender_application
from schedframe.serve.plugin_extender import PluginExtender
from tests.configurations import META

from .certificates import LOOPBACK, Authority, Pair


class Looked(ServerCertificate):
    """Says when the files were read again, and when they could not be used."""

    def __init__(self, *files: Path) -> None:
        super().__init__(*files)
        self.is_new, self.is_refused = threading.Event(), threading.Event()

    def refresh(self) -> bool:
        try:
            changed = super().refresh()
        except InputError:
            self.is_refused.set()
            raise
        if changed:
            self.is_new.set()
        return changed


@pytest.fixture
def plugins() -> Iterator[PluginExtender]:
    extender = PluginExtender({**META, "profiles": [{}]})
    yield extender
    extender.close()


def asked(server: HttpServer, authority: Authority, client: Pair, folder: Path) -> int:
    context = ssl.create_default_context(cadata=authority.cert.decode())
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    context.load_cert_chain(*client.write(folder, "client"))
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=10, context=context)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status
    finally:
        connection.close()


def test_certificate_key_and_authority_of_clients_are_replaced(
    tmp_path: Path, plugins: PluginExtender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("schedframe.serve.server.REFRESH_SECONDS", 0.01)
    for name in ("REFRESH_SECONDS", "RETRY_SECONDS"):
        monkeypatch.setattr(f"schedframe._base.tls.{name}", 0.01)
    old, new = Authority("old"), Authority("new")
    first, second = old.issue("server", LOOPBACK), new.issue("server", LOOPBACK)
    cert, key = first.write(tmp_path, "server")
    authority = tmp_path / "ca.crt"
    authority.write_bytes(old.cert)
    files = Looked(cert, key, authority)
    files.refresh()
    files.is_new.clear()
    server = HttpServer(extender_application(plugins), Listener(tls=files.context), files.refresh)
    server.start()
    try:
        assert asked(server, old, old.issue("client"), tmp_path) == 200
        with pytest.raises((OSError, http.client.HTTPException)):
            asked(server, old, new.issue("client"), tmp_path)
        authority.write_bytes(new.cert)
        assert files.is_new.wait(10)
        assert asked(server, old, new.issue("client"), tmp_path) == 200
        files.is_new.clear()
        key.write_bytes(second.key)
        assert files.is_refused.wait(10)
        assert asked(server, old, new.issue("client"), tmp_path) == 200, "the former pair"
        cert.write_bytes(second.cert)
        assert files.is_new.wait(10)
        assert asked(server, new, new.issue("client"), tmp_path) == 200
        with pytest.raises((OSError, http.client.HTTPException)):
            asked(server, new, old.issue("client"), tmp_path)
    finally:
        server.close()
