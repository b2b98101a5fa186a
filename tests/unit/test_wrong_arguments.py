"""What is no message, no receipt, no model and no file is refused by name, before anything is stored."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import umi
from umi import Degradation, InvalidInput


@pytest.fixture
async def memory() -> Any:
    async with umi.Memory.open("dict:", embedder=None) as opened:
        yield opened


@pytest.mark.parametrize(
    "given", ["Oslo", b"Oslo", {"content": "Oslo", "speaker": "Nora"}, umi.Message("Oslo"), None, 7]
)
async def test_one_message_is_no_row_of_messages(memory: umi.Memory, given: Any) -> None:
    with pytest.raises(InvalidInput, match=r"messages must be messages one after the other, got .*: give a list"):
        await memory.remember_many(given)
    assert (await memory.stats()).episodes == 0


async def test_sources_are_a_list(memory: umi.Memory) -> None:
    with pytest.raises(InvalidInput, match="derived_from must be a list of ids, got 'ent_1'"):
        await memory.remember("I live in Graz.", derived_from="ent_1")
    assert (await memory.stats()).episodes == 0


@pytest.mark.parametrize("given", [None, 7])
async def test_an_export_is_a_path_or_a_stream(memory: umi.Memory, given: Any) -> None:
    with pytest.raises(InvalidInput, match=r"give a path, or a binary stream with write\(\), got"):
        await memory.export(given)
    with pytest.raises(InvalidInput, match=r"give a path, or a binary stream with read\(\), got"):
        await memory.restore(given)


@pytest.mark.parametrize("method", ["remember_many", "export", "restore", "backup", "work", "reread"])
async def test_progress_is_told_to_a_function(memory: umi.Memory, method: str, tmp_path: Path) -> None:
    file = tmp_path / "there"
    given = {"remember_many": [["I live in Graz."]], "work": [], "reread": []}.get(method, [file])
    with pytest.raises(InvalidInput, match="progress must be a function or None, got int"):
        await getattr(memory, method)(*given, progress=5)
    assert (await memory.stats()).episodes == 0
    assert not file.exists()


@pytest.mark.parametrize("stream", [io.StringIO(), io.StringIO("{}")])
async def test_a_stream_of_text_is_none_of_bytes(memory: umi.Memory, stream: Any) -> None:
    with pytest.raises(InvalidInput, match=r"binary stream with write\(\), got StringIO"):
        await memory.export(stream)
    with pytest.raises(InvalidInput, match=r"binary stream with read\(\), got StringIO"):
        await memory.restore(stream)


@pytest.mark.parametrize("length", [252, 300])
async def test_names_that_no_file_can_have(tmp_path: Path, length: int) -> None:
    path = str(tmp_path / ("n" * length))
    if length > 255:
        with pytest.raises(umi.StoreUnavailable, match="cannot be opened"):
            await umi.Memory.open(path, embedder=None)
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None) as opened:
        with pytest.raises((InvalidInput, umi.StoreUnavailable), match="cannot be written"):
            await opened.backup(path)
        with pytest.raises(InvalidInput, match="cannot be written"):
            await opened.export(path)
    with pytest.raises(umi.SignalError, match="cannot be read"):
        umi.FileSignalProvider(str(tmp_path / ("n" * 300))).load_signals()


@pytest.mark.parametrize("url", [" ", "\t", "sqlite:///", "sqlite:/// "])
async def test_a_blank_name_is_no_file(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="url"):
        await umi.Memory.open(url, embedder=None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"token_budget": 0}, "token_budget must be a positive whole number, got 0"),
        ({"busy_timeout_ms": 1.5}, "busy_timeout_ms must be a positive whole number, got 1.5"),
        ({"cache_bytes_max": True}, "cache_bytes_max must be a positive whole number, got True"),
        ({"deadline_s": float("nan")}, "deadline_s must be a positive number of seconds, got nan"),
        ({"money_budget": "1"}, "money_budget must be a positive number of money, got '1'"),
        ({"money_budget": 1.0}, "money_budget needs price_per_million"),
        ({"act_from": 0.29}, "act_from must be a confidence of 0.3..1, got 0.29"),
        ({"read_url": 5}, "read_url must be an address, got int"),
        *(
            ({"price_per_million": wrong}, "price_per_million must be two numbers, 0 or more")
            for wrong in (5, (1,), (1, -1), (1, float("inf")), "12", {1.0, 2.0})
        ),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=rf"Config\.{told}"):
        umi.Config(**given)


async def test_an_open_memory_is_not_opened_again(memory: umi.Memory) -> None:
    await memory.remember("I live in Graz.")
    with pytest.raises(InvalidInput, match="open already"):
        await memory
    assert (await memory.stats()).episodes == 1


@pytest.mark.parametrize("part", ["config", "clock", "entropy"])
def test_parts_are_what_they_are_called(part: str) -> None:
    given: dict[str, Any] = {part: "x"}
    with pytest.raises(InvalidInput, match=f"{part} must"):
        umi.Memory.open("dict:", **given)


async def test_the_extractor_takes_texts() -> None:
    extractor = umi.EntityExtractor()
    given: Any = 5
    for arguments in ({"text": given}, {"text": "Hi.", "speaker": given}, {"text": "Hi.", "role": given}):
        with pytest.raises(InvalidInput, match="must be a str, got int"):
            await extractor.extract(**arguments)


@pytest.mark.parametrize("given", ["no", 0, None, []])
@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("remember", "extract_entities"),
        ("remember", "track_evolution"),
        ("recall", "include_superseded"),
        ("recall", "explain"),
        ("recall", "deep"),
        ("context", "profile"),
        ("context", "changes"),
        ("export", "every_namespace"),
    ],
)
async def test_what_is_true_or_false_is_no_text(memory: umi.Memory, method: str, name: str, given: Any) -> None:
    if (name, given) == ("deep", None):
        return
    more = {"max_tokens": 100} if method == "context" else {}
    with pytest.raises(InvalidInput, match=f"{name} must be True or False, got"):
        await getattr(memory, method)(
            io.BytesIO() if method == "export" else "I live in Graz.", **{name: given}, **more
        )
    assert (await memory.stats()).episodes == 0


async def test_what_is_to_be_embedded_anew_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"nowhere\.db is not there"):
        await umi.reembed(str(tmp_path / "nowhere.db"), "local")
    with pytest.raises(InvalidInput, match="progress must be a function or None, got int"):
        await umi.reembed(str(tmp_path / "nowhere.db"), "local", progress=5)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


async def test_a_text_is_no_receipt(memory: umi.Memory) -> None:
    with pytest.raises(InvalidInput, match="this is no receipt of an erasure: str"):
        await memory.verify_erasure("x")  # type: ignore[arg-type]


def test_what_cannot_complete_or_embed_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"llm must be one of .* an object with complete\(\).*; got object"):
        umi.Memory.open(str(tmp_path / "umi.db"), llm=object())  # type: ignore[arg-type]
    with pytest.raises(
        InvalidInput, match=r"embedder must have embed\(\) and embed_many\(\), or be a name or None; got int"
    ):
        umi.Memory.open(str(tmp_path / "umi.db"), embedder=7)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["gpt-5-mini", "anthropics:claude", "openai:", "locla"])
def test_a_name_of_no_known_form_is_refused_whatever_is_installed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for extra in ("openai", "umi.providers.openai_llm", "umi.providers.openai_embedder"):
        monkeypatch.setitem(sys.modules, extra, None)
    with pytest.raises(InvalidInput, match=f"llm '{name}' is not known; give 'openai:MODEL'"):
        umi.Memory.open("dict:", llm=name)
    with pytest.raises(InvalidInput, match=f"embedder '{name}' is not known; give 'local'"):
        umi.Memory.open("dict:", embedder=name)


@pytest.mark.parametrize("kind", ["llm", "embedder"])
def test_the_password_of_an_address_that_is_not_known_is_told_nowhere(kind: str) -> None:
    with pytest.raises(InvalidInput, match=f"{kind} 'htpp://ada@host/v1' is not known"):
        umi.Memory.open("dict:", **{kind: "htpp://ada:s3cret@host/v1"})


@pytest.mark.parametrize(
    ("given", "extra", "said"),
    [
        ({"llm": "anthropic:claude"}, "anthropic", "anthropic:claude"),
        ({"llm": "openai:gpt-5-mini"}, "openai", "openai:gpt-5-mini"),
        ({"llm": "http://ada:s3cret@host/v1"}, "openai", "http://ada@host/v1"),
        ({"embedder": "fastembed:some-model"}, "fastembed", "fastembed:some-model"),
        ({"embedder": "ollama:some-model"}, "openai", "ollama:some-model"),
    ],
)
def test_a_model_whose_extra_is_missing_names_it(
    given: dict[str, Any], extra: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("anthropic_llm", "openai_client", "openai_llm", "openai_embedder", "fastembed_embedder"):
        monkeypatch.delitem(sys.modules, f"umi.providers.{module}", raising=False)
    monkeypatch.setitem(sys.modules, extra, None)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    needed = f"{said} needs an extra that is not installed ({extra}); run: pip install 'umi-memory[{extra}]'"
    with pytest.raises(umi.UmiError, match=re.escape(needed)):
        umi.Memory.open("dict:", **given)


class Speechless:
    """An embedder that answers nothing at all."""

    identity = umi.EmbedderIdentity("speechless", 8, "d1")

    async def embed(self, text: str) -> Any:
        return [1.0] * 8

    async def embed_many(self, texts: Sequence[str]) -> Any:
        return None


async def test_an_embedder_that_answers_nothing_defers() -> None:
    async with umi.Memory.open("dict:", embedder=Speechless()) as memory:
        receipt = await memory.remember("I live in Graz.")
        assert receipt.deferred == receipt.episode_ids
        assert Degradation.EMBEDDING_FAILED in receipt.degraded
        assert (await memory.maintain()).waiting_count == 1


@pytest.mark.parametrize(
    "url", ["http://[::1/v1", "http://127.0.0.1:99999/v1", "http://host:port/v1", "https://", "http:///v1"]
)
def test_an_address_that_is_none_is_refused_at_once(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for open_it in (
        lambda: umi.Memory.open("dict:", llm=f"{url}#m"),
        lambda: umi.Memory.open("dict:", embedder=f"{url}#m"),
    ):
        with pytest.raises(InvalidInput, match="is no address of a server"):
            open_it()
    monkeypatch.setenv("OLLAMA_HOST", url)
    with pytest.raises(InvalidInput, match="is no address of a server"):
        umi.Memory.open("dict:", llm="ollama:m")


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda memory: memory.forget(where={"metadata": {7: 1}}), r"\[7\]: a key of metadata is a text, got int"),
        (lambda memory: memory.forget(where={"session": {"exists": 1}}), "must be True or False, got 1"),
        (lambda memory: memory.erase("Ada", previewed=True), "previewed is no preview of an erasure: bool"),
        (lambda memory: memory.erase_namespace(previewed="all"), "previewed is no preview of an erasure: str"),
    ],
)
async def test_what_would_delete_deletes_nothing(memory: umi.Memory, wrong: Any, why: str) -> None:
    await memory.remember("Ada lives in Graz.")
    with pytest.raises(InvalidInput, match=why):
        await wrong(memory)
    assert (await memory.stats()).episodes == 1


async def test_what_opens_no_store(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"intelligence must be a umi\.IntelligenceLoader, got list"):
        umi.Memory.open("dict:", intelligence=[])  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="'mysql://ada@host/umi' is of a kind Umi does not know"):
        await umi.Memory.open("mysql://ada:secret@host/umi", embedder=None)
    async with umi.Memory.open(str(tmp_path / "umi.db"), embedder=None):
        pass
    with pytest.raises(InvalidInput, match="to re-embed takes an embedder that is there"):
        await umi.reembed(str(tmp_path / "umi.db"), embedder=None)  # type: ignore[arg-type]
