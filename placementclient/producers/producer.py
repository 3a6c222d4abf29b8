# SPDX-License-Identifier: Apache-2.0
"""The interface of everything that decides on changes."""

from abc import ABC, abstractmethod

from placementclient.changes.plan import make_plan
from placementclient.client.http import Client
from placementclient.model.findings import Finding
from placementclient.model.plans import Change, Plan
from placementclient.model.snapshots import Snapshot


class Producer(ABC):
    """Reads a part of the cloud, and plans its changes.

    :ivar notes: the objects that stay as they are, of the kind ``not known``, ``left alone``, …;
        errors where something is left to do; complete after the last write
    """

    #: The command that the changes are made by, without the program.
    command: str
    #: Whether it may leave objects as they are.
    has_notes = False

    def __init__(self, client: Client) -> None:
        self.client = client
        self.notes: list[Finding] = []

    @property
    def is_undone(self) -> bool:
        """Return True if something is left to do, so that the command has not succeeded."""
        return any(note.is_error for note in self.notes)

    @abstractmethod
    def plan(self) -> Plan:
        """Read the cloud, and plan the changes."""

    def check(self, tree: Change) -> Change | None:
        """Return the remaining part of a change; called just before it is written."""
        return tree


class StateProducer(Producer):
    """A producer that returns the desired state; its plan leads there."""

    @abstractmethod
    def read(self) -> Snapshot:
        """Read the providers and consumers that may change, and the input of the decision."""

    @abstractmethod
    def decide(self, live: Snapshot) -> Snapshot:
        """Return a snapshot as it should become."""

    def plan(self) -> Plan:
        live = self.read()
        return make_plan(self.command, live, self.decide(live))
