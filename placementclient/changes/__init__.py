"""The core of everything that writes: operations, and the code that carries them out."""
