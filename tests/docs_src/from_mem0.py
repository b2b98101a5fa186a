from umi.adapters.mem0 import Memory

with Memory() as memory:
    memory.add([{"role": "user", "content": "I live in Berlin."}], user_id="ada")
    changed = memory.add([{"role": "user", "content": "I moved to Rome."}], user_id="ada")
    print("why:", changed["changes"][0]["reason"])
    found = memory.search("Where does ada live?", filters={"user_id": "ada"})
    for one in found["results"]:
        print(one["memory"], one["state"])
