"""How both programs find the commands and load them only when they run."""
