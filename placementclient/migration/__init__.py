"""Capture, files, execution, verification: the only code that makes sequences of requests."""
