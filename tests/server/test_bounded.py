"""Answers that read have a bound in bytes: what does not fit is reached by a cursor, a link, or a smaller request; nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import live_server
import pytest
from starlette.requests import Request

from umi import limits
from umi.server import bounded

BOUND = limits.SERVER_ANSWER_BYTES_MAX
LARGE_COUNT = 14


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A namespace with more megabytes than an answer may have: each message is one as JSON, which writes a control sign in six bytes."""
    with (
        live_server.running(tmp_path_factory.mktemp("large") / "umi.db", "--mem0") as live,
        live.client(timeout_s=120) as client,
    ):
        for number in range(LARGE_COUNT):
            text = f"Report {number} on whales. " + "\x01" * 160_000
            sent = {"content": text, "extract_entities": False, "id": f"m{number}", "session": "s"}
            answer = client.post("/v1/namespaces/mem0%2Fuser%2Fada/episodes", json=sent)
            assert answer.status_code == 201, answer.text
        yield client


BASE = "/v1/namespaces/mem0%2Fuser%2Fada"


@pytest.mark.parametrize("path", ["/episodes", "/entities"])
@pytest.mark.parametrize("order", ["oldest", "newest"])
def test_pages_of_long_messages_end_earlier_and_lose_nothing(client: httpx.Client, path: str, order: str) -> None:
    seen: list[str] = []
    after, pages = None, 0
    while True:
        asked = {"limit": 100, "order": order} | ({} if after is None else {"after": after})
        answer = client.get(BASE + path, params=asked)
        assert answer.status_code == 200, answer.text[:500]
        assert len(answer.content) <= BOUND
        for item in answer.json()["items"]:
            seen.append((item.get("entity") or item)["content"].split(" on ")[0])
        pages, after = pages + 1, answer.json()["next"]
        if after is None:
            break
    told = [f"Report {number}" for number in range(LARGE_COUNT)]
    assert seen == (told if order == "oldest" else told[::-1])
    assert pages > 1


def test_a_page_still_has_its_limit(client: httpx.Client) -> None:
    page = client.get(f"{BASE}/episodes", params={"limit": 2}).json()
    assert [one["message_id"] for one in page["items"]] == ["m0", "m1"]
    more = client.get(f"{BASE}/episodes", params={"limit": 1, "after": page["next"]}).json()
    assert [one["message_id"] for one in more["items"]] == ["m2"]
    for limit in (0, 10_001):
        assert client.get(f"{BASE}/episodes", params={"limit": limit}).json()["value"] == limit


def test_recall_leaves_out_its_last_hits_and_says_so(client: httpx.Client) -> None:
    answer = client.post(f"{BASE}/recall", json={"query": "whales report", "limit": 100, "min_score": 0})
    assert len(answer.content) <= BOUND
    shown = len(answer.json()["hits"])
    assert shown >= 1
    assert int(answer.headers["umi-left-out"]) == LARGE_COUNT - shown


def test_a_preview_of_an_erasure_shows_a_part_and_takes_all(client: httpx.Client) -> None:
    plan = client.post(f"{BASE}/erasures/preview", json={"session": "s"})
    assert plan.status_code == 200
    assert int(plan.headers["umi-left-out"]) == LARGE_COUNT - len(plan.json()["preview"]["deleted"])
    assert plan.json()["preview"]["counts"]["episodes"] == LARGE_COUNT


def test_a_preview_shows_something_of_each_list_within_one_bound(client: httpx.Client) -> None:
    space = "/v1/namespaces/names"
    for number in range(LARGE_COUNT):
        speaker, said = ("Anna Schmidt", "I was there.") if number < LARGE_COUNT - 2 else ("Bob", "Anna was there.")
        sent = {"content": f"{said} {number} " + "\x01" * 160_000, "speaker": speaker, "extract_entities": False}
        assert client.post(f"{space}/episodes", json=sent).status_code == 201
    plan = client.post(f"{space}/erasures/preview", json={"subject": "Anna Schmidt"})
    assert len(plan.content) <= BOUND
    shown = plan.json()["preview"]
    assert (shown["counts"]["episodes"], len(shown["left"])) == (LARGE_COUNT - 2, 2)
    assert shown["deleted"]
    assert int(plan.headers["umi-left-out"]) == LARGE_COUNT - len(shown["deleted"]) - len(shown["left"])
    erased = client.post(f"{space}/erasures", json={"subject": "Anna Schmidt", "confirm": plan.json()["confirm"]})
    assert erased.status_code == 201


def test_mem0s_pages_are_refused_where_they_are_too_long(client: httpx.Client) -> None:
    asked = {"filters": {"user_id": "ada"}}
    answer = client.post("/v3/memories/", json=asked)
    assert (answer.status_code, answer.json()["limit"]) == (422, BOUND)
    page = client.post("/v3/memories/", json=asked, params={"page": 3, "page_size": 5}).json()
    assert (page["count"], len(page["results"])) == (LARGE_COUNT, 4)


def test_a_list_without_pages_is_walked_by_its_links(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SERVER_ANSWER_BYTES_MAX", 100)
    rows = [f"row {number} " + "x" * 30 for number in range(7)]

    def asked(query: str) -> Any:
        scope = {"type": "http", "query_string": query.encode(), "raw_path": b"/history/a%2Fb", "headers": []}
        request = Request(scope)
        after = request.query_params.get("after")
        return bounded.sequence(request, rows, str, lambda row: row.split("x")[0], after)

    seen: list[str] = []
    query = "types=note"
    while query:
        answer = asked(query)
        assert len(answer.body) <= 110
        import json

        seen += json.loads(answer.body)
        link = answer.headers.get("link", "")
        assert link == "" or (link.startswith("</history/a%2Fb?types=note&after=") and link.endswith('>; rel="next"'))
        query = link.partition("?")[2].partition(">")[0]
    assert seen == rows
