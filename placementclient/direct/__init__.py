"""A keystoneauth plugin, ``placement_direct``: the real Placement service inside this process.

A keystoneauth session whose plugin is a `Direct` reaches the service's WSGI application through a
transport adapter instead of a socket; the application works straight on its database.

The server keeps its state in its modules: the transaction manager that decorates its functions,
the policy enforcer, the flags that say that traits and classes are in step. Hence it serves one
database in each process. So a `Direct` loads the server's modules once more for itself, where no
``import`` finds them. All that state then is the instance's own: the public ``loadapp()`` runs as
it is, any number of databases live side by side, and a program that uses ``placement`` itself is
left alone. To route each request to its database within one set of modules would mean to patch
the manager and the enforcer that such a program shares, and to imitate parts of the server.
"""

from placementclient.direct.plugin import Direct, DirectLoader

__all__ = ['Direct', 'DirectLoader']
