"""The file format of specifications and plans. Pure."""
