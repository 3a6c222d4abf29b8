"""General solvers: maximum flow, and CP-SAT of OR-tools."""
