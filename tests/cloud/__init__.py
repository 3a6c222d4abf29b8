"""A real control plane on this machine, and the tests that run against it.

``python -m tests.cloud run`` installs what is missing, starts Keystone, Placement, Nova, Glance, a
small Neutron, MariaDB and RabbitMQ on the loopback, runs the tests and stops everything.
"""
