"""mem0's API on Umi's messages. Facts about it are those of mem0ai 2.2.1.

owners       whose memories a call is about: user, agent, app or run, and the namespace of each
filters      mem0's filters: AND, OR, NOT and operators over fields of a memory
records      a memory as mem0 shows it, and what calls say
access       what the caller may do
memories     add, search, list, get, update, delete and history on Umi's messages
"""
