"""The OpenAPI document keeps its word: requests made from it get answers that are in it, and never a 500."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import live_server
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CASES = int(os.environ.get("UMI_OPENAPI_CASES", "8"))  # of each operation; 400 in a long run
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@schemathesis.serializer("application/x-ndjson")
def lines(_: object, value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


def test_made_up_requests_get_documented_answers(tmp_path: Path) -> None:
    with live_server.running(tmp_path / "umi.db", "--deadline", "20") as live, live.client() as client:
        document = client.get("/openapi.json").json()
        described = schemathesis.openapi.from_dict(document)
        described.config.update(base_url=live.url)
        tried = 0
        for found in described.get_all_operations():
            operation = found.ok()
            strategy = operation.as_strategy()

            @settings(
                max_examples=CASES,
                deadline=None,
                database=None,
                derandomize=True,
                suppress_health_check=list(HealthCheck),
                phases=[Phase.generate],
            )
            @given(case=strategy)
            def tries(case: Any) -> None:
                nonlocal tried
                tried += 1
                case.call_and_validate(checks=CHECKS, timeout=30)

            tries()
        assert tried >= CASES * 20
        assert client.get("/readyz").status_code == 200


def test_every_operation_has_an_example_or_needs_none(tmp_path: Path) -> None:
    with live_server.running(tmp_path / "umi.db") as live, live.client() as client:
        document = client.get("/openapi.json").json()
        assert document["openapi"] == "3.1.0"
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                assert operation["summary"], (method, path)
                assert operation["description"], (method, path)
                for status, answer in operation["responses"].items():
                    assert "$ref" in answer or answer["content"], (method, path, status)
