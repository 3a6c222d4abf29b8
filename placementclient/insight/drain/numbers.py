# SPDX-License-Identifier: Apache-2.0
"""The numbers of kinds, hosts and shapes: indexes into the lists of a problem."""

from typing import NamedTuple, NewType

#: The index of a request in ``PackingProblem.requests``: of the servers with equal requests.
KindNumber = NewType('KindNumber', int)
#: The index of a host in ``PackingProblem.hosts``.
HostNumber = NewType('HostNumber', int)
#: The index of a shape in ``PackingProblem.shapes``: the providers without their free amounts.
ShapeNumber = NewType('ShapeNumber', int)


class Piece(NamedTuple):
    """A kind of servers that is served in one way.

    :param option: the number of the way, among those on the hosts of a group
    """

    kind: KindNumber
    option: int


class HostPiece(NamedTuple):
    """A host, and a kind of servers that is served in one way there."""

    host: HostNumber
    piece: Piece


class RoomIndex(NamedTuple):
    """A host, and the index of one free amount in its room."""

    host: HostNumber
    at: int
