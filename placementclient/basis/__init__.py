"""Errors, words and text that every part uses. Pure."""
