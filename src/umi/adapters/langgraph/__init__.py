"""A LangGraph store on Umi, for graphs and for what takes `store=`, such as langmem; and tools that remember and recall.

    store = UmiStore(memory)
    graph = builder.compile(store=store)

An item is a message in a namespace of Umi that is named after the item's. Putting a key again is an update: the older version is
superseded and stays in the history; `delete` forgets all versions. A search with a query is a recall: the items that answer
and hold come first, and what another item has replaced is left out.
"""

from umi.adapters.langgraph.store import UmiStore
from umi.adapters.langgraph.tools import make_tools

__all__ = ["UmiStore", "make_tools"]
