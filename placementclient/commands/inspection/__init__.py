"""Commands that answer a question about the whole cloud."""
