"""Certificates in files: a pair is used as a whole, and replaced while the server runs."""

from __future__ import annotations

import logging
import os
import ssl
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from schedframe._base.tls import REFRESH_SECONDS, RETRY_SECONDS, CertificateWatch
from schedframe.errors import InputError
from schedframe.serve import Endpoints, HttpServer, Listener, application
from schedframe.serve.tls import ServerCertificate, _made, self_signed

from .test_hostile_clients import connected, get, serving

pytest.importorskip("cryptography")


def test_a_certificate_needs_no_folder_for_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container with a read-only root file system."""
    pytest.importorskip("cryptography")

    def refused(*_: object, **__: object) -> None:
        raise FileNotFoundError("No usable temporary directory")

    for name in ("mkstemp", "mkdtemp"):
        monkeypatch.setattr(f"tempfile.{name}", refused)
    assert self_signed("0.0.0.0").get_ciphers()


def files(folder: Path) -> tuple[Path, Path]:
    paths = folder / "cert", folder / "key"
    for path, text in zip(paths, _made("127.0.0.1"), strict=True):
        path.write_bytes(text)
    return paths


def test_a_key_that_does_not_fit_leaves_the_former_certificate_in_use(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    certificate, key = files(tmp_path)
    loaded = ServerCertificate(certificate, key)
    loaded.refresh()
    server = HttpServer(application(Endpoints()), Listener(tls=loaded.context))
    server.start()
    former = ssl.get_server_certificate(("127.0.0.1", server.port))
    try:
        certificate.write_bytes(_made("127.0.0.1")[0])
        with pytest.raises(InputError, match="cannot be used"):
            loaded.refresh()
        assert ssl.get_server_certificate(("127.0.0.1", server.port)) == former
    finally:
        server.close()


def certificate_of(server: HttpServer) -> str:
    return ssl.get_server_certificate(("127.0.0.1", server.port))


def test_a_pair_is_replaced_as_a_whole_and_by_its_content(tmp_path: Path) -> None:
    certificate, key = files(tmp_path)
    loaded = ServerCertificate(certificate, key)
    loaded.refresh()
    with serving(tls=loaded.context) as server:
        former, times = certificate_of(server), [each.stat() for each in (certificate, key)]
        newer = _made("127.0.0.1")
        key.write_bytes(newer[1])  # the key first, or the certificate: none of the two halves is used
        with pytest.raises(InputError, match="cannot be used"):
            loaded.refresh()
        assert certificate_of(server) == former
        certificate.write_bytes(newer[0])
        for path, time in zip((certificate, key), times, strict=True):
            os.utime(path, ns=(time.st_atime_ns, time.st_mtime_ns))
        assert loaded.refresh(), "the same times, other content"
        assert certificate_of(server) == newer[0].decode()
        os.utime(certificate)
        assert not loaded.refresh(), "another time, the same content"


def test_handshakes_in_other_threads_never_see_half_a_pair(tmp_path: Path) -> None:
    certificate, key = files(tmp_path)
    loaded = ServerCertificate(certificate, key)
    loaded.refresh()
    pairs, seen, failures = [_made("127.0.0.1") for _ in range(2)], set[str](), list[OSError]()
    with serving(tls=loaded.context) as server:

        def connect() -> None:
            try:
                while len(seen & {pair[0].decode() for pair in pairs}) < 2:
                    seen.add(certificate_of(server))
            except OSError as error:
                failures.append(error)

        client = threading.Thread(target=connect)
        client.start()
        while client.is_alive():
            for pair in pairs:
                certificate.write_bytes(pair[0])
                with suppress(InputError):  # as long as the other one is not there yet
                    loaded.refresh()
                key.write_bytes(pair[1])
                assert loaded.refresh()
        client.join()
    assert not failures


def test_a_server_with_another_minimum_refuses_older_versions(tmp_path: Path) -> None:
    """The settings of the context that the server is given count, also beside a newer certificate."""
    loaded = ServerCertificate(*files(tmp_path))
    loaded.refresh()
    loaded.context.minimum_version = ssl.TLSVersion.TLSv1_3
    older = ssl._create_unverified_context()
    older.maximum_version = ssl.TLSVersion.TLSv1_2
    with serving(tls=loaded.context) as server, connected(server) as client:
        assert get(server).status == 200
        with pytest.raises(ssl.SSLError):
            older.wrap_socket(client)


def test_what_is_wrong_with_a_certificate_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    certificate, key = files(tmp_path)
    loaded = ServerCertificate(certificate, key)
    watch = CertificateWatch(loaded.refresh, logging.getLogger("schedframe.serve"))
    assert watch.look() == REFRESH_SECONDS
    good = certificate.read_bytes()
    for content in (good[:100], _made("127.0.0.1")[0]):
        certificate.write_bytes(content)
        caplog.clear()
        assert [watch.look() for _ in range(3)] == [RETRY_SECONDS] * 3, "soon again"
        assert len(caplog.records) == 1
    certificate.write_bytes(good)
    assert watch.look() == REFRESH_SECONDS


def test_an_encrypted_key_is_refused(tmp_path: Path) -> None:
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    certificate, key = files(tmp_path)
    plain = serialization.load_pem_private_key(key.read_bytes(), None)
    pkcs8, locked = serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"secret")
    key.write_bytes(plain.private_bytes(serialization.Encoding.PEM, pkcs8, locked))
    with pytest.raises(InputError, match="the key is encrypted"):
        ServerCertificate(certificate, key).refresh()
