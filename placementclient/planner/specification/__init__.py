"""Reading what operators write: specifications and assignments, with the line of each thing."""
