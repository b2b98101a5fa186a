import asyncio
import signal
import sys

import umi

DB = "app.db"


async def tell(memory: umi.Memory, user: str, message_id: str, text: str) -> int:
    """POST /messages: the HTTP status."""
    try:
        mine = memory.switch(user)  # no second connection: the same store, another namespace
        await mine.remember(umi.Message(text, speaker=user, id=message_id), read="later")
    except umi.StoreBusy:
        return 503  # nothing was stored; the client sends the same id again, which cannot store it twice
    except umi.InvalidInput:
        return 400
    return 202


async def ask(memory: umi.Memory, user: str, question: str) -> str:
    """GET /context: what a model is told before it answers."""
    return (await memory.switch(user).recall(question, max_tokens=800)).as_context()


async def serve(user: str) -> None:
    """One process of the web server: the memory is opened when it starts and closed when it stops."""
    async with umi.Memory.open(DB) as memory:
        for _ in range(2):  # the client did not get the first answer, and sends the message again
            print(user, await tell(memory, user, "m1", "I live in Berlin." if user == "alice" else "I live in Rome."))


async def work() -> None:
    """The process that reads what the servers stored, of all users, until it is told to stop."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with umi.Memory.open(DB) as memory:  # with llm=...: the one process that needs the model
        while not stop.is_set():
            for space in await memory.namespaces():
                await memory.switch(space.name).work(idle_s=0)
            await asyncio.sleep(0.1)


async def start(*words: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(sys.executable, __file__, *words)


async def main() -> None:
    async with umi.Memory.open(DB) as memory:
        worker = await start("work")
        for user in ("alice", "bob"):
            server = await start("serve", user)
            print("server of", user, "stopped with", await server.wait(), flush=True)
            while (await memory.switch(user).stats()).waiting:
                await asyncio.sleep(0.1)
        worker.send_signal(signal.SIGTERM)
        print("worker stopped with", await worker.wait())
        print("Berlin" in await ask(memory, "alice", "Where does alice live?"))
        print("Berlin" in await ask(memory, "bob", "Where does alice live?"))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", user]:
            asyncio.run(serve(user))
        case ["work"]:
            asyncio.run(work())
        case _:
            asyncio.run(main())
