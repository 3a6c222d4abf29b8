"""The base classes of commands, common options, selectors, progress."""
