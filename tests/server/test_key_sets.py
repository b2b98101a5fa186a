"""An issuer's key set over the years: keys come and go, its server fails, lies and dawdles."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from issuer import AUDIENCE, NAME, Issuer, issuing
from test_statuses import RECALL, said, serving

import umi
from umi import limits
from umi.server.key_sets import KeySet, KeySets
from umi.server.problems import Refused
from umi.server.settings import TokenSettings

GRANTS = {"umi_grants": "alice=read"}
ASKED = {"query": "Where does Ann live?"}


class Clock(umi.SystemClock):
    """A clock that a test can put forward."""

    ahead_s = 0.0

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self.ahead_s)

    def monotonic_s(self) -> float:
        return super().monotonic_s() + self.ahead_s


@asynccontextmanager
async def guarded(issuer: Issuer, folder: Path) -> AsyncIterator[tuple[httpx.AsyncClient, Clock]]:
    """A client of a server that takes tokens of an issuer."""
    clock, tokens = Clock(), TokenSettings(issuer.url, NAME, AUDIENCE)
    async with (
        umi.Memory.open(str(folder / "umi.db"), embedder=None) as memory,
        serving(memory, clock, tokens=tokens) as client,
    ):
        yield client, clock


async def ask(client: httpx.AsyncClient, token: str) -> httpx.Response:
    return await client.post(RECALL, json=ASKED, headers={"Authorization": f"Bearer {token}"})


async def test_a_new_key_counts_as_soon_as_the_issuer_has_it(tmp_path: Path) -> None:
    with issuing() as issuer:
        async with guarded(issuer, tmp_path) as (client, clock):
            old = issuer.token("rs", exp=4e9, **GRANTS)
            assert (await ask(client, old)).status_code == 200
            issuer.make("new", "ES256")
            clock.ahead_s += limits.JWKS_FETCH_INTERVAL_S
            assert (await ask(client, issuer.token("new", exp=4e9, **GRANTS))).status_code == 200
            assert issuer.fetched_count == 2
            # A key that the issuer takes back ends with the next set.
            issuer.listed = [one for one in issuer.listed if one["kid"] != "rs"]
            clock.ahead_s += limits.JWKS_REFRESH_S + 1
            for _ in range(100):
                if issuer.fetched_count == 3 and (await ask(client, old)).status_code == 401:
                    break
                await ask(client, issuer.token("new", exp=4e9, **GRANTS))
                await asyncio.sleep(0.02)
            assert (await ask(client, old)).status_code == 401
            assert (await ask(client, issuer.token("new", exp=4e9, **GRANTS))).status_code == 200


async def test_many_unknown_keys_make_one_fetch(tmp_path: Path) -> None:
    with issuing() as issuer:
        stranger = Issuer()
        stranger.make("rs2", "ES256")
        async with guarded(issuer, tmp_path) as (client, clock):
            strangers = [stranger.token("rs2", headers={"kid": f"k{index}"}, **GRANTS) for index in range(30)]
            statuses = await asyncio.gather(*(ask(client, one) for one in strangers))
            assert {one.status_code for one in statuses} == {401}
            assert issuer.fetched_count == 1
            clock.ahead_s += limits.JWKS_FETCH_INTERVAL_S
            for one in strangers:
                assert (await ask(client, one)).status_code == 401
            assert issuer.fetched_count == 2
            assert (await ask(client, issuer.token("rs", **GRANTS))).status_code == 200


async def test_while_the_issuer_fails_known_keys_open_and_others_are_told_to_come_again(tmp_path: Path) -> None:
    with issuing() as issuer:
        async with guarded(issuer, tmp_path) as (client, clock):
            token = issuer.token("rs", exp=4e9, **GRANTS)
            issuer.answer = (500, b"")
            refused = await ask(client, token)
            assert said(refused) == (503, "key_set_unavailable")
            assert 1 <= int(refused.headers["Retry-After"]) <= limits.JWKS_FETCH_INTERVAL_S
            assert "WWW-Authenticate" not in refused.headers
            issuer.answer = None
            clock.ahead_s += int(refused.headers["Retry-After"])
            assert (await ask(client, token)).status_code == 200
            issuer.answer = (500, b"")
            clock.ahead_s += limits.JWKS_REFRESH_S + 1
            assert (await ask(client, token)).status_code == 200, "the set that was fetched before"
            issuer.make("new", "ES256")
            clock.ahead_s += limits.JWKS_FETCH_INTERVAL_S
            assert (await ask(client, issuer.token("new", exp=4e9, **GRANTS))).status_code == 503
            clock.ahead_s += limits.JWKS_AGE_S_MAX
            assert (await ask(client, token)).status_code == 503, "for an hour, and no longer"
            issuer.answer = None
            clock.ahead_s += limits.JWKS_FETCH_INTERVAL_S
            assert (await ask(client, token)).status_code == 200


@pytest.mark.parametrize(
    "answer",
    [
        (200, b"<html>"),
        (200, b"[" * 100_000),
        (200, b"[]"),
        (200, b'{"keys": {}}'),
        (200, b'{"keys": []}'),
        (200, b'{"keys": [7, {"kty": "oct", "k": "c2VjcmV0"}, {"kty": "EC", "crv": "P-256", "x": 1}]}'),
        (200, json.dumps({"keys": [{}] * (limits.JWKS_KEYS_COUNT_MAX + 1)}).encode()),
        (200, b" " * (limits.JWKS_BYTES_MAX + 1)),
        (302, b""),
        (404, b""),
    ],
    ids=lambda one: str(one)[:30],
)
async def test_what_is_no_key_set_is_not_taken_for_one(tmp_path: Path, answer: tuple[int, bytes]) -> None:
    with issuing() as issuer:
        issuer.answer = answer
        async with guarded(issuer, tmp_path) as (client, clock):
            token = issuer.token("rs", exp=4e9, **GRANTS)
            assert said(await ask(client, token)) == (503, "key_set_unavailable")
            issuer.answer = None
            clock.ahead_s += limits.JWKS_FETCH_INTERVAL_S
            assert (await ask(client, token)).status_code == 200


async def test_an_issuer_that_dawdles_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "JWKS_FETCH_S", 0.2)
    with issuing() as issuer:
        issuer.wait_s = 1.0
        async with guarded(issuer, tmp_path) as (client, _):
            assert said(await ask(client, issuer.token("rs", **GRANTS))) == (503, "key_set_unavailable")


def test_only_keys_that_check_signatures_are_used() -> None:
    issuer = Issuer()
    good = issuer.make("rs", "RS256")
    from cryptography.hazmat.primitives.asymmetric import rsa
    from jwt.algorithms import RSAAlgorithm

    short: Any = RSAAlgorithm.to_jwk(rsa.generate_private_key(65537, 1024).public_key(), as_dict=True)
    private: Any = RSAAlgorithm.to_jwk(issuer.private["rs"][1], as_dict=True)
    others = [
        {**good, "kid": "enc", "use": "enc"},
        {**good, "kid": "hs", "alg": "HS256"},
        {**good, "kid": "number", "alg": 7},
        {**good, "kid": 7},
        {**good, "kid": "curve", "crv": []},
        {**short, "kid": "short"},
        {**private, "kid": "private"},
        {"kty": "oct", "kid": "secret", "k": "c2VjcmV0", "alg": "HS256"},
        {"kty": "RSA", "kid": "half", "n": good["n"]},
    ]
    found = KeySet.parse(json.dumps({"keys": [*others, good]}).encode())
    assert [(key.kid, key.algorithm) for key in found.keys] == [("rs", "RS256")]
    assert found.find("rs", "ES256") is None
    assert found.find(None, "RS256") == found.keys[0]


async def test_a_stream_ends_with_its_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one in which something happens all the time."""
    monkeypatch.setattr(limits, "SERVER_HEARTBEAT_S", 0.1)
    monkeypatch.setattr(limits, "CHANGES_POLL_S", 0.05)
    with issuing() as issuer:
        async with guarded(issuer, tmp_path) as (client, clock):
            reading = {"Authorization": f"Bearer {issuer.token('rs', **GRANTS)}", "Accept": "text/event-stream"}
            writing = {"Authorization": f"Bearer {issuer.token('es', exp=4e9, umi_grants='alice=write')}"}
            stream = asyncio.create_task(client.get("/v1/namespaces/alice/changes", headers=reading, timeout=60))
            for index in range(600):
                told = {"content": f"I have {index} stamps.", "speaker": "Ann"}
                assert (await client.post("/v1/namespaces/alice/episodes", json=told, headers=writing)).is_success
                if index == 10:
                    assert not stream.done()
                    clock.ahead_s += 400
                if stream.done():
                    break
            assert "event:" in (await asyncio.wait_for(stream, 30)).text
            assert index > 10


async def test_a_key_set_in_a_file_is_read_again_and_a_broken_one_is_not_taken(tmp_path: Path) -> None:
    issuer, clock, file = Issuer(), Clock(), tmp_path / "keys.json"
    issuer.make("old", "ES256")
    file.write_text(json.dumps({"keys": issuer.listed}), "utf-8")
    sets = KeySets(str(file), clock)

    async def found(*kids: str) -> list[bool]:
        clock.ahead_s += limits.JWKS_FETCH_INTERVAL_S
        return [await sets.find(kid, "ES256") is not None for kid in kids]

    assert await found("old") == [True]
    issuer.make("new", "ES256")
    file.write_text(json.dumps({"keys": issuer.listed[1:]}), "utf-8")
    assert await found("new", "old") == [True, False]
    file.write_text("cut", "utf-8")
    clock.ahead_s += limits.JWKS_REFRESH_S + 1
    assert await found("new") == [True]
    with pytest.raises(Refused) as refused:
        await found("third")
    assert (refused.value.status, refused.value.code) == (503, "key_set_unavailable")
    await sets.close()
