"""Records of Nova and other services, and the requests of Nova's scheduler."""
