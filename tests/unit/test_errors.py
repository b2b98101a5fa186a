"""The code of every error: there, unique, and the same as before."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import umi
import umi.errors
import umi.sim.errors
from umi.errors import UmiError
from umi.faces.cli.main import main

# Programs compare these. A new error adds a line; a line that is there never changes.
CODES = {
    "BoundExceeded": "sim_bound_exceeded",
    "Closed": "closed",
    "Deadlock": "sim_deadlock",
    "EmbedderBusy": "embedder_busy",
    "EmbedderMismatch": "embedder_mismatch",
    "EmbedderUnavailable": "embedder_unavailable",
    "EmbeddingError": "embedding_error",
    "EvolutionError": "evolution_error",
    "ExportDamaged": "export_damaged",
    "Forbidden": "sim_forbidden",
    "IdempotencyConflict": "idempotency_conflict",
    "InvalidFault": "sim_invalid_fault",
    "InvalidInput": "invalid_input",
    "InvalidOptions": "invalid_options",
    "LLMBudgetExceeded": "llm_budget_exceeded",
    "LLMContextOverflow": "llm_context_overflow",
    "LLMDeadlinePassed": "llm_deadline_passed",
    "LLMError": "llm_error",
    "LLMInvalidResponse": "llm_invalid_response",
    "LLMJsonError": "llm_json_error",
    "LLMNotConfigured": "llm_not_configured",
    "LLMRateLimit": "llm_rate_limit",
    "LLMServiceUnavailable": "llm_service_unavailable",
    "LLMTimeout": "llm_timeout",
    "NotFound": "not_found",
    "PreviewOutdated": "preview_outdated",
    "RelationCycle": "relation_cycle",
    "RestoreConflict": "restore_conflict",
    "SignalError": "signal_error",
    "SimulationError": "simulation_error",
    "StoreBusy": "store_busy",
    "StoreCorrupt": "store_corrupt",
    "StoreError": "store_error",
    "StoreFull": "store_full",
    "StoreUnavailable": "store_unavailable",
    "StoreVersion": "store_version",
    "UmiError": "umi_error",
}


def kinds() -> dict[str, type[UmiError]]:
    """Every error of the public modules, by its name."""
    everything = {**vars(umi.errors), **vars(umi.sim.errors)}.values()
    return {one.__name__: one for one in everything if isinstance(one, type) and issubclass(one, UmiError)}


def test_the_codes_are_frozen() -> None:
    assert {name: kind.code for name, kind in sorted(kinds().items())} == CODES


def test_every_class_has_a_code_of_its_own() -> None:
    assert [name for name, kind in kinds().items() if "code" not in vars(kind)] == []
    assert len(set(CODES.values())) == len(CODES)
    assert [code for code in CODES.values() if not re.fullmatch(r"[a-z]+(_[a-z]+)*", code)] == []


def test_an_error_that_was_raised_has_its_code() -> None:
    with pytest.raises(umi.UmiError) as raised:
        umi.check_message("")
    assert raised.value.code == "invalid_input"
    assert umi.LLMError.RateLimit().code == "llm_rate_limit"
    assert umi.NotFound("ent_1").code == "not_found"


def test_the_command_line_prints_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["umi", *words, "--json"])
        with pytest.raises(SystemExit):
            main()
        return capsys.readouterr().out

    assert '"code": "store_unavailable"' in run("recall", "Where?")
    assert '"code": "invalid_input"' in run("remember", "")
    assert '"code": "invalid_input"' in run("recall", "--bogus")
