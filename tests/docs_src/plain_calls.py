import umi.blocking

with umi.blocking.Memory.open("plain.db") as memory:
    memory.remember("I moved to Lisbon.", speaker="Alice")
    print(memory.recall("Where does Alice live?").hits[0].content)
