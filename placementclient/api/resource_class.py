# SPDX-License-Identifier: Apache-2.0
"""Resource classes: ``/resource_classes`` and ``/resource_classes/{name}``, from 1.2."""

import builtins

import msgspec

from placementclient.client import endpoints
from placementclient.client.http import Client
from placementclient.model.freshness import Read


class _ClassRecord(msgspec.Struct):
    name: str


class _ClassesAnswer(msgspec.Struct):
    resource_classes: builtins.list[_ClassRecord]


def list(client: Client) -> builtins.list[str]:
    """Return the names of all classes, standard and custom."""
    body: _ClassesAnswer = client.send(endpoints.LIST_CLASSES, answer=_ClassesAnswer).body
    return [record.name for record in body.resource_classes]


def create(client: Client, name: str) -> None:
    """Create a custom class.

    :raises errors.Conflict: if it exists
    """
    client.send(endpoints.CREATE_CLASS, body={'name': name})


def show(client: Client, name: str) -> Read[str]:
    """Return the name of a class that exists.

    :raises errors.NotFound: if it does not exist
    """
    answer = client.send(endpoints.SHOW_CLASS, resource_class=name, answer=_ClassRecord)
    return Read(answer.body.name, last_modified=answer.last_modified)


def ensure(client: Client, name: str) -> None:
    """Create a custom class unless it exists; from 1.7."""
    client.send(endpoints.SET_CLASS, resource_class=name)


def rename(client: Client, name: str, new_name: str) -> None:
    """Rename a custom class; only from 1.2 to 1.6."""
    body = {'name': new_name}
    client.send(endpoints.SET_CLASS, resource_class=name, answer=_ClassRecord, body=body)


def delete(client: Client, name: str) -> None:
    """Delete a custom class, unless a provider has inventory of it (:class:`errors.Conflict`)."""
    client.send(endpoints.DELETE_CLASS, resource_class=name)
