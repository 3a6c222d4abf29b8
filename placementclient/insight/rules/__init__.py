"""Rules about the state of a cloud, and who breaks them. Pure."""
