"""The changes of each command: from a snapshot to the desired snapshot."""
