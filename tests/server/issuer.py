"""An issuer of tokens for tests: keys made here, and their JWK set served on loopback."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

NAME = "https://issuer.example"
AUDIENCE = "umi-of-tests"
MAKERS: dict[str, Any] = {
    "RS256": (lambda: rsa.generate_private_key(65537, 2048), RSAAlgorithm),
    "ES256": (lambda: ec.generate_private_key(ec.SECP256R1()), ECAlgorithm),
    "EdDSA": (ed25519.Ed25519PrivateKey.generate, OKPAlgorithm),
}


class Issuer:
    """Keys by id, what the server answers instead of their set, and how often it was asked."""

    def __init__(self) -> None:
        self.private: dict[str, tuple[str, Any]] = {}
        self.listed: list[dict[str, Any]] = []
        self.answer: tuple[int, bytes] | None = None
        self.wait_s = 0.0
        self.fetched_count = 0
        self.url = ""

    def make(self, kid: str, algorithm: str) -> dict[str, Any]:
        """A new key, which the set has from now on; as the set has it."""
        make, codec = MAKERS[algorithm]
        self.private[kid] = (algorithm, make())
        public = codec.to_jwk(self.private[kid][1].public_key(), as_dict=True)
        self.listed.append({**public, "kid": kid, "use": "sig", "alg": algorithm})
        return self.listed[-1]

    def token(self, kid: str = "rs", *, headers: dict[str, Any] | None = None, **claims: Any) -> str:
        """A token of the issuer, good for five minutes; a claim that is None is left out."""
        now = int(time.time())
        all_claims = {"iss": NAME, "aud": AUDIENCE, "sub": "ann", "exp": now + 300, "iat": now, **claims}
        algorithm, key = self.private[kid]
        said = {name: value for name, value in all_claims.items() if value is not None}
        return jwt.encode(said, key, algorithm, headers={"kid": kid, **(headers or {})})

    def content(self) -> tuple[int, bytes]:
        self.fetched_count += 1
        time.sleep(self.wait_s)
        return self.answer or (200, json.dumps({"keys": self.listed}).encode())


@contextmanager
def issuing() -> Iterator[Issuer]:
    """An issuer with a key of each algorithm: rs, es and ed."""
    issuer = Issuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, content = issuer.content()
            self.send_response(status)
            if status == 302:
                self.send_header("Location", issuer.url + "/other")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    for kid, algorithm in (("rs", "RS256"), ("es", "ES256"), ("ed", "EdDSA")):
        issuer.make(kid, algorithm)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        issuer.url = f"http://127.0.0.1:{server.server_address[1]}/keys"
        try:
            yield issuer
        finally:
            server.shutdown()
            thread.join()
