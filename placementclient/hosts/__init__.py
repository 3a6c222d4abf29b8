"""Facts of hosts and of Nova's database, turned into assignments and additions."""
