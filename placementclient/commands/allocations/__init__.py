"""Commands about allocations, candidates and consumers."""
