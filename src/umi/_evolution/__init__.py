"""Evolution: how a new statement relates to older ones, the relations that record it, and the states that follow."""
