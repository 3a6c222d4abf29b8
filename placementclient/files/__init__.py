"""Files of several kinds: values to bytes and back, and each fault with its position."""
