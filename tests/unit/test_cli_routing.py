"""What the command line shows of routing."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from test_router import TRANSLATE, opened
from typer.testing import CliRunner

from umi.faces.cli.main import app


async def _three_tasks(path: Path) -> None:
    async with opened(path / "umi.db") as router:
        for _ in range(3):
            route = await router.choose(TRANSLATE)
            await router.feedback(route.id, "success", actual=0.1)


def test_status_tells_of_routed_tasks(tmp_path: Path) -> None:
    asyncio.run(_three_tasks(tmp_path))
    told = CliRunner().invoke(app, ["learn", "status", "--db", str(tmp_path / "umi.db"), "--json"])
    assert told.exit_code == 0, told.output
    routing = json.loads(told.output)["data"]["routing"]
    assert (routing["decisions"], routing["judged"], routing["chosen"]) == (3, 3, {"fast": 3})
    shown = CliRunner().invoke(app, ["learn", "status", "--db", str(tmp_path / "umi.db")])
    assert "3: fast 3" in shown.output
    assert "mean quality fast 1.00" in shown.output
