"""Assignments and additions from facts of hosts and of Nova's database."""
