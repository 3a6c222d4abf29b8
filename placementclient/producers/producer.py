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

    :ivar notes: the objects that do not change, with the reason; errors among them are left to the
        operator; complete after the last write
    """

    #: The command that the changes are made by, without the program.
    command: str
    #: Whether it may leave objects as they are.
    has_notes = False

    def __init__(self, client: Client) -> None:
        self.client = client
        self.notes: list[Finding] = []

    @property
    def has_errors(self) -> bool:
        """Return whether a note is an error: then the command has not succeeded."""
        return any(note.is_error for note in self.notes)

    @abstractmethod
    def plan(self) -> Plan:
        """Read the cloud, and return the plan of its changes."""

    def select_writable(self, change: Change) -> Change | None:
        """Return the part of a change that may still be written; ``None``: nothing of it.

        It is called just before the write.
        """
        return change


class StateProducer(Producer):
    """A producer that plans the changes from the live state to a desired one."""

    @abstractmethod
    def read_live_state(self) -> Snapshot:
        """Read the providers and consumers that may change, and all that decides on the changes."""

    @abstractmethod
    def make_desired_state(self, live: Snapshot) -> Snapshot:
        """Return the snapshot as the changes leave it."""

    def plan(self) -> Plan:
        """Read the live state, and return the plan of the changes to the desired one."""
        live = self.read_live_state()
        return make_plan(self.command, live, self.make_desired_state(live))
