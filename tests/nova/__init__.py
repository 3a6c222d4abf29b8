"""Nova as the judge: its own functional tests, on trees that this program has reshaped.

The requests that this program predicts for servers are compared with those of Nova's code.

Run by ``tox -e nova`` in an environment of its own, which has Nova and its tests; this program runs
as a process from another environment, named by ``PLACEMENT_PROGRAM``.
"""
