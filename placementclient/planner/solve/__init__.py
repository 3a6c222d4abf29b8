"""The assignment problem as numbers, and its solvers: heuristics, CP-SAT."""
