"""Two agents as guides to mem0 build them, written anew for a scripted model: a companion that talks, and a support desk with tools.

Each begins with mem0's import, which the test swaps, and leaves its answers in `answers`.
"""

COMPANION = '''
from mem0 import Memory

memory = Memory()


def answer(messages):
    """A scripted model: it repeats the first thing that it was told it knows."""
    known = messages[0]["content"].partition("Memories:\\n")[2].splitlines()
    return f"I remember: {known[0]}" if known else "Tell me more."


def chat_with_memories(message, user_id="default_user"):
    relevant = memory.search(query=message, filters={"user_id": user_id}, top_k=3)
    memories = "\\n".join(f"- {entry['memory']}" for entry in relevant["results"])
    messages = [
        {"role": "system", "content": f"Answer with what you know of the user.\\nMemories:\\n{memories}"},
        {"role": "user", "content": message},
    ]
    response = answer(messages)
    messages.append({"role": "assistant", "content": response})
    memory.add(messages, user_id=user_id)
    return response


answers = [
    chat_with_memories("I work at Acme.", "mia"),
    chat_with_memories("I left Acme and joined Bolt.", "mia"),
    chat_with_memories("Where does mia work?", "mia"),
    chat_with_memories("Where does mia work?", "noa"),
]
'''

SUPPORT = '''
import json

from mem0 import MemoryClient

client = MemoryClient(api_key="m0-any")
TOOLS = {
    "save_memory": lambda text, customer: client.add(
        [{"role": "user", "content": text}], user_id=customer, agent_id="support", metadata={"category": "ticket"}
    ),
    "search_memory": lambda query, customer: client.search(
        query, filters={"AND": [{"user_id": customer}, {"metadata": {"category": "ticket"}}]}, top_k=3
    ),
}


def model(messages):
    """A scripted model that calls a tool first, and then answers with what the tool said."""
    said = messages[-1]
    if said["role"] == "tool":
        found = json.loads(said["content"]).get("results", [])
        return {"content": found[0]["memory"] if found and "score" in found[0] else "Saved."}
    if said["content"].endswith("?"):
        return {"tool": "search_memory", "arguments": {"query": said["content"]}}
    return {"tool": "save_memory", "arguments": {"text": said["content"]}}


def handle(customer, text):
    messages = [{"role": "user", "content": text}]
    step = model(messages)
    while "tool" in step:
        result = TOOLS[step["tool"]](customer=customer, **step["arguments"])
        messages.append({"role": "tool", "content": json.dumps(result)})
        step = model(messages)
    return step["content"]


answers = [
    handle("c1", "My router is a Vega 2."),
    handle("c1", "I replaced the router: it is a Vega 5 now."),
    handle("c1", "Which router does c1 have?"),
]
client.delete_all(user_id="c1")
answers.append(handle("c1", "Which router does c1 have?"))
'''
