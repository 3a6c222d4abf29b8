"""Completion in bash, zsh and fish: a script for each, and the values that it asks for."""
