"""Trees that share a target are decided together: what one takes there, another cannot have.

Each tree is carried out by itself, one after the other, and a target may grow with every one of
them. So what the first trees put there has to fit into what it has by then, what more of them put
there into what it has later: one bin for each of these moments, as far as it can matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from placementclient.model.snapshots import ProviderState
from placementclient.planner.assign import assignment_of, prepared
from placementclient.planner.infeasibility import Refused, SharedShortage, Undetermined
from placementclient.planner.solve.problem import Bin, Demand, Item
from placementclient.planner.solve.search import Impossible, search
from placementclient.planner.spec.values import Spec
from placementclient.planner.target.assignment import Assignment, AssignmentProblem
from placementclient.planner.target.builder import build_target_state
from placementclient.planner.target.known import KnownAssignments
from placementclient.planner.target.overlay import SnapshotOverlay
from placementclient.planner.target.target_state import TargetState, Where

#: More demands of all items together are not put into one problem.
MAX_DEMANDS = 1_000_000


def shared_by(target_state: TargetState) -> frozenset[str]:
    """The targets of a tree that belong to other trees, by UUID."""
    return frozenset(
        flow.target
        for flow in target_state.flows
        if target_state.providers[flow.target].root_provider_uuid != target_state.root.uuid
    )


def groups(shared: Mapping[str, frozenset[str]]) -> Iterator[list[str]]:
    """The trees that share targets with each other, directly or by others.

    :param shared: of each root, by UUID, the targets of other trees
    """
    group_of: dict[str, list[str]] = {}
    for root, targets in shared.items():
        joined = list({id(group_of[t]): group_of[t] for t in targets if t in group_of}.values())
        members = [member for group in joined for member in group] + [root]
        for member in members:
            group_of |= dict.fromkeys(shared[member], members)
    order = {root: number for number, root in enumerate(shared)}
    seen: set[str] = set()
    for root, targets in shared.items():
        if root not in seen:
            members = sorted(group_of[min(targets)], key=order.__getitem__)
            seen.update(members)
            yield members


@dataclass(slots=True)
class _Part:
    """One tree's own problem."""

    target_state: TargetState
    problem: AssignmentProblem
    items: list[Item]


def decide_together(
    overlay: SnapshotOverlay,
    spec: Spec,
    known: KnownAssignments,
    roots: Sequence[ProviderState],
    timeout: float,
) -> list[Assignment]:
    """Find a place for all that the consumers of some trees hold on their sources.

    :param roots: the roots of the trees, in the order in which they are carried out
    :param timeout: how long to search, in the solver's deterministic unit (about a second)
    :return: of each tree
    :raises Refused: in the name of the last tree, if there is no such assignment, or none is found
    """
    parts = list(_parts(overlay.fork(), spec, known, roots))
    joint = _Joint(parts)
    name = roots[-1].name
    if joint.is_beyond:
        raise Refused([Undetermined(name, timeout)])
    found = search(joint.bins, joint.items, timeout)
    if isinstance(found, Impossible):
        shared = sorted(
            part.target_state.providers[uuid].name
            for part in parts[-1:]
            for uuid in shared_by(part.target_state)
        )
        raise Refused([SharedShortage(name, tuple(shared), len(roots) - 1)])
    if not isinstance(found, list):
        raise Refused([Undetermined(name, timeout)])
    assignments = []
    for part in parts:
        own, found = found[: len(part.items)], found[len(part.items) :]
        assignments.append(assignment_of(part.target_state, part.problem.consumer_items, own))
    return assignments


def _parts(
    overlay: SnapshotOverlay,
    spec: Spec,
    known: KnownAssignments,
    roots: Sequence[ProviderState],
) -> Iterator[_Part]:
    for root in roots:
        target_state = build_target_state(overlay, spec, root)
        rows = known.match(overlay, target_state)
        problem, items = prepared(overlay, target_state, spec, rows)
        for places in target_state.places.values():
            for place in places:
                problem.number(place.where)
        yield _Part(target_state, problem, items)
        overlay.expect(target_state)


class _Joint:
    """The problems of several trees as one.

    :ivar is_beyond: whether they cannot be stated as one, or only as one that is too large
    """

    def __init__(self, parts: Sequence[_Part]) -> None:
        self.bins: list[Bin] = []
        self.items: list[Item] = []
        moments = self._moments(parts)
        consumers = [{item.consumer.uuid for item in part.problem.consumer_items} for part in parts]
        # Whose items are in several trees would have to be judged at each of these moments.
        self.is_beyond = len(set[str]().union(*consumers)) < sum(map(len, consumers))
        owners = 0
        demands = 0
        for index, part in enumerate(parts):
            numbers = [
                [number for moment, number in moments[where] if moment >= index]
                if where in moments
                else [self._add(bin_)]
                for where, bin_ in zip(part.problem.wheres, part.problem.bins, strict=True)
            ]
            for item in part.items:
                renumbered = self._renumbered(item, numbers, owners)
                demands += sum(map(len, renumbered.options))
                self.items.append(renumbered)
                if demands > MAX_DEMANDS or self.is_beyond:
                    self.is_beyond = True
                    return
            owners += len(part.items)

    def _moments(self, parts: Sequence[_Part]) -> dict[Where, list[tuple[int, int]]]:
        """Of each shared target, the trees after which its room matters, each with its bin."""
        rooms: dict[Where, list[tuple[int, Bin]]] = {}
        for index, part in enumerate(parts):
            shared = shared_by(part.target_state)
            for where, bin_ in zip(part.problem.wheres, part.problem.bins, strict=True):
                if where.provider_uuid in shared:
                    rooms.setdefault(where, []).append((index, bin_))
        moments: dict[Where, list[tuple[int, int]]] = {}
        for where, own in rooms.items():
            least: int | None = None
            for index, bin_ in reversed(own):
                # Where there is no less room than later, what fits later fits then.
                if least is None or bin_.free < least:
                    least = bin_.free
                    moments.setdefault(where, []).insert(0, (index, self._add(bin_)))
        return moments

    def _add(self, bin_: Bin) -> int:
        self.bins.append(bin_)
        return len(self.bins) - 1

    def _renumbered(self, item: Item, numbers: Sequence[Sequence[int]], owners: int) -> Item:
        """An item of one tree, which fills a shared bin from its own moment on."""
        options = []
        for demands in item.options:
            own = [demand._replace(bin=numbers[demand.bin][0]) for demand in demands]
            later = [
                Demand(number, demand.amount, stays=True)  # its units were judged at first
                for demand in demands
                for number in numbers[demand.bin][1:]
            ]
            if later and (item.divisible or item.owner >= 0):
                self.is_beyond = True
            options.append((*own, *later))
        refused = tuple(demand._replace(bin=numbers[demand.bin][0]) for demand in item.refused)
        owner = item.owner + owners if item.owner >= 0 else -1
        return replace(item, options=tuple(options), refused=refused, owner=owner)
