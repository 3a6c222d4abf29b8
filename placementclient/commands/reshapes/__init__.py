"""Commands about a reshape, from the assignments to the rollback."""
