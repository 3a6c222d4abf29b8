"""Commands for provider trees."""
