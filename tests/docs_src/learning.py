import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path

import umi


async def main() -> None:
    loader = umi.IntelligenceLoader([umi.FileSignalProvider("signals.jsonl", name="ci")])
    async with umi.Memory.open("umi.db", intelligence=loader) as memory:
        await memory.remember("To restart the label printer, hold the green button.")
        await memory.remember("To restart the label printer, pull the power cord.")

        first = await memory.recall("How do I restart the label printer?", task_id="ticket-7")
        tried = first.hits[0]
        print("before:", tried.content)
        await memory.feedback(first.id, outcome="failure", used=[tried.id])

        signal = {"id": "run-1", "task_description": "restart the printer", "outcome": "failure", "quality_score": 0.0}
        signal |= {"task_id": "ticket-7", "completed_at": datetime.now(UTC).isoformat()}
        Path("signals.jsonl").write_text(json.dumps(signal) + "\n", "utf-8")
        print("run:   ", (await memory.learning.run()).new, "new signal")

        again = await memory.recall("How do I restart the label printer?", explain=True)
        print("after: ", again.hits[0].content)
        lesson = again.hits[1].lesson
        print("why:   ", [(row.provider, row.outcome) for row in lesson.signals], f"factor {lesson.factor:.2f}")

        await memory.learning.reset()
        reset = await memory.recall("How do I restart the label printer?")
        print("reset: ", reset.hits[0].content)


asyncio.run(main())
