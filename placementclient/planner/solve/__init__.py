"""The assignment problem as numbers, and its solvers: heuristics, maximum flow, CP-SAT."""
