"""A simulated cloud: one process, virtual time, the real Placement, and faults at every request.

``python -m tests.simulation SEED`` plays one seed, ``--count N`` the seeds that follow too. The
same seed is always the same history, so a failure is repeated by its number.
"""
