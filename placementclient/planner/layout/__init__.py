"""The target state and the assignment problem, from a snapshot and a specification."""
