"""Snapshots as they would be if something were otherwise: the files of ``--assume``. Pure."""
