"""What a plan is: operations, state changes, and the invariants that every plan keeps."""
