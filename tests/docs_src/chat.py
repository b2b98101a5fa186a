import asyncio

import umi


async def reply(prompt: str) -> str:
    """Your model; this one only shows what it was told."""
    return "You live in Lisbon." if "Alice: I moved to Lisbon." in prompt else "Nice to meet you."


async def turn(memory: umi.Memory, text: str) -> str:
    found = await memory.recall(f"Alice: {text}", limit=5, max_tokens=800)  # a question knows no "I": say who asks
    known = "Nothing is known about this." if found.abstained else found.as_context()
    answer = await reply(f"What is known:\n{known}\n\nThey say: {text}")
    await memory.remember([umi.Message(text, speaker="Alice"), umi.Message(answer, role="assistant")], session="today")
    return answer


async def main() -> None:
    async with umi.Memory.open("chat.db", namespace="alice") as memory:
        print(await turn(memory, "I moved to Lisbon."))
        print(await turn(memory, "Where do I live?"))


asyncio.run(main())
