# SPDX-License-Identifier: Apache-2.0
"""A keystoneauth plugin, ``placement_direct``: the real Placement service inside this process.

A keystoneauth session whose plugin is a `Direct` reaches the service's WSGI application through a
transport adapter instead of a socket; the application works straight on its database.

The server keeps its state in its modules: the transaction manager that decorates its functions,
the policy enforcer, the flags that say that traits and classes are in step. Hence it serves one
database in each process: a further `Direct` is refused until the first is closed, and in a program
that runs the server itself.
"""

from placementclient.embedded.plugin import Direct, DirectLoader

__all__ = ['Direct', 'DirectLoader']
