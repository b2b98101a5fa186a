"""The REST API of mem0, for programs that use mem0's own client: `umi serve --mem0`. Facts about it are those of mem0ai 2.2.1.

bodies       the bodies of requests, each as a call of `umi._compat.mem0`, which does the work
answering    what the routes share: the caller's memories, ids in the query, answers
platform     the paths of mem0's hosted platform, which `mem0.MemoryClient` calls
selfhosted   the paths of mem0's own server
app          both together, with errors as that client reads them
"""
