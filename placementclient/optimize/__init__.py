"""Solvers that know nothing of Placement: maximum flow, and OR-tools' CP-SAT."""
