"""Certificates are loaded at the first handshake, and verification is not affected."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SCRIPT = '''
import json, ssl, sys
from streamconform.adapters.deferred_certificates import _PENDING, defer_certificate_loading

certificate, key, other = sys.argv[1:]
plain = ssl.create_default_context(cafile=certificate).cert_store_stats()
defer_certificate_loading()
defer_certificate_loading()


def handshake(context):
    """Connect two TLS objects in memory; return what the client makes of the server's certificate."""
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(certificate, key)
    a, b = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(a, b, server_hostname="localhost")
    server = server_context.wrap_bio(b, a, server_side=True)
    for side in (client, server) * 4:
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLCertVerificationError as error:
            return error.verify_code
    return client.version() is not None


def pending(context):
    return len(getattr(context, _PENDING))


trusting, default = ssl.create_default_context(cafile=certificate), ssl.create_default_context()
found = {"pending": [pending(trusting), pending(default)]}
found["trusted"] = handshake(trusting)
found["untrusted"] = handshake(default)
found["left"] = [pending(trusting), pending(default)]
found["same"] = ssl.create_default_context(cafile=certificate).cert_store_stats() == plain
for wrong in ({"cafile": other}, {"cadata": "none"}):
    try:
        ssl.create_default_context(**wrong)
    except (OSError, ValueError) as error:
        found[next(iter(wrong))] = type(error).__name__
print(json.dumps(found))
'''


@pytest.mark.openssl
def test_certificates_are_loaded_late_and_still_decide(tmp_path):
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    words = f"{command} -addext subjectAltName=DNS:localhost -out {certificate} -keyout {key}".split()
    subprocess.run(("openssl", *words), check=True, capture_output=True)
    arguments = ("-c", SCRIPT, certificate, key, tmp_path / "missing.pem")
    done = subprocess.run((sys.executable, *arguments), capture_output=True, text=True, check=True)
    self_signed = 18
    assert json.loads(done.stdout) == {
        "pending": [1, 1],
        "trusted": True,
        "untrusted": self_signed,
        "left": [0, 0],
        "same": True,
        "cafile": "FileNotFoundError",
        "cadata": "SSLError",
    }
