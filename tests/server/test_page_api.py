"""What the page needs of the API and programs may use too: files, undecided changes, previews of an undo, keys, verification of an erasure."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import httpx
import live_server

import umi

CHAT = "\n".join(
    json.dumps(
        {"role": "user", "speaker": "Alice", "content": text, "at": f"2026-0{month}-10T09:00Z", "id": f"m{month}"}
    )
    for month, text in ((1, "I work at Acme."), (4, "I left Acme and joined StartupX."))
)


def lines(answer: httpx.Response) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def test_a_file_is_remembered_with_progress_and_the_second_time_stores_nothing(tmp_path: Path) -> None:
    db = tmp_path / "umi.db"
    with live_server.running(db) as live, live.client() as client:
        path = "/v1/namespaces/alice/files"
        first = lines(client.post(path, params={"name": "chat.jsonl"}, content=CHAT.encode()))
        assert (first[-1]["done"], first[-1]["messages"], first[-1]["error"]) == (True, 2, None)
        assert first[-1]["bytes_done"] == first[-1]["bytes"] == len(CHAT)
        again = lines(client.post(path, params={"name": "chat.jsonl"}, content=CHAT.encode()))
        assert (again[-1]["messages"], again[-1]["known_already"]) == (2, 2)
        refused = client.post(path, params={"name": "x.jsonl", "timezone": "Nowhere/Town"}, content=b"{}")
        assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input")
        assert client.post(path, params={"name": "x.zip"}, content=b"PK\x03\x04 broken").status_code == 400
        base = client.post(path, params={"name": "x.db"}, content=b"SQLite format 3\0" + bytes(100))
        assert (base.status_code, "is a database" in base.json()["detail"]) == (400, True)
        assert client.post(path, params={"name": "x.zip"}, content=b"no archive").status_code == 400
        said = [
            {"uuid": "1", "created_at": "2026-05-02T10:00:00Z", "role_type": "tool", "content": "found"},
            {"uuid": "2"},
        ]
        zep = json.dumps([{"user_id": "u", "threads": [{"thread_id": "t", "messages": said}]}])
        passed = lines(client.post(path, params={"name": "zep.json"}, content=zep.encode()))[-1]
        assert (passed["messages"], passed["rejected_count"], passed["done"]) == (0, 1, True)
        assert passed["skipped"] == {"by tool, not by a person or the assistant": 1}
        assert client.post(path, params={"modified": "yesterday"}, content=b"a text").status_code == 400
    with umi.blocking.Memory.open(str(db), namespace="alice", embedder=None) as memory:
        assert [fact.value for fact in memory.facts("Alice")] == ["StartupX"]
        assert len(memory.episodes().items) == 2


def test_an_archive_that_is_damaged_is_refused_by_the_name_that_its_owner_gave_it(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("conversations.json", "[]")
    whole = packed.getvalue()
    contents = whole.index(b"PK\x01\x02")  # the table of contents
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("other.txt", "no chat")
    with live_server.running(tmp_path / "umi.db") as live, live.client() as client:
        for damaged in (
            whole[:contents] + b"XX" + whole[contents + 2 :],  # no entry begins there
            whole[: contents + 6] + b"\xff\x00" + whole[contents + 8 :],  # of a version that is not known
            whole[: contents - 1] + b"{" + whole[contents:],  # another text than its checksum says
            whole[:20],
            packed.getvalue(),
        ):
            sent = client.post("/v1/namespaces/alice/files", params={"name": "my chats.zip"}, content=damaged)
            assert (sent.status_code, sent.json()["code"]) == (400, "invalid_input")
            assert "'my chats.zip'" in sent.json()["detail"]


def test_a_chat_that_has_another_title_now_is_known(tmp_path: Path) -> None:
    with live_server.running(tmp_path / "umi.db") as live, live.client() as client:
        for title, known in (("Trips", 0), ("Trips to Rome", 1)):
            said = [{"uuid": "m", "sender": "human", "text": "I like Rome.", "created_at": "2026-03-01T09:00:00Z"}]
            chat = json.dumps([{"uuid": "c", "name": title, "chat_messages": said}])
            sent = client.post("/v1/namespaces/alice/files", params={"name": "chats.json"}, content=chat.encode())
            last = lines(sent)[-1]
            assert (last["messages"], last["known_already"], last["rejected_count"]) == (1, known, 0)


def test_a_file_that_was_not_read_to_its_end_is_not_done_and_says_where(tmp_path: Path) -> None:
    with live_server.running(tmp_path / "umi.db") as live, live.client() as client:
        broken = '[{"id": "1", "memory": "One."}, {"id": "2"}, {"id": "3", "memory": "5" tall"}, {"id": "4", "memory": "Four."}]'
        *_, last = lines(client.post("/v1/namespaces/alice/files", params={"name": "m.json"}, content=broken.encode()))
        assert (last["done"], last["messages"], last["rejected_count"]) == (False, 1, 1)
        assert last["error"].startswith("line 1, byte 45: from here on nothing was read")
        assert last["error"].endswith("at byte 71")


def test_an_undo_is_previewed_and_what_is_unsure_is_listed(tmp_path: Path) -> None:
    with live_server.running(tmp_path / "umi.db") as live, live.client() as client:
        base = "/v1/namespaces/alice"
        ids = [
            client.post(f"{base}/episodes", json={"content": text, "speaker": "Alice"}).json()["entities"][0]["id"]
            for text in ("I live in Berlin.", "I live in Lisbon now.")
        ]
        chain = client.get(f"{base}/entities/{ids[1]}/why").json()["evolutions"]
        update = next(one for one in chain if one["evolution_type"] == "update")
        preview = client.get(f"{base}/relations/{update['id']}/undo").json()
        assert {one["entity"]["id"]: (one["was"], one["becomes"]) for one in preview["changes"]}[ids[0]] == (
            "superseded",
            "current",
        )
        assert client.get(f"{base}/undecided").json()["items"] == []
        body = {"old_id": ids[0], "new_id": ids[1], "type": "contradict", "reason": "both cannot be"}
        assert client.post(f"{base}/relations/{update['id']}/undo").status_code == 200
        made = client.post(f"{base}/relate", json=body)
        assert made.status_code == 201, made.text
        waiting = client.get(f"{base}/undecided").json()["items"]
        assert [(one["older"]["id"], one["newer"]["id"], one["older_state"]) for one in waiting] == [(*ids, "disputed")]


def test_keys_are_made_by_who_has_all_rights_and_revoked(tmp_path: Path) -> None:
    db = tmp_path / "umi.db"
    with live_server.running(db) as live, live.client() as anybody:
        made = anybody.post("/v1/keys", json={"name": "owner", "grants": ["*=all"]})
        assert made.status_code == 201, made.text
        assert anybody.get("/v1/keys").status_code == 401  # from the first key on
        with live.client(made.json()["token"]) as owner:
            reader = owner.post("/v1/keys", json={"grants": ["alice=read", "*=admin"], "expires_in_days": 7}).json()
            listed = owner.get("/v1/keys").json()["items"]
            assert [one["id"] for one in listed] == [made.json()["key"]["id"], reader["key"]["id"]]
            assert reader["token"] not in json.dumps(listed)
            with live.client(reader["token"]) as other:
                assert other.get("/v1/keys").status_code == 200
                refused = other.post("/v1/keys", json={"grants": ["*=all"]})  # more than it has itself
                assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
                assert owner.post("/v1/keys", json={"grants": ["alice=fly"]}).status_code == 400
                assert owner.delete(f"/v1/keys/{reader['key']['id']}").json()["revoked_at"] is not None
                assert other.get("/v1/me").status_code == 401
            assert owner.delete("/v1/keys/none").status_code == 404


def test_an_erasure_is_verified_and_a_made_up_receipt_is_refused(tmp_path: Path) -> None:
    db = tmp_path / "umi.db"
    with live_server.running(db) as live, live.client() as client:
        base = "/v1/namespaces/alice"
        client.post(f"{base}/episodes", json={"content": "Zebulon lives in Ouagadougou.", "speaker": "Zebulon"})
        plan = client.post(f"{base}/erasures/preview", json={"subject": "Zebulon"}).json()
        receipt = client.post(f"{base}/erasures", json={"subject": "Zebulon", "confirm": plan["confirm"]}).json()
        check = client.post(f"{base}/erasures/verify", json=receipt).json()
        assert (check["remains"], check["said_before"], check["pending"]) == (0, [], False)
        assert check["searched"]["names"] >= 1
        receipt["proof"]["names"][0]["length"] = 10**9
        refused = client.post(f"{base}/erasures/verify", json=receipt)
        assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input")
    token = live_server.make_key(db, "alice=all")
    with live_server.running(db) as live, live.client(token) as tenant:
        assert tenant.post(f"{base}/erasures/verify", json=receipt).status_code == 403


def test_the_tour_is_shown_from_memory_and_leaves_no_file(tmp_path: Path) -> None:
    db = tmp_path / "umi.db"
    live = live_server.start(db, "--demo")
    try:
        assert live.url.endswith("/?demo")
        base = live.url.removesuffix("/?demo")
        with httpx.Client(base_url=base, verify=False) as client:
            name = client.get("/v1/me").json()["demo"]
            assert client.get(f"/v1/namespaces/{name}/entities").json()["items"]
    finally:
        assert live.stop() == 0
    assert not db.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_history_in_numbers_and_one_time_of_it_are_the_librarys(tmp_path: Path) -> None:
    db = tmp_path / "umi.db"
    with umi.blocking.Memory.open(str(db), namespace="alice", embedder=None) as memory:
        for month in range(1, 7):
            memory.set_fact("A/lice", "badge", f"b{month}", at=f"2026-0{month}-01T00:00Z")
        counts = memory.history_counts("A/lice", parts=5)
        march = memory.history("A/lice", held=("2026-03-01T00:00Z", "2026-03-31T00:00Z"))
    with live_server.running(db) as live, live.client() as client:
        path = "/v1/namespaces/alice/history/A%2Flice"
        told = client.get(f"{path}/counts", params={"parts": 5}).json()
        assert counts.held is not None
        assert told["count"] == 6
        assert told["held"]["counts"] == list(counts.held.counts)
        assert told["held"]["first"] == "2026-01-01T00:00:00Z"
        held = {"held": ["2026-03-01T00:00Z", "2026-03-31T00:00Z"]}
        assert [one["entity"]["id"] for one in client.get(path, params=held).json()] == [one.entity.id for one in march]
        assert [one.entity.value for one in march] == ["b3"]
        assert client.get("/v1/namespaces/alice/history/nobody/counts").json() == {
            "count": 0,
            "held": None,
            "known": None,
        }
        for refused in ({"held": "2026-03-01T00:00Z"}, {"known": ["2026-03-01T00:00Z"] * 2}, {"held": ["a", "b"]}):
            assert client.get(path, params=refused).status_code == 400
        assert client.get(f"{path}/counts", params={"parts": 0}).json()["limit"] == 1


def test_a_profile_with_a_limit_says_how_many_more_facts_there_are(tmp_path: Path) -> None:
    with live_server.running(tmp_path / "umi.db") as live, live.client() as client:
        base = "/v1/namespaces/alice"
        for number in range(5):
            client.post(f"{base}/episodes", json={"content": f"I like song{number}.", "speaker": "Alice"})
        some = client.get(f"{base}/profile/Alice", params={"limit": 2}).json()
        assert [fact["value"] for fact in some["groups"]["preferences"]] == ["song3", "song4"]
        assert some["left_out"] == {"preferences": 3}
        assert client.get(f"{base}/profile/Alice").json()["left_out"] == {}
        assert client.get(f"{base}/profile/Alice", params={"limit": 10_001}).json()["limit"] == 10_000
