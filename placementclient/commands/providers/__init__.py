"""Commands about providers, and their inventories, traits and aggregates."""
