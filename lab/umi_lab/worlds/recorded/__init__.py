"""Recorded answers: what every call of chosen runs gave, kept as checksums, so that no change of an answer goes unseen.

An oracle knows what an answer must be; a record knows only what it was. It says nothing of right and wrong, but it reaches what no oracle
computes: how sure a reading is, the words of an error, the order of hits in ordinary talk.
"""
