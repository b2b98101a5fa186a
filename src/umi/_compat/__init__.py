"""What the server and the adapters share to offer the interfaces of other memories.

messages   walk through messages, find what was read in one, and let a new one replace an old one
spaces     the namespaces of one open memory
graph      a graph of entities, observations and relations as messages
loop       an event loop in a thread
mem0       mem0's API
"""
