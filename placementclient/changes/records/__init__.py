"""The file format of changes, plans and journals. Pure."""
