"""Plans: operations, state changes, and the invariants that every plan keeps."""
