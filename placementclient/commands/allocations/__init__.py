"""Commands for allocations, candidates and consumers."""
