"""What a snapshot tells: room, faults, differences. Nothing here does I/O."""
