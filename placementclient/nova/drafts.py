# SPDX-License-Identifier: Apache-2.0
"""A request of Nova under construction, which rules change one after the other. Pure."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import os_resource_classes

from placementclient.model.nova import DISABLED
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.nova import cpus
from placementclient.nova.features import Features
from placementclient.nova.server_parts import Refusal, ServerRequest, Sources
from placementclient.nova.settings import Settings

#: An extra spec that asks Placement for something: its kind, the suffix of its group, the name.
EXTRA_SPEC = re.compile(r'(resources|trait)([a-zA-Z0-9_-]{1,64})?:(.*)')


@dataclass(slots=True)
class OpenGroup:
    """A group of a request for candidates, while its extra specs are added."""

    resources: dict[str, int] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    forbidden: set[str] = field(default_factory=set)

    def add_extra_spec(self, kind: str, name: str, value: str) -> bool:
        """Add an amount or a trait; return False if the scheduler ignores its value or its class.

        :param kind: ``resources`` or ``trait``
        """
        if kind == 'trait':
            traits = {'required': self.required, 'forbidden': self.forbidden}.get(value)
            if traits is not None:
                traits.add(name)
            return traits is not None
        try:
            amount = int(value)
        except ValueError:
            return False
        if amount < 0 or not is_class_name(name):
            return False
        self.resources[name] = amount
        return True

    def make_filter(self) -> Filter:
        """Return the group as a filter, without classes of the amount 0."""
        resources = {name: amount for name, amount in self.resources.items() if amount}
        return Filter(resources, tuple(sorted(self.required)), tuple(sorted(self.forbidden)))


class Draft:
    """A request under construction.

    The rules of :mod:`group_rules` fill the groups, those of :mod:`filter_rules` the conditions.

    :ivar common: the group without a suffix
    :ivar groups: all groups by suffix
    :ivar flavor_group_count: the number of groups with a suffix that the flavor has
    :ivar pci_groups: the suffixes of the groups of PCI aliases
    :ivar unknown: the parts that are left out, each with the source that is missing
    """

    def __init__(self, server: ServerRequest, settings: Settings, sources: Sources) -> None:
        self.server, self.settings, self.sources = server, settings, sources
        self.flavor, self.specs = server.flavor, server.flavor.extra_specs
        self.features = Features(server.flavor, server.image)
        self.cpus = cpus.read_cpus(self.features)
        self.common = OpenGroup()
        self.groups = {'': self.common}
        self.flavor_group_count = 0
        self.pci_groups: list[str] = []
        self.policy: str | None = None
        self.root_required: set[str] = set()
        self.member_of: list[str] = []
        self.forbidden_member_of: list[str] = []
        self.same_subtree: list[tuple[str, ...]] = []
        self.in_tree: str | None = None
        self.limit: int | None = None
        self.unknown = list(server.unknown)

    def note_missing(self, part: str, source: str) -> None:
        """Record that a part of the request is unknown, as a source of facts is missing."""
        self.unknown.append(f'{part} ({source} not given)')

    def add_group(self, suffix: str, group: OpenGroup) -> None:
        """Add a group.

        :raises Refusal: if a group has the suffix already, or the new one is empty
        """
        if suffix in self.groups:
            raise Refusal(f'two groups of the request have the suffix {suffix}')
        if group == OpenGroup():
            raise Refusal(f'the group {suffix} asks for nothing')
        self.groups[suffix] = group

    def find_device_profile(self, name: str) -> Sequence[Mapping[str, str]] | None:
        """Return the groups of a device profile; ``None`` if the profiles are unknown.

        :raises Refusal: if no profile has the name
        """
        if self.sources.profiles is None:
            self.note_missing(f'device profile {name}', 'device profiles')
            return None
        if name not in self.sources.profiles:
            raise Refusal(f'there is no device profile {name}')
        return self.sources.profiles[name]

    def add_device_profile(self, groups: Iterable[Mapping[str, str]], port: str = '') -> None:
        """Add the request groups of a device profile.

        :param port: the ID of the port that asks for it; empty: the flavor does
        """
        for number, specs in enumerate(groups):
            group = OpenGroup()
            for key, value in specs.items():
                if match := EXTRA_SPEC.fullmatch(key):
                    group.add_extra_spec(match[1], match[3], value)
            self.add_group(f'device_profile_{number}{port}', group)

    def make_request(self) -> CandidateRequest:
        """Return the request for allocation candidates, of all groups and conditions so far."""
        filters = {suffix: group.make_filter() for suffix, group in self.groups.items()}
        common = filters.pop('')._replace(
            member_of=tuple(sorted(self.member_of)),
            forbidden_member_of=tuple(self.forbidden_member_of),
            in_tree=self.in_tree,
        )
        groups = {suffix: group for suffix, group in filters.items() if group != Filter()}
        is_mixed = len(groups) > 1 and self.flavor_group_count < 2
        return CandidateRequest(
            common,
            groups,
            self.policy or ('none' if is_mixed else None),
            tuple(self.same_subtree),
            tuple(sorted(self.root_required)),
            (DISABLED,),
            self.limit,
        )


Rule = Callable[[Draft], None]


def is_class_name(name: str) -> bool:
    """Return whether a name is a standard or a custom resource class."""
    return name.startswith('CUSTOM_') or name in os_resource_classes.STANDARDS


@dataclass(frozen=True, slots=True)
class TraitRule:
    """A rule that requires a trait for a value of the flavor or the image.

    :param key: the common part of the names of extra spec and property
    :param traits: the trait for each value; other values require none
    :param is_of_root: whether the root provider has to have the trait
    """

    key: str
    traits: Mapping[str, str]
    prefix: str = 'hw'
    is_of_root: bool = False

    def __call__(self, draft: Draft) -> None:
        """Require the trait for the value that the server has, if there is one."""
        value = draft.features.choose_value(self.key, self.prefix)
        if trait := self.traits.get(value or ''):
            (draft.root_required if self.is_of_root else draft.common.required).add(trait)
