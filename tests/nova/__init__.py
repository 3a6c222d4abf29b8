"""Nova as the judge: its own functional tests, on trees that this program has reshaped.

Run by ``tox -e nova`` in an environment of its own, which has Nova and its tests; this program runs
as a process from another environment, named by ``PLACEMENT_PROGRAM``.
"""
