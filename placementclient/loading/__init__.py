"""The list of commands for the program ``placement``, which loads only the one that runs."""
