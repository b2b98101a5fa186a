"""What the server and the adapters share to offer the interfaces of other memories.

messages   walk through messages, find what was read in one, and let a new one replace an old one
spaces     the namespaces of one open memory
mem0       mem0's API
"""
