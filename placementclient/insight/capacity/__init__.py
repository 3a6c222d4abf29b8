"""Capacity, usage, and the number of servers of a shape that still fit."""
