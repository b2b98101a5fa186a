"""The store compared with LangGraph's InMemoryStore over sequences of operations: `UMI_ADAPTER_SEQUENCES=10000` makes a long run."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import GetOp, Item, ListNamespacesOp, MatchCondition, Op, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

import umi.blocking
from umi.adapters.langgraph import UmiStore

SEQUENCES = int(os.environ.get("UMI_ADAPTER_SEQUENCES", "150"))
LABELS = st.sampled_from(["a", "b", "c/d", "Zoë"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
KEYS = st.sampled_from(["k1", "k2", "", "long" * 80])
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["x", "y z", "12"])
VALUES = st.fixed_dictionaries(
    {"n": st.integers(-3, 3)},
    optional={"tag": SCALARS, "deep": st.fixed_dictionaries({"s": SCALARS}), "list": st.lists(SCALARS, max_size=2)},
)
OPERATORS = st.fixed_dictionaries(
    {}, optional={one: st.integers(-3, 3) for one in ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")}
)
FILTERS = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "n": st.integers(-3, 3) | OPERATORS,
        "tag": SCALARS | st.fixed_dictionaries({"$ne": SCALARS}),
        "deep": st.fixed_dictionaries({"s": SCALARS}),
        "list": st.lists(SCALARS, max_size=2),
    },
)
PUTS = st.builds(PutOp, NAMESPACES, KEYS, VALUES | st.none(), index=st.none() | st.just(value=False), ttl=st.none())
GETS = st.builds(GetOp, NAMESPACES, KEYS)
PREFIXES = st.just(()) | NAMESPACES
SEARCHES = st.builds(
    SearchOp,
    PREFIXES,
    query=st.none(),
    filter=FILTERS,
    limit=st.sampled_from([1, 3, 100]),
    offset=st.sampled_from([0, 0, 1]),
)
PATHS = st.lists(LABELS | st.just("*"), max_size=2).map(tuple)
CONDITIONS = st.lists(st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), PATHS), max_size=2).map(tuple)
LISTS = st.builds(
    ListNamespacesOp,
    match_conditions=CONDITIONS,
    max_depth=st.none() | st.integers(1, 3),
    limit=st.sampled_from([1, 100]),
    offset=st.sampled_from([0, 1]),
)
BATCHES = st.lists(PUTS | PUTS | GETS | SEARCHES | LISTS, min_size=1, max_size=4)


def plain(item: Item | None) -> Any:
    """An item without its times, which the two stores take at different moments."""
    return None if item is None else (item.namespace, item.key, item.value)


def everything(store: Any) -> list[Any]:
    return [plain(item) for item in store.search((), limit=1000)]


def expected_namespaces(theirs: InMemoryStore, op: ListNamespacesOp) -> Any:
    """What InMemoryStore lists, where it holds only namespaces that have items: it also lists those that lost theirs or were asked for."""
    clean = InMemoryStore()
    for item in theirs.search((), limit=1000):
        clean.put(item.namespace, item.key, item.value)
    return clean.batch([op])[0]


def compare(op: Op, ours: Any, theirs: Any, before: InMemoryStore, listed: list[Any]) -> None:
    if isinstance(op, GetOp):
        assert plain(ours) == plain(theirs)
    elif isinstance(op, ListNamespacesOp):
        assert ours == expected_namespaces(before, op)
    elif isinstance(op, SearchOp):
        # In an order of its own, the newest first, of which a page is a part.
        matching = {repr(plain(item)) for item in before.batch([op._replace(limit=1000, offset=0)])[0]}
        in_order = [one for one in listed if repr(one) in matching]
        assert [plain(item) for item in ours] == in_order[op.offset : op.offset + op.limit]
        assert len(ours) == len(theirs)


@settings(max_examples=SEQUENCES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=SEQUENCES <= 150)
@given(st.lists(BATCHES, min_size=1, max_size=6))
@pytest.mark.timeout(0)
def test_a_sequence_of_operations_gives_what_inmemorystore_gives(batches: list[list[Op]]) -> None:
    with umi.blocking.Memory.open(":memory:", embedder=None) as memory:
        ours, theirs = UmiStore(memory), InMemoryStore()
        for ops in batches:
            listed = everything(ours)
            before = InMemoryStore()
            before._data.update({namespace: dict(items) for namespace, items in theirs._data.items()})
            mine, yours = ours.batch(ops), theirs.batch(ops)
            for op, one, other in zip(ops, mine, yours, strict=True):
                compare(op, one, other, before, listed)
            assert sorted(map(repr, everything(ours))) == sorted(map(repr, everything(theirs)))
