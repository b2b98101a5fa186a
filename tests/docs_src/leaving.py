import asyncio

import umi


async def main() -> None:
    async with umi.Memory.open("leaving.db") as memory:
        acme, other = memory.switch("acme"), memory.switch("other")
        await other.remember("I live in Rome.", speaker="Bob")
        await acme.remember(umi.Message("I live in Berlin.", speaker="Alice", session="monday", id="ticket-1"))
        await acme.remember(umi.Message("Order 7731 is late.", speaker="Alice", session="tuesday", id="ticket-2"))
        print("sessions:", [one.name for one in (await acme.sessions()).items])

        receipt = await acme.erase(session="monday")
        print("messages of the session deleted:", len(receipt.deleted))
        print("known by its own id:", await acme.get("ticket-1"))

        print("would go:", (await acme.preview_namespace_erasure()).counts["episodes"])
        receipt = await acme.erase_namespace()
        check = await acme.verify_erasure(receipt)
        print("nothing left in the file:", check.ok)
        print("runs of words looked for, and not found:", check.searched["runs"], check.absent["runs"])
        print("namespaces:", [info.name for info in await memory.namespaces()])
        print("a name that nobody knows:", (await other.erase("Bbo")).known)


asyncio.run(main())
