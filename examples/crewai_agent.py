"""A CrewAI crew that knows its user across runs: pip install 'umi-memory[crewai]'."""

import re
from typing import Any

from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM

import umi.blocking
from umi.adapters.crewai import UmiMemory


class Scripted(BaseLLM):
    """Stands for a model, so that this example needs no key: answers from the memories that it is shown."""

    def call(self, messages: Any, *_: Any, **__: Any) -> str:
        prompt = "\n".join(str(one["content"]) for one in messages)
        employer = re.search(r"(?:work at|joined|works at:) (\w+)", prompt.partition("Relevant memories:")[2])
        answer = f"You work at {employer[1] if employer else 'a place I do not know'}."
        return f"Thought: I can answer.\nFinal Answer: {answer if 'Where do I work?' in prompt else 'Noted.'}"


llm = Scripted(model="scripted")  # with a key: llm = "PROVIDER/MODEL"


def run(user: str, text: str) -> str:
    with umi.blocking.Memory.open("agent.db") as memory:
        helper = Agent(role="Helper", goal="Help the user.", backstory="You are brief.", llm=llm)
        task = Task(description=text, expected_output="A short answer.", agent=helper)
        crew = Crew(agents=[helper], tasks=[task], memory=UmiMemory(memory, user=user))  # whose memories they are
        return str(crew.kickoff())


def main() -> None:
    print("told:   ", run("alice", "I work at Acme."))
    print("changed:", run("alice", "I left Acme and joined StartupX."))
    print("asked:  ", run("alice", "Where do I work?"))
    print("by Bob: ", run("bob", "Where do I work?"))


if __name__ == "__main__":
    main()
