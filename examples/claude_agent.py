"""Claude with a memory tool whose files keep their history: pip install 'umi-memory[claude]'."""

import asyncio
import json
import re
from typing import Any

import httpx2
from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

import umi
from umi.adapters.claude import AsyncUmiMemoryTool

WORK = "/memories/work.txt"


def scripted(request: httpx2.Request) -> httpx2.Response:
    """Stands for Anthropic's API, so that this example needs no key: views a file, edits it, and answers from what it was shown."""
    messages: list[dict[str, Any]] = json.loads(request.content)["messages"]
    said = messages[0]["content"]
    results = [part["content"] for one in messages[1:] if one["role"] == "user" for part in one["content"]]
    if not results:
        return message(command="view", path=WORK)
    known = re.search(r"1\t(.+)", str(results[0]))
    if said.endswith("?"):
        employer = re.search(r"(?:work at|joined) (\w+)", known[1]) if known else None
        return message(text=f"You work at {employer[1] if employer else 'a place I do not know'}.")
    if len(results) > 1:
        return message(text="Noted.")
    if known:
        return message(command="str_replace", path=WORK, old_str=known[1], new_str=said)
    return message(command="create", path=WORK, file_text=said)


def message(text: str = "", **command: str) -> httpx2.Response:
    use = {"type": "tool_use", "id": "t1", "name": "memory", "input": command}
    content = [use] if command else [{"type": "text", "text": text}]
    usage = {"input_tokens": 1, "output_tokens": 1}
    about = {"id": "m1", "type": "message", "role": "assistant", "model": "scripted", "usage": usage}
    return httpx2.Response(
        200, json={**about, "content": content, "stop_reason": "tool_use" if command else "end_turn"}
    )


# With a key: client = AsyncAnthropic()
client = AsyncAnthropic(api_key="none", http_client=DefaultAsyncHttpxClient(transport=httpx2.MockTransport(scripted)))


async def run(user: str, text: str) -> str:
    async with umi.Memory.open("agent.db") as memory:
        runner = client.beta.messages.tool_runner(
            model="claude-sonnet-5-5",
            max_tokens=1_000,
            messages=[{"role": "user", "content": text}],
            thread=False,  # each request carries the whole conversation, which is all that the script knows
            tools=[AsyncUmiMemoryTool(memory, namespace=user)],  # whose files they are
        )
        answer = await runner.until_done()
        return "".join(part.text for part in answer.content if part.type == "text")


async def main() -> None:
    print("told:   ", await run("alice", "I work at Acme."))
    print("changed:", await run("alice", "I left Acme and joined StartupX."))
    print("asked:  ", await run("alice", "Where do I work?"))
    print("by Bob: ", await run("bob", "Where do I work?"))


if __name__ == "__main__":
    asyncio.run(main())
