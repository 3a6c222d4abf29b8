"""The content of files, as bytes and back: typed, and every fault with its place. No I/O."""
