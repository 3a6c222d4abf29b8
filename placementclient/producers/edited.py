# SPDX-License-Identifier: Apache-2.0
"""Edits of the inventories, traits or aggregates of providers."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from placementclient.basis import errors
from placementclient.basis.wording import join_names, suggest_similar
from placementclient.model.inventories import BOUNDS, FIELDS, UNLIMITED, Inventories, Inventory
from placementclient.model.snapshots import ProviderState

#: An allocation ratio above it is likelier an amount or a slip than meant.
_HIGHEST_USUAL_RATIO = 1000


def describe_wrong_fields(
    requested: Mapping[str, Mapping[str, int | float]], amend: bool
) -> Iterator[str]:
    """Yield a sentence on each value that the service does not take, and each missing total.

    :param requested: the fields to set, by class
    :param amend: a missing total is no fault: it stays as it is
    """
    for name, fields in requested.items():
        for key, value in fields.items():
            least, most = BOUNDS[key]
            if not least <= value <= most:
                yield f'{name}:{key}={value} is not between {least} and {most}'
        if not amend and 'total' not in fields:
            yield (
                f'{name} needs a total: {name}:total=AMOUNT, or --amend to keep the one that '
                'each resource provider has'
            )


def describe_high_ratios(requested: Mapping[str, Mapping[str, int | float]]) -> Iterator[str]:
    """Yield a warning of each allocation ratio that is so high that it is hardly meant.

    :param requested: the fields to set, by class
    """
    for name, fields in requested.items():
        if (ratio := fields.get('allocation_ratio', 1.0)) > _HIGHEST_USUAL_RATIO:
            yield f'{name}:allocation_ratio={ratio:g} is above {_HIGHEST_USUAL_RATIO}'


def describe_effects(
    before: Inventories,
    after: Inventories,
    requested: Mapping[str, Mapping[str, int | float]],
    used: Mapping[str, int],
) -> Iterator[str]:
    """Yield a sentence on each effect on a provider's inventories that was hardly meant.

    :param requested: the fields that are set, by class
    :param used: the used amounts by class
    """
    for name in [name for name in requested if name in before and name in after]:
        was, now = before[name].as_fields(), after[name].as_fields()
        rest = [field for field in FIELDS if field not in requested[name]]
        if reset := [f'{key} {was[key]} → {now[key]}' for key in rest if was[key] != now[key]]:
            yield f'{name}: {", ".join(reset)}: fields that are not given get their defaults'
        is_resized = was['total'] != now['total']
        is_limit_of_all = was['total'] <= was['max_unit'] == now['max_unit'] < UNLIMITED
        if 'max_unit' in rest and is_resized and is_limit_of_all:
            yield (
                f'{name}: max_unit stays {now["max_unit"]} with the total of {now["total"]}; '
                f'to change it too, add --resource {name}:max_unit={now["total"]}'
            )
        room = after[name].capacity
        if room < used.get(name, 0) and room < before[name].capacity:
            yield (
                f'{used[name]} {name} is in use, above the capacity of {room}: Placement grants '
                'nothing more there until enough is freed'
            )


@dataclass(frozen=True)
class InventoryEdit:
    """Sets inventories of each selected provider.

    :param requested: by class, the fields to set; other fields get the service's default
    :param amend: keep all fields and classes that are not requested, and pass over a provider that
        lacks a class without a requested total
    :param replaces: delete the classes that are not requested
    :raises errors.BadArgument: if no provider can have the values
    """

    requested: Mapping[str, Mapping[str, int | float]]
    amend: bool = False
    replaces: bool = False
    #: The field of a provider's state that it changes.
    facet = 'inventories'

    def __post_init__(self) -> None:
        for fault in describe_wrong_fields(self.requested, self.amend):
            raise errors.BadArgument(fault)

    def edit_state(self, state: ProviderState) -> ProviderState:
        """Return a provider as the edit leaves it.

        :raises errors.BadArgument: if it cannot have the values
        """
        present = state.inventories
        desired = dict(present) if self.amend else {}
        for name, fields in self.requested.items():
            was = present.get(name) if self.amend else None
            if was is not None or 'total' in fields:
                desired[name] = (was or Inventory(0)).with_fields(fields)
        if desired != present:
            for name, inventory in desired.items():
                if inventory.reserved > inventory.total:
                    raise errors.BadArgument(
                        f'{name}: reserved {inventory.reserved} is above the total of '
                        f'{inventory.total}'
                    )
        return replace(state, inventories=desired)

    def check_providers(self, states: Collection[ProviderState]) -> None:
        """Check that the edit suits the selected providers.

        :raises errors.BadArgument: if a class without a total is on none of them
        :raises errors.UsageError: if classes would be deleted that the operator did not name
        """
        classes = {name for state in states for name in state.inventories}
        for name, fields in self.requested.items():
            if name not in classes and 'total' not in fields:
                raise errors.BadArgument(
                    f'No resource provider that is selected has inventory of {name}'
                    f'{suggest_similar(name, classes)}'
                )
        dropped = set() if self.amend else classes.difference(self.requested)
        if dropped and not self.replaces:
            raise errors.UsageError(
                f'{", ".join(sorted(dropped))} would be dropped: --replace does it, --amend keeps '
                'what is not given'
            )

    def list_remarks(self, states: Collection[ProviderState]) -> Iterator[str]:
        """Yield sentences on ratios that look wrong, and on providers that are passed over."""
        yield from describe_high_ratios(self.requested)
        for name, fields in self.requested.items():
            lacking = [state.name for state in states if name not in state.inventories]
            if lacking and self.amend and 'total' not in fields:
                yield f'Skipped, without {name}: {join_names(lacking, 3, "others")}'


@dataclass(frozen=True)
class FacetEdit:
    """Adds and removes traits or aggregates.

    :param facet: ``traits`` or ``aggregates``
    """

    facet: str
    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()

    def edit_state(self, state: ProviderState) -> ProviderState:
        """Return a provider as the edit leaves it."""
        desired = (self._get_traits_or_aggregates(state) - self.removed) | self.added
        return replace(state, **{self.facet: desired})

    def check_providers(self, states: Collection[ProviderState]) -> None:
        """Do nothing: names can be added to and removed from all providers."""

    def list_remarks(self, states: Collection[ProviderState]) -> Iterator[str]:
        """Yield a sentence on each name to remove that no provider has."""
        present = {name for state in states for name in self._get_traits_or_aggregates(state)}
        verb = {'traits': 'has the trait', 'aggregates': 'is in the aggregate'}[self.facet]
        for name in sorted(self.removed - present):
            sentence = f'No resource provider that is selected {verb} {name}'
            yield f'{sentence}{suggest_similar(name, present)}'

    def _get_traits_or_aggregates(self, state: ProviderState) -> frozenset[str]:
        names: frozenset[str] = getattr(state, self.facet)
        return names


Edit = InventoryEdit | FacetEdit
