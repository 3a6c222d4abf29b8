"""Random clouds of which the truth is known, and commands that may free nothing that is needed."""
