"""Commands for a reshape, from the assignments to the rollback."""
