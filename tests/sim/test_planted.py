"""Planted faults fit the product, leave it as it was, and are found."""

import ast
import inspect
import pkgutil
import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from types import FunctionType, ModuleType

import pytest

import umi
import umi.providers
import umi.stores
from umi._evolution import relation_writer, tracker
from umi.errors import InvalidInput
from umi_lab.mutation import mutants
from umi_lab.mutation.planted import MUTATIONS, Mutation, edited, patched
from umi_lab.mutation.planted_adapters import ADAPTERS
from umi_lab.mutation.planted_blind import BLIND
from umi_lab.mutation.planted_erasures import ERASURES

SEEDS = 60


@cache
def modules() -> tuple[tuple[str, ModuleType], ...]:
    """Every module of the rooms that mutations reach into, by name."""
    rooms = (umi.stores, umi.providers)
    names = [info.name for room in rooms for info in pkgutil.walk_packages(room.__path__, f"{room.__name__}.")]
    names += [info.name for info in pkgutil.walk_packages(umi.__path__, "umi.") if info.name.startswith("umi._")]
    found = []
    for name in names:
        with suppress(ModuleNotFoundError):  # an adapter whose extra is not installed
            found.append((name, import_module(name)))
    return tuple(found)


def product() -> dict[tuple[str, str], object]:
    """Every function, constant and method of these modules; a class that several of them name is gone through once."""
    found: dict[tuple[str, str], object] = {}
    kinds: set[type] = set()
    for place, module in modules():
        found |= {(place, name): value for name, value in vars(module).items() if not isinstance(value, ModuleType)}
        for kind in [value for value in vars(module).values() if isinstance(value, type) and value not in kinds]:
            kinds.add(kind)
            found |= {(f"{place}.{kind.__qualname__}", name): value for name, value in vars(kind).items()}
    return found


def changed(before: dict[tuple[str, str], object]) -> list[tuple[str, str]]:
    now = product()
    return [place for place, value in now.items() if before.get(place) is not value] + sorted(
        before.keys() - now.keys()
    )


@pytest.fixture(scope="module")
def before() -> dict[tuple[str, str], object]:
    """The product as it is; each test leaves it so."""
    return product()


@pytest.mark.parametrize("mutation", mutants.ALL, ids=lambda mutation: mutation.name)
def test_a_mutation_is_planted_where_its_function_is_called_and_put_back(
    before: dict[tuple[str, str], object], mutation: Mutation
) -> None:
    """A module that imported a function by name goes on calling what it imported."""
    for _ in range(2):
        with mutation.apply():
            places = changed(before)
        reached = [(place, name) for place, name in places if calls(before, place, name)]
        assert reached, f"nobody calls {places} by this name"
        assert changed(before) == []


def calls(before: dict[tuple[str, str], object], place: str, name: str) -> bool:
    """Whether what stands at a place is called from there, or through it: true unless only other modules hold it, by name."""
    one = before[place, name]
    if place not in sys.modules or not isinstance(one, FunctionType) or one.__module__ != place:
        return True
    used = any(
        isinstance(node, ast.Name) and node.id == name
        for node in ast.walk(ast.parse(inspect.getsource(sys.modules[place])))
    )
    return used or not any(held is one for where, held in before.items() if where != (place, name))


def test_a_function_that_only_others_call_is_not_called_where_it_stands(before: dict[tuple[str, str], object]) -> None:
    assert not calls(before, "umi._engine.several", "recall_over")
    assert calls(before, "umi._engine.answering", "recall_over")


def test_a_mutation_puts_the_product_back_when_a_world_throws(before: dict[tuple[str, str], object]) -> None:
    for mutation in mutants.ALL:
        with pytest.raises(ZeroDivisionError), mutation.apply():
            raise ZeroDivisionError
    assert changed(before) == []


def test_there_are_enough_and_each_is_told_apart() -> None:
    assert len(mutants.ALL) >= 15
    assert len(BLIND) == 5
    for table in (MUTATIONS, ADAPTERS, BLIND, ERASURES):
        assert {mutation.name for mutation in table} <= {mutation.name for mutation in mutants.ALL}
    for told in ("name", "summary"):
        assert len({getattr(mutation, told) for mutation in mutants.ALL}) == len(mutants.ALL)


@pytest.mark.parametrize("mutation", mutants.ALL, ids=lambda mutation: mutation.name)
def test_where_a_mutation_sits_exists(mutation: Mutation) -> None:
    parts = mutation.where.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for name in parts[length:]:
            found = getattr(found, name)
        return
    pytest.fail(mutation.where)


def test_a_mutation_that_no_longer_fits_says_so() -> None:
    with pytest.raises(AttributeError, match="no attribute 'gone'"), patched(relation_writer, "gone", None):
        pass
    with pytest.raises(InvalidInput, match="0 times"):
        edited(tracker, "_open_at", "what it does not say", "")
    with pytest.raises(InvalidInput, match="fits no more"):
        edited(tracker, "_open_at", "valid_to", "valid_from")


@pytest.mark.parametrize(
    "name",
    [
        "cut-not-made",
        pytest.param("labels-of-a-cut-message-lost", marks=pytest.mark.slow),
        pytest.param("retry-without-the-key", marks=pytest.mark.slow),
        pytest.param("change-lost", marks=pytest.mark.slow),
        pytest.param("silence-unheard", marks=pytest.mark.slow),
    ],
)
def test_worlds_find_it(name: str) -> None:
    found = mutants.hunt(name, SEEDS)
    assert found.seed is not None
    assert found.worlds == found.seed + 1 <= SEEDS
    assert found.as_expected
    assert 1 <= len(found.steps) <= 5
    assert mutants.control(range(found.seed, found.seed + 1)).as_expected


def test_a_fault_that_does_no_harm_is_not_called_found(monkeypatch: pytest.MonkeyPatch) -> None:
    harmless = Mutation("harmless", "Nothing.", "umi", lambda: patched(relation_writer, "KEEP", relation_writer.KEEP))
    monkeypatch.setattr(mutants, "ALL", (harmless,))
    found = mutants.hunt("harmless", 4)
    assert (found.seed, found.worlds, found.failure, found.steps) == (None, 4, "", ())
    assert not found.as_expected
    assert "not caught" in mutants.markdown([mutants.control(range(2)), found], 4)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no mutation is called 'nobody'"):
        mutants.measure(["nobody"], seeds=1)
