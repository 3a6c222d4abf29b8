"""All orders of events: each writing command, and one act of another before any of its requests.

``python -m tests.interleavings`` runs the real commands on the real service, with a tree of three
providers and two consumers. Before each request another client may act, and the command goes on, is
killed, or loses the answer. Each run is a trace, which ``--trace`` runs again.
"""
