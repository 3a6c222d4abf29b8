"""Model and plan into rows, text and pictures. Nothing here does I/O."""
