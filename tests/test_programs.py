"""Three programs as a user would write them: a strict type checker finds nothing in them, and they do what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from test_typing import errors_in

FOLDER = Path(__file__).parent / "typing" / "programs"
PROGRAMS = sorted(FOLDER.glob("*.py"))
ID = re.compile(r" \[epi_\w+\]")
SAID = {
    "support_desk": """handled: [1, 2, 3, 4, 5, 6] twice: [3]
Dan is told of the warranty: True
Ada lives in Lisbon and lived in Berlin
Bob's orders: ['The refund for order 1311 has arrived, thank you.']
Bob erased: True []
refused: invalid_input
""",
    "coding_assistant": """backups by copy: True
7 changes so far
now: {'database': 'PostgreSQL', 'language': 'Python'}
in February: {'database': 'SQLite', 'language': 'Python'}
backups by copy: False
news: ['remembered', 'read', 'related']
superseded: SQLite, because one file is enough
current: PostgreSQL, because ten servers write
True True
not undone: evolution_error
after all: {'database': 'SQLite', 'language': 'Python'}
""",
    "companion": """I live in Berlin and I have a cat called Miso. -> Tell me more.
I love hiking. -> You once said: I live in Berlin and I have a cat called Miso.
I moved to Lisbon. -> You once said: I love hiking.
I hate hiking. -> You once said: I moved to Lisbon. (Did you not say otherwise before?)
My ex is called Robin. -> Tell me more.
places:
- 2026-04-12 lives in: Lisbon
preferences:
- 2026-04-12 likes: not hiking
things:
- 2026-01-05 has pet: cat
late: ['My ex is called Robin.'] erased: True
late: []
exported: True
still known: ['Lisbon']
""",
}


def test_every_program_has_its_output_here() -> None:
    assert sorted(SAID) == [program.stem for program in PROGRAMS]


def test_a_strict_type_checker_finds_nothing(tmp_path: Path) -> None:
    assert errors_in(FOLDER, tmp_path, mode="strict") == []


def test_the_strict_checker_sees_what_is_not_typed(tmp_path: Path) -> None:
    loose = tmp_path / "loose.py"
    loose.write_text(
        "import umi\n\n\nasync def ask(memory: umi.Memory, words):\n    return await memory.recall(words)\n"
    )
    assert any("reportMissingParameterType" in error for error in errors_in(loose, tmp_path, mode="strict"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_it_runs_and_says_what_is_expected(program: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert ID.sub("", done.stdout) == SAID[program.stem]
