"""The REST API of mem0, for programs that use mem0's own client: `umi serve --mem0`. Facts about it are those of mem0ai 2.2.1.

owners       whose memories a request is about: user, agent, app or run, and the namespace of each
filters      mem0's filters: AND, OR, NOT and operators over fields of a memory
records      a memory as mem0 shows it, and the bodies of requests
memories     add, search, list, get, update, delete and history on Umi's messages
platform     the paths of mem0's hosted platform, which `mem0.MemoryClient` calls
selfhosted   the paths of mem0's own server
app          both together, with errors as that client reads them
"""
