"""mem0's filters: which owners one is about, what of it the store can select, and whether a memory fulfils all of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from umi import limits
from umi._compat.mem0.owners import ANY, KINDS, Owner, checked_name
from umi.errors import InvalidInput

Record = Mapping[str, Any]

_JUNCTIONS: Final = ("AND", "OR", "NOT")
_OWNERS: Final = {f"{kind}_id": kind for kind in KINDS}
_FIELDS: Final = frozenset({*_OWNERS, "id", "memory", "categories", "created_at", "updated_at", "role", "actor_id"})
_OPERATORS: Final = ("eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "contains", "icontains")
# What the platform calls a memory's text and id in filters.
_ALIASES: Final = {"keywords": "memory", "memory_ids": "id"}
_METADATA: Final = "metadata."  # before a key of metadata: as good as the key alone
# Where the store keeps what a filter calls by these names; see `records`.
_LABELS: Final = {"agent_id": "mem0_agent_id", "app_id": "mem0_app_id"}


class Filters:
    """A filter that was read and is within its limits.

    Args:
        tree: A mapping of fields to a value, or to a mapping of operators; "AND", "OR" and "NOT" take lists of such mappings. "*" is
            any value. A field that memories do not have is one of their metadata, as is what stands in "metadata" or after "metadata.";
            "keywords" is the text, "memory_ids" the id.

    Raises:
        InvalidInput: When it is none of that, too deep or too long, or names no owner.
    """

    def __init__(self, tree: object) -> None:
        self._tree = _mapping(tree)
        if sum(_checked(self._tree, 0)) > limits.WHERE_CONDITIONS_COUNT_MAX:
            raise InvalidInput(f"filters have more than {limits.WHERE_CONDITIONS_COUNT_MAX} conditions")
        found = _owners(self._tree)
        if not found:
            raise InvalidInput(
                "filters must name whose memories are meant: user_id, agent_id, app_id or run_id, in every part of an OR"
            )
        self.owners = tuple(sorted(found))

    def where(self, *, elsewhere: bool = False) -> dict[str, Any]:
        """What the store can select by itself, as `umi.Where`; `admits` decides.

        Args:
            elsewhere: Whether it is asked in namespaces of others than the owners.
        """
        metadata: dict[str, Any] = {}
        made: dict[str, Any] = {}
        for field, wanted in _conjunction(self._tree):
            if field == "metadata":
                metadata |= {key: one for key, one in _mapping(wanted).items() if _is_label(one)}
            elif not _is_label(wanted):
                continue
            elif field == "run_id":
                made["session"] = wanted
            elif field in _LABELS:
                metadata[_LABELS[field]] = wanted
            elif field not in _FIELDS and field not in _ALIASES:
                metadata[field.removeprefix(_METADATA)] = wanted
        # An owner's own id is in the name of its namespace, and need not be in the message.
        for owner in () if elsewhere else self.owners:
            metadata.pop(_LABELS.get(f"{owner.kind}_id", ""), None)
            if owner.kind == "run":
                made.pop("session", None)
        return made | ({"metadata": metadata} if metadata else {})

    def admits(self, record: Record) -> bool:
        """Whether a memory, as mem0 shows it, fulfils the filter."""
        return _holds(self._tree, record)


def _mapping(tree: object) -> Mapping[str, Any]:
    if not isinstance(tree, Mapping):
        raise InvalidInput(f'filters must be a mapping such as {{"user_id": "alice"}}, got {tree!r:.80}')
    return tree


def _branches(given: object, name: str) -> Sequence[Mapping[str, Any]]:
    if name == "NOT" and isinstance(given, Mapping):
        return [given]
    if not isinstance(given, list):
        raise InvalidInput(f"filters: {name} takes a list of filters, got {given!r:.80}")
    return [_mapping(one) for one in given]


def _checked(tree: Mapping[str, Any], depth: int) -> Iterator[int]:
    """1 for each condition; refuses what is no filter."""
    if depth > limits.MEM0_FILTER_LEVELS_COUNT_MAX:
        raise InvalidInput(f"filters are nested more than {limits.MEM0_FILTER_LEVELS_COUNT_MAX} deep")
    for field, wanted in tree.items():
        if field in _JUNCTIONS:
            for branch in _branches(wanted, field):
                if not branch:
                    yield 1  # an empty one is looked at too
                yield from _checked(branch, depth + 1)
        elif field == "metadata":
            for one in _mapping(wanted).values():
                yield _check_operators(field, one)
        else:
            yield _check_operators(field, wanted)


def _check_operators(field: str, wanted: object) -> int:
    values = wanted.values() if isinstance(wanted, Mapping) else (wanted,)
    count = max((len(one) for one in values if isinstance(one, list)), default=0)
    if count > limits.WHERE_VALUES_COUNT_MAX:
        raise InvalidInput(
            f"filters: {field} has a list of {count:,} values, more than {limits.WHERE_VALUES_COUNT_MAX:,}"
        )
    if isinstance(wanted, Mapping):
        unknown = [str(one) for one in wanted if one not in _OPERATORS]
        if unknown and field != "metadata":
            raise InvalidInput(f"filters: {field} has no operator {unknown[0]!r:.40}: give {', '.join(_OPERATORS)}")
    return 1


def _owners(tree: Mapping[str, Any]) -> frozenset[Owner] | None:
    """Whose memories can fulfil a filter; None is anybody's. Of several that must hold together, a user goes before an agent, and so on."""
    found: list[frozenset[Owner]] = []
    for field, wanted in tree.items():
        if field in _OWNERS:
            found += [_named(_OWNERS[field], wanted)] if _names_values(wanted) else []
        elif field == "AND":
            found += [one for branch in _branches(wanted, field) if (one := _owners(branch)) is not None]
        elif field == "OR":
            parts = [_owners(branch) for branch in _branches(wanted, field)]
            known = [one for one in parts if one is not None]
            found += [frozenset().union(*known)] if parts and len(known) == len(parts) else []
    if not found:
        return None
    first = min(found, key=_rank)
    same = [one for one in found if _rank(one) == _rank(first) and not any(owner.name == ANY for owner in one)]
    return frozenset.intersection(*same) if same else first


