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

Llm = Annotated[
    str | None,
    typer.Option(
        "--llm",
        envvar="UMI_LLM",
        metavar="MODEL",
        help="A model that reads and judges: openai:NAME, anthropic:NAME, ollama:NAME or http://HOST/v1#NAME.",
    ),
]
Embedder = Annotated[
    str,
    typer.Option(
        "--embedder",
        envvar="UMI_EMBEDDER",
        metavar="NAME",
        help="local, none, openai:NAME, ollama:NAME, fastembed:NAME or http://HOST/v1#NAME.",
    ),
]

DB_DEFAULT = "umi.db"
NAMESPACE_DEFAULT = "default"
EMBEDDER_DEFAULT = "local"


def examples(*lines: str) -> str:
    """Commands to copy, as the last thing in a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
