"""Plans to empty hosts: the new host of each server and the order, or the proof that there is none.

A host is named by the UUID of the root of its tree. ``emptied`` are the hosts that are to be
emptied, and ``effort`` is how long to search, in seconds.
"""
