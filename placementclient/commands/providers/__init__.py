"""Commands for providers, and their inventories, traits and aggregates."""
