"""Files of signals: read, bounded, sealed, and every bad record set aside with its reason while the rest count."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from umi import FileSignalProvider, IntelligenceLoader, ProviderQualityWeights, QualitySignal, SignalError
from umi.errors import InvalidInput
from umi.limits import SIGNAL_FILE_BYTES_MAX
from umi.signals import JUnitSignalProvider, PullRequestSignalProvider, seal

KEY = b"0123456789abcdef"


def record(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"s{number}",
        "task_description": "fix the login",
        "outcome": "success",
        "quality_score": 0.9,
        "completed_at": "2026-03-01T12:00:00Z",
        **more,
    }


def written(path: Path, *records: Any) -> Path:
    lines = path.suffix == ".jsonl"
    path.write_text("\n".join(map(json.dumps, records)) if lines else json.dumps(list(records)))
    return path


def test_a_missing_file_is_an_empty_set(tmp_path: Path) -> None:
    assert FileSignalProvider(tmp_path / "nowhere.json").load_signals() == []
    assert JUnitSignalProvider(tmp_path / "nowhere").load_signals() == []


def test_a_folder_is_read_in_order_of_name_and_only_what_is_json(tmp_path: Path) -> None:
    written(tmp_path / "b.json", record(2), record(3))
    written(tmp_path / "a.jsonl", record(0), record(1))
    (tmp_path / "notes.txt").write_text("no signal")
    found = FileSignalProvider(tmp_path).load_signals()
    assert [signal.id for signal in found] == ["s0", "s1", "s2", "s3"]


def test_without_a_path_the_seeds_folders_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert FileSignalProvider().load_signals() == []
    for number, folder in enumerate((".umi/intelligence", ".claude/intelligence/data")):
        Path(folder).mkdir(parents=True)
        written(Path(folder) / "signals.json", record(number))
    assert [signal.id for signal in FileSignalProvider().load_signals()] == ["s1", "s0"]


def test_bad_records_are_set_aside_one_by_one_and_the_rest_count(tmp_path: Path) -> None:
    bad = [record(1, outcome="great"), "no object", record(2, quality_score=7), {"id": "s3"}]
    provider = FileSignalProvider(written(tmp_path / "a.json", record(0), *bad, record(9)))
    assert [signal.id for signal in provider.load_signals()] == ["s0", "s9"]
    reasons = dict(provider.quarantined)
    assert list(reasons) == [f"a.json record {number}" for number in (2, 3, 4, 5)]
    assert "outcome" in reasons["a.json record 2"]
    assert "task_description" in reasons["a.json record 5"]


def test_a_line_that_is_no_json_costs_that_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(record(0)) + "\n{half\n\n" + "[" * 100_000 + "\n" + json.dumps(record(1)) + "\r\n")
    provider = FileSignalProvider(path)
    assert [signal.id for signal in provider.load_signals()] == ["s0", "s1"]
    assert [where for where, _ in provider.quarantined] == ["a.jsonl record 2", "a.jsonl record 3"]


@pytest.mark.parametrize("content", [b"{", b'{"id": 1}', b"\xff\xfe", b"[" * 100_000, b'"x"'])
def test_a_file_that_is_no_array_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(SignalError, match=r"a\.json"):
        FileSignalProvider(path).load_signals()


def test_ten_mebibytes_are_read_and_a_byte_more_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", record(0))
    content = path.read_bytes()
    path.write_bytes(content + b" " * (SIGNAL_FILE_BYTES_MAX - len(content)))
    assert len(FileSignalProvider(path).load_signals()) == 1
    with path.open("ab") as file:
        file.write(b" ")
    with pytest.raises(SignalError, match="10,485,760"):
        FileSignalProvider(path).load_signals()


def test_ten_thousand_signals_are_read_and_one_more_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", *map(record, range(10_000)))
    assert len(FileSignalProvider(path).load_signals()) == 10_000
    written(tmp_path / "b.jsonl", record(10_000))
    with pytest.raises(SignalError, match="10,000"):
        FileSignalProvider(tmp_path).load_signals()


def test_a_bad_file_of_a_folder_is_set_aside_and_the_others_count(tmp_path: Path) -> None:
    for number, name in enumerate(("a.jsonl", "e.json")):
        written(tmp_path / name, record(number))
    (tmp_path / "b.json").write_text("{")
    (tmp_path / "c.jsonl").write_bytes(b"\xff")
    (tmp_path / "d.json").write_bytes(b" " * (SIGNAL_FILE_BYTES_MAX + 1))
    loader = IntelligenceLoader([FileSignalProvider(tmp_path, name="ci")])
    assert [signal.id for signal in loader.load_all_signals()] == ["s0", "s1"]
    assert [(fault.provider, fault.record) for fault in loader.errors] == [
        ("ci", "b.json"),
        ("ci", "c.jsonl"),
        ("ci", "d.json"),
    ]
    for fault, why in zip(loader.errors, ("not JSON", "not UTF-8", "10,485,760"), strict=True):
        assert why in fault.reason
    for name in ("a.jsonl", "b.json", "c.jsonl"):
        seal(tmp_path / name, KEY)
    provider = FileSignalProvider(tmp_path, key=KEY)
    assert [signal.id for signal in provider.load_signals()] == ["s0"]
    assert [name for name, why in provider.quarantined if "no seal" in why] == ["e.json"]


def test_with_a_key_only_what_was_sealed_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", record(0))
    provider = FileSignalProvider(path, key=KEY)
    with pytest.raises(SignalError, match="no seal"):
        provider.load_signals()
    assert seal(path, KEY).name == "a.json.hmac"
    assert len(provider.load_signals()) == 1
    written(path, record(0), record(1))
    with pytest.raises(SignalError, match="not what was sealed"):
        provider.load_signals()
    seal(path, b"another key, quite long")
    with pytest.raises(SignalError, match="not what was sealed"):
        provider.load_signals()


def test_a_seal_is_of_one_name(tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", record(0))
    seal(path, KEY)
    for name in ("a.json", "a.json.hmac"):
        (tmp_path / name).rename(tmp_path / name.replace("a.", "b.", 1))
    with pytest.raises(SignalError, match="not what was sealed"):
        FileSignalProvider(tmp_path / "b.json", key=KEY).load_signals()
    with pytest.raises(InvalidInput, match="16 bytes"):
        FileSignalProvider(path, key=b"short")


def test_a_wrong_name_or_weight_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="name must be a str, got int"):
        FileSignalProvider(tmp_path, name=5)  # type: ignore[arg-type]
    for weights, said in ((5, "got int"), (ProviderQualityWeights(-1.0), "must be 0 or more")):
        with pytest.raises(InvalidInput, match=f"weights must be .*{said}|weights {said}"):
            FileSignalProvider(tmp_path, weights=weights)  # type: ignore[arg-type]


JUNIT = """<?xml version="1.0"?>
<testsuites>
  <testsuite name="login" timestamp="2026-03-01T12:00:00" tests="4">
    <properties><property name="umi.task_id" value="T-7"/></properties>
    <testcase name="a"/><testcase name="b"/>
    <testcase name="c"><failure message="no"/></testcase>
    <testcase name="d"><error/></testcase>
    <testcase name="e"><skipped/></testcase>
  </testsuite>
  <testsuite name="all skipped" timestamp="2026-03-01T12:00:00"><testcase name="a"><skipped/></testcase></testsuite>
  <testsuite name="green" timestamp="2026-03-01T12:00:00+02:00"><testcase name="a"/></testsuite>
  <testsuite name="red" timestamp="2026-03-01T12:00:00Z"><testcase name="a"><failure/></testcase></testsuite>
  <testsuite name="odd" timestamp="at noon"><testcase name="a"/></testsuite>