def _rank(owners: frozenset[Owner]) -> int:
    return max((KINDS.index(owner.kind) for owner in owners), default=len(KINDS))


def _names_values(wanted: object) -> bool:
    return not isinstance(wanted, Mapping) or "eq" in wanted or "in" in wanted


def _named(kind: str, wanted: object) -> frozenset[Owner]:
    if isinstance(wanted, Mapping):
        wanted = wanted.get("eq", wanted.get("in"))
    names = wanted if isinstance(wanted, list) else [wanted]
    return frozenset(Owner(kind, checked_name(name, f"{kind}_id")) for name in names)


def _conjunction(tree: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The conditions that must all hold."""
    for field, wanted in tree.items():
        if field == "AND":
            for branch in _branches(wanted, field):
                yield from _conjunction(branch)
        elif field not in _JUNCTIONS:
            yield field, wanted


def _is_label(wanted: object) -> bool:
    """Whether the store compares it as mem0 does: one value, short enough."""
    if isinstance(wanted, str):
        return wanted != ANY and len(wanted.encode("utf-8", "surrogatepass")) <= limits.NAME_BYTES_MAX
    return isinstance(wanted, int | bool)


def _holds(tree: Mapping[str, Any], record: Record) -> bool:
    return all(_one_holds(field, wanted, record) for field, wanted in tree.items())


def _one_holds(field: str, wanted: Any, record: Record) -> bool:
    if field == "AND":
        return all(_holds(one, record) for one in _branches(wanted, field))
    if field == "OR":
        return any(_holds(one, record) for one in _branches(wanted, field))
    if field == "NOT":
        return not any(_holds(one, record) for one in _branches(wanted, field))
    metadata = record.get("metadata") or {}
    if field == "metadata":
        return all(_fits(metadata.get(key), one) for key, one in wanted.items())
    name = _ALIASES.get(field, field)
    return _fits(record.get(name) if name in _FIELDS else metadata.get(field.removeprefix(_METADATA)), wanted)


def _fits(value: Any, wanted: Any) -> bool:
    if wanted == ANY:
        return value is not None
    if isinstance(wanted, Mapping) and wanted and all(name in _OPERATORS for name in wanted):
        return all(_operator(name, value, one) for name, one in wanted.items())
    if isinstance(wanted, list) and not isinstance(value, list):
        return value in wanted
    return _same(value, wanted)


def _operator(name: str, value: Any, wanted: Any) -> bool:
    if name in {"eq", "ne"}:
        return _same(value, wanted) == (name == "eq")
    if name in {"in", "nin"}:
        among = wanted if isinstance(wanted, list) else [wanted]
        return any(_same(value, one) for one in among) == (name == "in")
    if name in {"contains", "icontains"}:
        return _contains(value, wanted, fold=name == "icontains")
    if value is None or isinstance(value, bool) or isinstance(value, str) != isinstance(wanted, str):
        return False
    try:
        return bool({"gt": value > wanted, "gte": value >= wanted, "lt": value < wanted, "lte": value <= wanted}[name])
    except TypeError:
        return False


def _contains(value: Any, wanted: Any, *, fold: bool) -> bool:
    if isinstance(value, list):
        return wanted in value
    if not isinstance(value, str) or not isinstance(wanted, str):
        return False
    return wanted.casefold() in value.casefold() if fold else wanted in value


def _same(value: Any, wanted: Any) -> bool:
    if isinstance(value, list) and not isinstance(wanted, list):
        return wanted in value
    return bool(value == wanted) and isinstance(value, bool) == isinstance(wanted, bool)
