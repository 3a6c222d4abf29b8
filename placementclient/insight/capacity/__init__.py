"""How much there is, how much is used, and how many servers of a shape still fit."""
