"""Discovery of the commands by the program ``placement``, which loads only the one that runs."""
