# SPDX-License-Identifier: Apache-2.0
"""Assignments: the known providers of consumers, as rows of a file."""

from dataclasses import dataclass

from placementclient.basis import errors
from placementclient.basis.strict_json import Integer

COLUMNS = ('consumer_uuid', 'resource_class', 'amount', 'to_provider', 'evidence')
#: The column for targets that get a class under several names.
TO_CLASS = 'to_resource_class'
#: The evidence of a row without a provider: nothing says where the consumer is.
UNEXPLAINED = 'unexplained'


@dataclass(frozen=True, slots=True)
class AssignmentRow:
    """One assignment: an amount of a consumer, and its provider, by name or UUID.

    :param resource_class: its name on the source
    :param amount: ``None``: all of it
    :param to_provider: empty in a row with the evidence :data:`UNEXPLAINED`
    :param line: in the file ``path``, from 1
    :param to_resource_class: the name of the class on the target; ``None``: there is only one
    """

    consumer_uuid: str
    resource_class: str
    amount: Integer | None
    to_provider: str
    evidence: str | None = None
    path: str = ''
    line: Integer | None = None
    to_resource_class: str | None = None

    @property
    def is_unexplained(self) -> bool:
        """True until the operator writes a provider into the row."""
        return not self.to_provider

    def make_error(self, reason: str) -> errors.BadFile:
        """Return the error about this row, with its line in the file."""
        return errors.BadFile(self.path, reason, self.line)
