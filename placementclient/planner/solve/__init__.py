"""The assignment problem in numbers, and its solvers: heuristics, CP-SAT."""
