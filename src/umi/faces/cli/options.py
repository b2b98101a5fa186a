"""Options that many commands share, each said once."""

from __future__ import annotations

from typing import Annotated

import typer

Db = Annotated[str, typer.Option("--db", envvar="UMI_DB", metavar="FILE", help="The memory's file.")]
Namespace = Annotated[
    str,
    typer.Option(
        "--namespace", "-n", envvar="UMI_NAMESPACE", metavar="NAME", help="Whose memory: a user, a team, an agent."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Answer with one JSON object: status, data, took_ms.")]

DB_DEFAULT = "umi.db"
NAMESPACE_DEFAULT = "default"
