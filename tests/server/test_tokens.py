"""Tokens of an issuer: who they let in, and that nothing that is forged, stale or meant for others does."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import live_server
import pytest
from cryptography.hazmat.primitives import serialization
from issuer import AUDIENCE, NAME, Issuer, issuing
from live_server import make_key, umi
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

EPISODES = "/v1/namespaces/alice/episodes"
RECALL = "/v1/namespaces/alice/recall"
STATS = "/v1/namespaces/alice/stats"
TOLD = {"content": "I live in Oslo.", "speaker": "Ann"}
ASKED = {"query": "Where does Ann live?"}
GRANTS = {"umi_grants": ["alice=read,write"]}


class Guarded:
    """A server that takes keys and tokens, and the issuer of the tokens."""

    def __init__(self, live: live_server.Live, issuer: Issuer, key: str) -> None:
        self.live, self.issuer, self.key = live, issuer, key
        self.client = live.client()

    def ask(self, token: str | None, method: str, path: str, body: Any = None) -> Any:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return self.client.request(method, path, json=body, headers=headers)


def options(issuer: Issuer, *more: str) -> list[str]:
    return ["--jwks", issuer.url, "--issuer", NAME, "--audience", AUDIENCE, *more]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("guarded")
    key = make_key(folder / "umi.db", "alice=all")
    more = ["--namespace-claim", "tenant", "--audit", str(folder / "audit.jsonl"), "--rate", "0"]
    with issuing() as issuer, live_server.running(folder / "umi.db", *options(issuer, *more)) as live:
        made = Guarded(live, issuer, key)
        yield made
        made.client.close()


@pytest.mark.parametrize("kid", ["rs", "es", "ed"])
def test_a_token_may_do_what_its_claims_grant_and_no_more(guarded: Guarded, kid: str) -> None:
    token = guarded.issuer.token(kid, **GRANTS)
    told = guarded.ask(token, "POST", EPISODES, {**TOLD, "id": kid})
    assert told.status_code == 201, told.text
    assert "Oslo" in guarded.ask(token, "POST", RECALL, ASKED).json()["hits"][0]["content"]
    assert guarded.ask(token, "POST", "/v1/namespaces/alice/maintain").status_code == 403
    assert guarded.ask(token, "GET", "/v1/namespaces/bob/stats").status_code == 403
    assert guarded.ask(token, "GET", "/metrics").status_code == 403
    assert guarded.ask(guarded.key, "GET", STATS).status_code == 200, "keys work beside tokens"


def test_grants_may_be_words_among_scopes(guarded: Guarded) -> None:
    token = guarded.issuer.token(umi_grants="openid alice=read team/*=read,write profile")
    assert guarded.ask(token, "GET", STATS).status_code == 200
    assert guarded.ask(token, "POST", "/v1/namespaces/team%2Fx/episodes", TOLD).status_code == 201
    assert guarded.ask(token, "POST", EPISODES, TOLD).status_code == 403


def test_a_namespace_claim_opens_that_one_namespace(guarded: Guarded) -> None:
    token = guarded.issuer.token(tenant="carol", aud=["other", AUDIENCE])
    path = "/v1/namespaces/carol"
    assert guarded.ask(token, "POST", f"{path}/episodes", {**TOLD, "id": "m1"}).status_code == 201
    assert guarded.ask(token, "POST", f"{path}/forget", {"id": "m1"}).status_code == 200
    assert guarded.ask(token, "POST", f"{path}/maintain").status_code == 403
    assert guarded.ask(token, "GET", "/v1/namespaces/carol2/stats").status_code == 403
    assert guarded.ask(token, "GET", STATS).status_code == 403


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"umi_grants": []},
        {"umi_grants": "openid profile"},
        {"umi_grants": ["alice=fly"]},
        {"umi_grants": ["alice=read", "=all"]},
        {"umi_grants": {"alice": "all"}},
        {"umi_grants": [["alice=all"], 7, None]},
        {"umi_grants": ["alice=read"] * 300},
        {"tenant": "*"},
        {"tenant": "ali*"},
        {"tenant": "a" * 257},
        {"tenant": ["alice"]},
        {"tenant": " "},
    ],
    ids=str,
)
def test_who_is_granted_nothing_may_do_nothing(guarded: Guarded, claims: dict[str, Any]) -> None:
    refused = guarded.ask(guarded.issuer.token(**claims), "GET", STATS)
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


def test_a_token_that_is_not_meant_for_this_server_now_opens_nothing(guarded: Guarded) -> None:
    now, token = int(time.time()), guarded.issuer.token
    for wrong, why in (
        (token(exp=now - 60, **GRANTS), "expired"),
        (token(exp=None, **GRANTS), "exp"),
        (token(exp=True, **GRANTS), "exp"),
        (token(exp=10**400, **GRANTS), "exp"),
        (token(nbf=now + 300, **GRANTS), "not valid yet"),
        (token(aud="another", **GRANTS), "--audience"),
        (token(aud=[AUDIENCE + "x"], **GRANTS), "--audience"),
        (token(aud=None, **GRANTS), "--audience"),
        (token(iss=NAME + "/", **GRANTS), "--issuer"),
        (token(iss=None, **GRANTS), "--issuer"),
        (token(sub=None, **GRANTS), "sub"),
        (token(sub="", **GRANTS), "sub"),
        (token(sub="s" * 257, **GRANTS), "sub"),
        (token(headers={"typ": "logout+jwt"}, **GRANTS), "type"),
        (token(headers={"crit": ["x"], "x": 1}, **GRANTS), "neither"),
        (token(padding="x" * 17_000, **GRANTS), "16,384"),
    ):
        refused = guarded.ask(wrong, "GET", STATS)
        assert (refused.status_code, refused.json()["code"]) == (401, "unauthorized"), why
        assert why in refused.json()["detail"]
        assert 'error="invalid_token"' in refused.headers["WWW-Authenticate"]
    assert guarded.ask(token(exp=now - 5, nbf=now + 5, **GRANTS), "GET", STATS).status_code == 200, "clocks differ"


def forged(issuer: Issuer) -> dict[str, str]:
    """Tokens that the issuer did not sign."""
    good = issuer.token(**GRANTS)
    head, payload, signature = good.split(".")
    claims = json.loads(packed(payload))
    more = part({**claims, "umi_grants": ["*=all"]})
    public = issuer.private["rs"][1].public_key()
    pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    confused = f"{part({'alg': 'HS256', 'typ': 'JWT', 'kid': 'rs'})}.{more}"
    mac = base64.urlsafe_b64encode(hmac.digest(pem, confused.encode(), hashlib.sha256)).decode().rstrip("=")
    stranger = Issuer()
    own = stranger.make("rs", "RS256")
    stranger.make("nowhere", "ES256")
    return {
        "claims changed": f"{head}.{more}.{signature}",
        "signature changed": f"{head}.{payload}.{signature[:-8]}AAAAAAAA",
        "no signature": f"{head}.{payload}.",
        "algorithm none": f"{part({'alg': 'none'})}.{more}.",
        "algorithm None": f"{part({'alg': 'NoNe', 'kid': 'rs'})}.{more}.{signature}",
        "public key as a secret": f"{confused}.{mac}",
        "another algorithm of the key": f"{part({'alg': 'ES256', 'kid': 'rs'})}.{more}.{signature}",
        "algorithm is a list": f"{part({'alg': ['RS256'], 'kid': 'rs'})}.{payload}.{signature}",
        "key id is a number": f"{part({'alg': 'RS256', 'kid': 1})}.{payload}.{signature}",
        "a stranger's key": stranger.token("rs", **GRANTS),
        "a stranger's key in the head": stranger.token("rs", headers={"jwk": own}, **GRANTS),
        "a stranger's key set in the head": stranger.token("rs", headers={"jku": issuer.url}, **GRANTS),
        "an unknown key": stranger.token("nowhere", **GRANTS),
        "no key id among three keys": stranger.token("rs", headers={"kid": ""}, **GRANTS),
        "garbage": "abc",
        "dots": "...",
        "binary": "\u00ff.\u00fe.\u00fd",
        "deep head": f"{base64.urlsafe_b64encode(b'[' * 9_000).decode()}.x.y",
        "a key of nobody": "umi_0000_0000",
        "five parts": f"{good}.x.y",
    }


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def packed(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def test_a_forged_token_opens_nothing(guarded: Guarded) -> None:
    assert guarded.ask(guarded.issuer.token(**GRANTS), "GET", STATS).status_code == 200
    for how, token in forged(guarded.issuer).items():
        headers = {"Authorization": f"Bearer {token}".encode("latin-1")}
        for path in (STATS, "/mcp/alice"):
            refused = guarded.client.get(path, headers=headers)
            assert refused.status_code == 401, (how, refused.text)
    too_long = guarded.ask(guarded.issuer.token(padding="x" * 40_000, **GRANTS), "GET", STATS)
    assert too_long.status_code == 431


def test_who_has_no_token_is_told_where_to_get_one(guarded: Guarded) -> None:
    for path in (STATS, "/mcp", "/mcp/alice"):
        challenge = guarded.ask(None, "GET", path).headers["WWW-Authenticate"]
        assert challenge == f'Bearer resource_metadata="{guarded.live.url}/.well-known/oauth-protected-resource"'
    for path in ("", "/mcp", "/mcp/alice"):
        found = guarded.ask(None, "GET", f"/.well-known/oauth-protected-resource{path}")
        assert found.status_code == 200
        assert found.json()["resource"] == guarded.live.url
        assert found.json()["authorization_servers"] == [NAME]
    strange = guarded.client.get(STATS, headers={"Host": "localhost", "X-Forwarded-Host": 'evil"'})
    assert "evil" not in strange.headers["WWW-Authenticate"]


async def test_an_mcp_client_with_a_token_sees_its_namespace_only(guarded: Guarded) -> None:
    import httpx2

    token = guarded.issuer.token("ed", **GRANTS)
    assert guarded.ask(token, "POST", EPISODES, {**TOLD, "id": "by-mcp"}).status_code in {200, 201}
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        async with Client(streamable_http_client(f"{guarded.live.url}/mcp/alice", http_client=http)) as client:
            found = await client.call_tool("recall", {"question": "Where does Ann live?"})
            assert not found.is_error
            assert "Oslo" in str(found.structured_content)
            denied = await client.call_tool("forget", {"id": "by-mcp", "confirm": True})
            assert denied.is_error
            assert "right to erase" in str(denied.content)
        assert (await http.post(f"{guarded.live.url}/mcp/bob", json={})).status_code == 403


def test_the_audit_log_has_the_subject_and_no_token(guarded: Guarded, tmp_path_factory: pytest.TempPathFactory) -> None:
    token = guarded.issuer.token("es", sub="ann@example.org", **GRANTS)
    assert guarded.ask(token, "POST", EPISODES, {**TOLD, "id": "audited"}).status_code == 201
    log = next(tmp_path_factory.getbasetemp().glob("guarded*/audit.jsonl")).read_text()
    assert json.loads(log.splitlines()[-1])["key"] == "sub:ann@example.org"
    assert token.rpartition(".")[2] not in log


def test_a_server_without_an_issuer_has_no_metadata(tmp_path: Path) -> None:
    make_key(tmp_path / "umi.db", "*=all")
    public = "https://memory.example"
    with live_server.running(tmp_path / "umi.db") as live, live.client() as client:
        assert client.get("/.well-known/oauth-protected-resource").status_code == 404
        assert client.get(STATS).headers["WWW-Authenticate"] == "Bearer"
    with issuing() as issuer:
        path = tmp_path / "keys.json"
        path.write_bytes(issuer.content()[1])
        words = ["--jwks", str(path), "--issuer", NAME, "--audience", AUDIENCE, "--public-url", public]
        with live_server.running(tmp_path / "other.db", *words, "--host", "0.0.0.0") as live, live.client() as client:
            path_of = f"http://127.0.0.1:{live.url.rpartition(':')[2]}{STATS}"
            refused = client.get(path_of, headers={"Host": "memory.example"})
            assert refused.headers["WWW-Authenticate"].endswith(f'"{public}/.well-known/oauth-protected-resource"')
            good = {"Authorization": f"Bearer {issuer.token(**GRANTS)}"}
            assert client.get(path_of, headers=good).status_code == 200, "an issuer is enough for an open address"
            assert client.get(path_of, headers={**good, "Host": "evil.example"}).status_code == 421


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--issuer", NAME], "--jwks"),
        (["--namespace-claim", "sub"], "--jwks"),
        (["--jwks", "https://issuer.example/keys", "--issuer", NAME], "audience"),
        (["--jwks", "http://issuer.example/keys", "--issuer", NAME, "--audience", "a"], "https"),
        (["--jwks", "no-such-file.json", "--issuer", NAME, "--audience", "a"], "no-such-file.json"),
        (["--public-url", "memory.example"], "https://memory.example"),
    ],
)
def test_what_is_half_said_starts_no_server(tmp_path: Path, words: list[str], said: str) -> None:
    code, shown = umi("serve", "--db", str(tmp_path / "u.db"), "--port", "0", "--embedder", "none", *words)
    assert (code, said in shown) == (2, True), shown
