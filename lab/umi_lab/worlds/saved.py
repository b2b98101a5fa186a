"""Plans as JSON, so that a shrunk failure can be replayed after the generator of plans has changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from umi.errors import InvalidInput
from umi.sim.faults import FaultConfig, FaultType
from umi_lab.worlds.steps import Kind, Plan, Step


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """A plan as plain values; fields with their default are left out."""
    plain = _without_defaults(plan, Plan)
    plain["steps"] = [_without_defaults(step, Step) for step in plan.steps]
    if plan.faults:
        plain["faults"] = [_without_defaults(fault, FaultConfig) for fault in plan.faults]
    return plain


def plan_from_json(plain: object) -> Plan:
    """The plan that `plan_to_json` wrote.

    Raises:
        InvalidInput: When this is no plan.
    """
    try:
        record = dict(_mapping(plain))
        # The remaining fields of the record are plain values with the names of `Plan`'s.
        steps = tuple(_step(one) for one in record.pop("steps"))
        faults = tuple(_fault(one) for one in record.pop("faults", ()))
        return Plan(steps=steps, faults=faults, **record)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"this is no saved plan: {type(error).__name__}: {error}") from error


def read_plan(text: str) -> Plan:
    """A plan from the text of a file.

    Raises:
        InvalidInput: When this is no plan.
    """
    try:
        return plan_from_json(json.loads(text))
    except ValueError as error:
        raise InvalidInput(f"this is no saved plan: {error}") from error


def _without_defaults(record: Any, kind: type[Any]) -> dict[str, Any]:
    defaults = {one.name: one.default for one in fields(kind)}
    values = asdict(record)
    return {name: value for name, value in values.items() if defaults[name] != value}


def _mapping(plain: object) -> Mapping[str, Any]:
    if not isinstance(plain, Mapping):
        raise TypeError(f"an object is expected, not {type(plain).__name__}")
    return plain


def _step(plain: object) -> Step:
    record = dict(_mapping(plain))
    return Step(**{**record, "kind": Kind(record["kind"]), "refers": tuple(record.get("refers", ()))})


def _fault(plain: object) -> FaultConfig:
    record = dict(_mapping(plain))
    operations = record.get("operations")
    where = None if operations is None else tuple(operations)
    return FaultConfig(**{**record, "fault_type": FaultType(record["fault_type"]), "operations": where})
