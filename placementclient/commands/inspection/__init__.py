"""Commands that inspect the whole cloud."""