</testsuites>"""


def test_junit_suites_become_signals(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    path.write_text(JUNIT)
    provider = JUnitSignalProvider(path, task_id="build-1")
    found = provider.load_signals()
    assert [(one.task_description, one.outcome, one.quality_score, one.task_id) for one in found] == [
        ("login", "partial_success", 0.5, "T-7"),
        ("green", "success", 1.0, "build-1"),
        ("red", "failure", 0.0, "build-1"),
    ]
    assert found[0].quality_factors is not None
    assert found[0].quality_factors.tests_passing == 0.5
    assert found[0].completed_at == "2026-03-01T12:00:00+00:00"
    assert [one.id for one in found] == [one.id for one in provider.load_signals()]
    assert provider.quarantined[0][1].startswith("timestamp 'at noon'")


def test_pytests_own_results_are_read(tmp_path: Path) -> None:
    named = '(record_property):\n    record_property("umi.task_id", "ticket-1")\n'
    (tmp_path / "test_two.py").write_text(
        f"def test_a():\n    pass\n\ndef test_b():\n    assert False\n\ndef test_c{named}"
    )
    report = tmp_path / "out.xml"
    args = ["-q", "-p", "no:cacheprovider", "-p", "no:umi", str(tmp_path / "test_two.py"), f"--junitxml={report}"]
    import subprocess
    import sys

    env = {**os.environ, "PYTHONPATH": ""}
    subprocess.run([sys.executable, "-m", "pytest", *args], cwd=tmp_path, env=env, capture_output=True, check=False)
    found = JUnitSignalProvider(report).load_signals()
    assert [(one.task_id, one.outcome, one.quality_score) for one in found] == [
        (None, "partial_success", 0.5),
        ("ticket-1", "success", 1.0),
    ]


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE x [<!ENTITY a "aa">]><testsuite><testcase name="&a;"/></testsuite>',
        "<testsuite><testcase>",
        "not xml",
        "",
    ],
)
def test_xml_that_is_dangerous_or_none_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.xml"
    path.write_text(text)
    with pytest.raises(SignalError):
        JUnitSignalProvider(path).load_signals()


def test_pull_requests_become_signals_once_they_are_decided(tmp_path: Path) -> None:
    pulls = [
        {"number": 1, "title": "Login", "state": "MERGED", "reviewDecision": "APPROVED", "mergedAt": "2026-03-01T12:00:00Z",
         "body": "Fixes it.\r\n\r\nUmi-Task: T-7\r\nUmi-Recall: rec_1"},
        {"number": 2, "title": "Logout", "state": "CLOSED", "reviewDecision": "CHANGES_REQUESTED",
         "closedAt": "2026-03-02T12:00:00Z", "body": None},
        {"number": 3, "title": "Wait", "state": "OPEN", "reviewDecision": "", "mergedAt": None},
        {"number": "4", "state": "MERGED"},
        {"number": 5, "title": "Late", "state": "MERGED", "mergedAt": None},
        {"number": 6, "title": "Odd", "state": "SOLD"},
        7,
    ]  # fmt: skip
    provider = PullRequestSignalProvider(written(tmp_path / "pulls.json", *pulls))
    merged, closed = provider.load_signals()
    assert (merged.id, merged.outcome, merged.human_verdict, merged.task_id, merged.recall_id) == (
        "pr-1", "success", "approved", "T-7", "rec_1",
    )  # fmt: skip
    assert (closed.outcome, closed.human_verdict, closed.task_description) == ("failure", "rejected", "Logout")
    assert [where for where, _ in provider.quarantined] == [f"pulls.json record {number}" for number in (4, 5, 6, 7)]


# The loader.


class Given:
    """A provider of a caller's own."""

    def __init__(self, name: str, load: Callable[[], Any], weights: Any = None) -> None:
        self._name, self._load, self._weights = name, load, weights

    @property
    def name(self) -> str:
        return self._name

    def load_signals(self) -> Any:
        return self._load()

    def quality_weights(self) -> Any:
        return self._weights


