"""Specifications and plans of a reshape as files have them. Pure."""
