# SPDX-License-Identifier: Apache-2.0
"""The result of a drain: the new host of every server, or the proof that some have none."""

import enum
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.moves import PACE, Ledger, Pace, ServerMove, schedule_waves
from placementclient.insight.drain.packing import Packing
from placementclient.insight.drain.problem import build_problem, group_by_kind
from placementclient.insight.drain.proof import EFFORT, pack_servers
from placementclient.model.findings import Finding


class DrainVerdict(enum.StrEnum):
    """The answer of a drain, or of a search for room; the gravest one first."""

    #: Proved: the amounts alone do not fit.
    NO = 'no'
    #: Neither a plan nor a proof was found in time.
    UNDETERMINED = 'undetermined'
    #: The answer depends on unknown requests of some servers.
    DEPENDS = 'depends'
    YES = 'yes'


@dataclass(frozen=True, slots=True)
class DrainDecision:
    """The result of a drain.

    :param moves: of all servers, in the order of their waves; none unless all have a place
    :param strict: the places of the servers if each asks for all that its old host has
    :param lax: the places if each asks for amounts alone; ``None`` if that makes no difference
    """

    verdict: DrainVerdict
    moves: Sequence[ServerMove]
    strict: Packing
    lax: Packing | None
    unsettled: Sequence[Finding]

    @property
    def bounds(self) -> tuple[int, int]:
        """A lower and an upper bound for the number of servers that can move."""
        return self.strict.placed_count, (self.lax or self.strict).bound


def decide_drain(
    cloud: DrainCloud,
    emptied: Collection[str],
    pace: Pace = PACE,
    effort: float = EFFORT,
    *,
    is_certain: bool = False,
) -> DrainDecision:
    """Decide whether hosts can be emptied, and where their servers go.

    :param is_certain: whether the servers ask for no less than the strict requests
    :param emptied: the UUIDs of the hosts
    :param pace: how many servers move at the same time
    :param effort: how long to search for what the packing by best fit does not find, in seconds
    :raises errors.PlacementError: if OR-tools is needed and not installed
    """
    servers, offloaded, unsettled = cloud.find_occupants(emptied)
    kinds = group_by_kind(servers, cloud.find_kind_by_strict_request)
    strict = pack_servers(build_problem(cloud, kinds, emptied), effort)
    if strict.is_complete:
        moves = schedule_waves([*offloaded, *strict.list_moves()], Ledger(cloud.snapshot), pace)
        verdict = DrainVerdict.UNDETERMINED if moves is None else DrainVerdict.YES
        if moves is not None and unsettled:
            verdict = DrainVerdict.DEPENDS
        return DrainDecision(verdict, moves or (), strict, None, unsettled)
    lax: Packing | None = None
    if (
        not is_certain
        and (least := group_by_kind(servers, cloud.find_kind_by_lax_request)) != kinds
    ):
        lax = pack_servers(build_problem(cloud, least, emptied), effort)
    return DrainDecision(
        _judge_incomplete_packing(strict, lax or strict), (), strict, lax, unsettled
    )


def _judge_incomplete_packing(strict: Packing, lax: Packing) -> DrainVerdict:
    """Return the verdict if strict requests leave a server without a place.

    It is ``NO`` if lax requests provably leave one too, and ``DEPENDS`` if they leave none.
    """
    if lax.bound < lax.server_count:
        return DrainVerdict.NO
    if lax is not strict and strict.bound < strict.server_count and lax.is_complete:
        return DrainVerdict.DEPENDS
    return DrainVerdict.UNDETERMINED
