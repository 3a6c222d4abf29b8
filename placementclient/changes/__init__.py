"""The core of everything that writes: operations, and the code that applies them."""
