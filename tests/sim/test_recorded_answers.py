"""Every answer of the recorded runs is as it was. `umi sim record --rewrite` records anew what was changed on purpose."""

import logging

import pytest

from umi._core import rerank
from umi._reading import extract
from umi_lab.mutation.planted import edited
from umi_lab.worlds.recorded import record
from umi_lab.worlds.recorded.plain import plain

NAMES = record.names()


@pytest.mark.parametrize(
    "kind", ["", *(pytest.param(kind, marks=pytest.mark.slow) for kind in record.TOLD)]
)  # those of small worlds are compared in test_small_worlds.py
def test_nothing_answers_otherwise_than_it_did(kind):
    runs = [name for name in NAMES if name.rpartition(":")[0] == kind]
    assert runs
    assert record.differing(runs) == [], record.REMEDY


def test_the_record_holds_just_these_runs_and_none_that_fails():
    known = record.read()
    assert list(known) == NAMES
    assert [name for name, told in known.items() if told.startswith("fails: ")] == []


def test_another_bound_of_the_reader_is_noticed(monkeypatch):
    monkeypatch.setattr(extract, "_FIRM", 0.99)
    assert not all(_is_as_recorded(name) for name in NAMES if name.startswith("talk:"))


def test_another_order_of_hits_is_noticed():
    with edited(rerank, "_at", "places == _NONE", "places != _NONE"):
        assert not all(_is_as_recorded(name) for name in NAMES[:20])


def test_a_failing_run_is_told_as_such():
    assert record.Heard(("one",), "a wrong hit").sum == "fails: a wrong hit"


def test_values_are_told_alike_everywhere():
    told = plain({"folder": "/somewhere/umi-ledger-x7/ledger.db", "score": 0.1 + 0.2, "kinds": {"b", "a"}})
    assert told == "{'folder': 'FOLDER/ledger.db', 'score': 0.300000, 'kinds': {'a', 'b'}}"


def test_the_log_is_as_loud_afterwards_as_before():
    before = logging.getLogger("umi").level
    record.heard("talk:ward")
    assert logging.getLogger("umi").level == before


def _is_as_recorded(name):
    return record.heard(name).sum == record.read()[name]
