"""An agent that talks, with mem0's API on Umi: told in one run, changed in a second, known right in a third.

    python mem0_agent.py

It needs no key: the model is scripted. For a real one, put this in place of the line that makes `model`:

    model = openai_model("gpt-5-mini")  # OPENAI_API_KEY, and pip install 'umi-memory[openai]'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from umi.adapters.mem0 import Memory

Model = Callable[[list[dict[str, Any]]], str]


def scripted_model(messages: list[dict[str, Any]]) -> str:
    """Answer a question with the first that the instructions say is known."""
    known = messages[0]["content"].partition("What you know:\n")[2].splitlines()
    return f"As far as I know: {known[0]}" if known and messages[-1]["content"].endswith("?") else "Noted."


def openai_model(name: str) -> Model:
    """A model of OpenAI."""
    from openai import OpenAI

    client = OpenAI()

    def answer(messages: list[dict[str, Any]]) -> str:
        done: Any = client.chat.completions.create(model=name, messages=messages)  # type: ignore[arg-type]
        return str(done.choices[0].message.content)

    return answer


def chat(model: Model, memory: Memory, user: str, said: str) -> str:
    """One turn: look up what is known, ask the model, remember what the user said."""
    found = memory.search(said, filters={"user_id": user}, top_k=3)
    known = "\n".join(f"- {one['memory']}" for one in found["results"])
    instructions = f"You are a helpful assistant.\nWhat you know:\n{known}"
    answer = model([{"role": "system", "content": instructions}, {"role": "user", "content": said}])
    memory.add([{"role": "user", "content": said}], user_id=user)
    return answer


def main() -> None:
    """Three runs of the agent, each of which opens the memory anew."""
    model = scripted_model
    for said in ("I live in Berlin.", "I moved to Rome.", "Where does ada live?"):
        with Memory(url="agent.db") as memory:
            print(f"ada: {said}\nagent: {chat(model, memory, 'ada', said)}")


if __name__ == "__main__":
    main()
