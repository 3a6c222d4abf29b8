"""The parts that commands are made of: base classes, options, selectors, progress."""
