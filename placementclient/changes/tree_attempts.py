# SPDX-License-Identifier: Apache-2.0
"""The attempts to carry a change: what one has sent, and the errors after which it is repeated."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from placementclient.api import resource_provider
from placementclient.basis.errors import Differs
from placementclient.changes import operations as ops
from placementclient.changes.obstacles import LeftAlone
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.model.plans import Change
from placementclient.model.snapshots import Snapshot
from placementclient.reading.capture import UnstableRead


class TreeAttempt(NamedTuple):
    """The operations of a change that were applied in one attempt.

    :param live: the state that they were decided on
    :param lost: the operation that may be applied, as its answer is lost
    """

    change: Change
    live: Snapshot
    operations: Sequence[ops.Operation]
    lost: Sequence[ops.Operation]


class PlannedAgain(LeftAlone):
    """A tree had changed and was planned again: another attempt applies the new plan."""


class VerificationFailed(Differs):
    """The state of the service is not the one that it has just accepted."""


#: Refusals that come from other writers, however often; any other refusal does so once.
PASSING = (errors.ConcurrentUpdate, errors.InventoryInUse)
#: Refusals of the service, or of a tree that changes each time that it is read.
REFUSALS = (errors.Conflict, errors.BadRequest, errors.NotFound, UnstableRead)
#: The errors after which a tree is read again: the service shows what is done.
RETRIED = (*REFUSALS, PlannedAgain, errors.NoAnswer)


def refuse_names_in_other_trees(
    client: Client, live: Snapshot, operations: Iterable[ops.Operation]
) -> None:
    """Refuse to create a provider with the name of one outside the trees of a state.

    :raises LeftAlone: names the other provider and its tree
    """
    roots = {state.provider.root_uuid for state in live.providers.values()}
    created = (operation for operation in operations if isinstance(operation, ops.CreateProvider))
    for operation in created:
        for provider in resource_provider.list(client, name=operation.name):
            if provider.root_uuid not in roots:
                raise LeftAlone(
                    f'{operation.name} exists elsewhere: {provider.uuid}, '
                    f'in the tree of {provider.root_uuid}'
                )
