"""Empty hosts: where their servers can go, in which order, or the proof that they cannot.

A host is named by the UUID of the root of its tree. ``emptied`` are the hosts that are to be
emptied, and ``effort`` is how long to search, in seconds.
"""
