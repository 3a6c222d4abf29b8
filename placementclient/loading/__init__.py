"""Discovery of the commands by both programs; each is loaded only when it runs."""
