"""The public names as a type checker sees them: what comes out has its type, and a wrong call is an error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import house

USE = Path(__file__).parent / "typing" / "public_api.py"


def errors_in(path: Path, folder: Path, mode: str = "standard") -> list[str]:
    """The errors of pyright's, by line and rule."""
    settings = {
        "include": [str(path)],
        "extraPaths": [str(house.SRC)],
        "typeCheckingMode": mode,
        "reportUnnecessaryTypeIgnoreComment": "error",
        "pythonVersion": "3.11",
        "venvPath": str(Path(sys.prefix).parent),
        "venv": Path(sys.prefix).name,
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "-p", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found: dict[str, Any] = json.loads(done.stdout)
    return [
        f"{one['range']['start']['line'] + 1}: {one.get('rule')}: {one['message']}"
        for one in found["generalDiagnostics"]
        if one["severity"] == "error"
    ]


def test_the_public_names_have_their_types(tmp_path: Path) -> None:
    assert errors_in(USE, tmp_path) == []


def test_a_wrong_type_is_seen(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(USE.read_text("utf-8").replace("found.hits, tuple[umi.Hit, ...]", "found.hits, list[umi.Hit]"))
    (only,) = errors_in(wrong, tmp_path)
    assert "reportAssertTypeFailure" in only
