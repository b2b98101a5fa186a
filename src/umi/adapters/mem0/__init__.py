"""mem0's classes on Umi: change `from mem0 import Memory` to `from umi.adapters.mem0 import Memory`. mem0 need not be installed.

    library   AsyncMemory: the methods and answers of mem0's library
    client    AsyncMemoryClient: those of the client of mem0's platform, on a store of your own instead of its host
    blocking  Memory, MemoryClient: both without `await`
    opening   where memories are kept, and mem0's settings
    calls     arguments as mem0 takes them, answers as mem0 gives them

Arguments, defaults and the keys of answers are those of mem0ai 2.2.1. docs/mem0.md says what differs and what does nothing here.
"""

from umi.adapters.mem0.blocking import Memory, MemoryClient
from umi.adapters.mem0.client import AsyncMemoryClient
from umi.adapters.mem0.library import AsyncMemory

__all__ = ["AsyncMemory", "AsyncMemoryClient", "Memory", "MemoryClient"]
