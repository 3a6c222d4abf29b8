"""A plan carried out: applied, verified, taken back, on the live service or in a rehearsal."""
