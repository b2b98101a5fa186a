"""JUnit XML: whose the results are, what counts once, and what is refused."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from umi import QualitySignal, SignalError
from umi.signals import JUnitSignalProvider
from umi.types import digest

NOON = "timestamp='2026-03-01T12:00:00Z'"


def says(**properties: str) -> str:
    inner = "".join(f"<property name='umi.{name}' value='{value}'/>" for name, value in properties.items())
    return f"<properties>{inner}</properties>"


def read(folder: Path, text: str, task_id: str | None = None) -> list[QualitySignal]:
    path = folder / "junit.xml"
    path.write_text(text)
    return JUnitSignalProvider(path, task_id=task_id).load_signals()


def told(found: list[QualitySignal]) -> list[tuple[str, str | None, float]]:
    return [(one.task_description, one.task_id, one.quality_score) for one in found]


def test_a_suite_within_another_has_its_own_task_or_that_of_the_outer_one(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        f"<testsuites><testsuite name='all' {NOON}>{says(task_id='outer')}<testcase name='x'><failure/></testcase>"
        f"<testsuite name='own' {NOON}>{says(task_id='inner')}<testcase name='y'/></testsuite>"
        "<testsuite name='none'><testcase name='z'/><testcase name='z2'/></testsuite></testsuite>"
        "<testsuite name='beside'><testcase name='w'/></testsuite></testsuites>",
        task_id="build",
    )
    assert told(found) == [("all", "outer", 0), ("own", "inner", 1), ("none", "outer", 1), ("beside", "build", 1)]
    assert found[2].completed_at == found[0].completed_at == "2026-03-01T12:00:00+00:00"
    assert len({one.id for one in found}) == 4


def test_a_test_names_its_own_task_and_counts_for_no_other(tmp_path: Path) -> None:
    case = "<testcase name='{}'>{}{}</testcase>"
    found = read(
        tmp_path,
        f"<testsuites><testsuite name='pytest' {NOON}>{says(recall_id='rec_1', description='the login')}"
        + case.format("a", says(task_id="ticket-1"), "")
        + case.format("b", says(task_id="ticket-2"), "<failure/>")
        + case.format("c", "", "")
        + case.format("d", says(task_id="ticket-2"), "")
        + case.format("e", says(task_id="ticket-3"), "<skipped/>")
        + "</testsuite></testsuites>",
    )
    assert [(one.task_id, one.recall_id, one.quality_score) for one in found] == [
        ("ticket-1", None, 1.0),
        ("ticket-2", None, 0.5),
        (None, "rec_1", 1.0),
    ]
    assert {one.task_description for one in found} == {"the login"}
    assert len({one.id for one in found}) == 3


def test_results_without_a_time_are_told_by_what_they_say(tmp_path: Path) -> None:
    text = "<testsuite name='jest'><testcase name='a' time='{}'/></testsuite>"
    first = read(tmp_path, text.format("0.5"))[0]
    os.utime(tmp_path / "junit.xml", (1.7e9, 1.7e9))
    shutil.copy(tmp_path / "junit.xml", tmp_path / "copy.xml")
    for path in (tmp_path / "junit.xml", tmp_path / "copy.xml"):
        again = JUnitSignalProvider(path).load_signals()[0]
        assert (again.id, digest(again)) == (first.id, digest(first))
    # The time is still there for what depends on age, and another run or task is another signal.
    assert JUnitSignalProvider(tmp_path / "junit.xml").load_signals()[0].completed_at.startswith("2023-11-14")
    others = [read(tmp_path, text.format("0.6"))[0], read(tmp_path, text.format("0.5"), "build-2")[0]]
    assert len({first.id, *(one.id for one in others)}) == 3


def test_properties_of_others_and_empty_ones_say_nothing(tmp_path: Path) -> None:
    others = (
        "<properties><property name='task_id' value='theirs'/><property name='umi.task_id' value=''/>"
        "<property name='umi.recall_id'/><property value='x'/></properties>"
    )
    found = read(tmp_path, f"<testsuite name='s' {NOON}>{others}<testcase name='x'/></testsuite>", task_id="build")
    assert [(one.task_id, one.recall_id) for one in found] == [("build", None)]
    inner = f"<testcase name='x'>{others}</testcase>"
    found = read(tmp_path, f"<testsuite name='s' {NOON}>{says(task_id='outer')}{inner}</testsuite>", task_id="build")
    assert [(one.task_id, one.recall_id) for one in found] == [("outer", None)]


def test_suites_of_one_name_that_share_the_time_of_the_outer_one_are_several(tmp_path: Path) -> None:
    suite = "<testsuite name='s'><testcase name='{}'/></testsuite>"
    found = read(tmp_path, f"<testsuites {NOON}>{suite.format('a')}{suite.format('b')}</testsuites>")
    assert len({one.id for one in found}) == 2


@pytest.mark.parametrize(
    "message",
    ["<![CDATA[expected a page, got <!DOCTYPE html><!ENTITY a 'b'>]]>", "<!-- <!DOCTYPE html> -->"],
)
def test_a_message_may_contain_a_document_type(tmp_path: Path, message: str) -> None:
    prolog = "<?xml version='1.0'?>\n<!-- by <!DOCTYPE x> --><?of <!DOCTYPE?>"
    found = read(
        tmp_path,
        f"{prolog}<testsuite name='web'><testcase name='a'><failure>{message}</failure></testcase></testsuite>",
    )
    assert told(found) == [("web", None, 0)]


@pytest.mark.parametrize(
    "prolog",
    ["", "<?xml version='1.0'?>\n", "<!-- a --> <?b c?>\r\n\t<!-- > -->", "\ufeff", "<?a <!-- ?>", "<!-- <?a -->"],
)
def test_no_document_type_is_read(tmp_path: Path, prolog: str) -> None:
    entities = "<!DOCTYPE x [<!ENTITY a 'aa'><!ENTITY b '&a;&a;'>]>"
    suite = "<testsuite name='s'><testcase name='&b;'/></testsuite>"
    with pytest.raises(SignalError, match="declares a document type"):
        read(tmp_path, prolog + entities + suite)
    for refused in (suite + entities, f"<testsuites>{entities}{suite}</testsuites>", "\ufeff\ufeff" + entities + suite):
        with pytest.raises(SignalError, match="is not XML"):
            read(tmp_path, prolog + refused)


def test_suites_may_be_nested_deeper_than_the_stack(tmp_path: Path) -> None:
    depth = 20_000
    text = "<testsuite name='s'>" * depth + "<testcase name='a'/>" + "</testsuite>" * depth
    assert told(read(tmp_path, text)) == [("s", None, 1)]
