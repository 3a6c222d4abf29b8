"""Empty hosts: where their servers can go, in which order, or the proof that they cannot."""