def sound(number: int = 0) -> QualitySignal:
    return QualitySignal(f"s{number}", "t", "success", 1.0, "2026-03-01T12:00:00Z")


def test_the_loader_gathers_what_providers_give() -> None:
    weights = ProviderQualityWeights(1, 0, 0)
    loader = IntelligenceLoader([Given("ci", lambda: [sound(0), sound(1)], weights)])
    loader.register_provider(Given("review", lambda: iter([sound(0)])))
    assert loader.provider_names == ("ci", "review")
    assert loader.provider_count == 2
    assert [signal.id for signal in loader.load_all_signals()] == ["s0", "s1", "s0"]
    assert [(group.name, len(group.signals), group.weights) for group in loader.load_grouped()] == [
        ("ci", 2, weights),
        ("review", 1, ProviderQualityWeights()),
    ]
    assert loader.errors == ()


def _endless() -> Iterator[QualitySignal]:
    while True:
        yield sound()


def _broken() -> list[QualitySignal]:
    raise KeyError("their own bug")


@pytest.mark.parametrize(
    ("load", "weights", "why"),
    [
        (_broken, None, "their own bug"),
        (_endless, None, "10,000"),
        (lambda: None, None, "TypeError"),
        (lambda: [sound()], ProviderQualityWeights(-1), "weights must be"),
        (lambda: [sound()], "heavy", "weights must be ProviderQualityWeights or None, got str"),
    ],
)
def test_a_provider_that_fails_costs_its_own_signals_only(load: Callable[[], Any], weights: Any, why: str) -> None:
    loader = IntelligenceLoader([Given("bad", load, weights), Given("good", lambda: [sound()])])
    assert [group.name for group in loader.load_grouped()] == ["good"]
    assert [(fault.provider, fault.record) for fault in loader.errors] == [("bad", "")]
    assert why in loader.errors[0].reason


def test_bad_signals_of_a_provider_are_told_with_their_place() -> None:
    loader = IntelligenceLoader(
        [Given("ci", lambda: [sound(0), "x", QualitySignal("", "", "success", 1.0, "?"), sound(1)])]
    )
    assert [signal.id for signal in loader.load_all_signals()] == ["s0", "s1"]
    assert [(fault.record, fault.reason) for fault in loader.errors] == [
        ("signal 1", "not a QualitySignal but a str"),
        ("signal 2", "id is blank"),
    ]


def test_quarantined_records_of_a_file_reach_the_loader(tmp_path: Path) -> None:
    loader = IntelligenceLoader([FileSignalProvider(written(tmp_path / "a.json", record(0), {}), name="ci")])
    assert len(loader.load_all_signals()) == 1
    assert [(fault.provider, fault.record) for fault in loader.errors] == [("ci", "a.json record 2")]
    assert len(loader.load_all_signals()) == 1
    assert len(loader.errors) == 1  # of the last load


class _Nameless:
    @property
    def name(self) -> str:
        raise RuntimeError("no name")


@pytest.mark.parametrize("name", ["ci", "feedback", "", "x" * 257, 7])
def test_a_name_that_is_none_or_taken_is_refused(name: Any) -> None:
    loader = IntelligenceLoader([Given("ci", list)])
    with pytest.raises(InvalidInput):
        loader.register_provider(Given(name, list))
    with pytest.raises(InvalidInput, match="no name"):
        loader.register_provider(_Nameless())  # type: ignore[arg-type]
    assert loader.provider_names == ("ci",)
