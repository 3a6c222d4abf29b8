"""Completion in bash, zsh and fish: scripts, and the values that they ask for."""
