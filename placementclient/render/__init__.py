"""Model and plans as rows, text, pictures and pages. Pure: no I/O."""
