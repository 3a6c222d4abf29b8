"""The public Python API: one function for each endpoint, JSON on one side, the model on the other.

Every function takes a :class:`placementclient.http.Client` first and providers by UUID;
:func:`placementclient.api.resource_provider.find` turns a name into one. What they raise is in
:mod:`placementclient.errors`. The microversion from which an endpoint exists is in its row of
:mod:`placementclient.endpoints`.
"""
