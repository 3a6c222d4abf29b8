"""From a snapshot and a specification to the state that is to be, and the assignment problem."""
