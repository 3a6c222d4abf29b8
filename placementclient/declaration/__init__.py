"""Provider trees as operators declare them, and what has to change so that they are so. Pure."""
