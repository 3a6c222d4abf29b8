# SPDX-License-Identifier: Apache-2.0
"""The request that Nova (34.0) sends to Placement for a server. Pure.

:data:`RULES` is the table of what a part of a server asks for, in Nova's order.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import os_resource_classes

from placementclient.basis.wording import suggest_similar
from placementclient.model.consumers import sum_resources
from placementclient.model.inventories import UNLIMITED
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.model.servers import Flavor
from placementclient.nova import filter_rules, group_rules, scheduler_filters
from placementclient.nova.drafts import EXTRA_SPEC, Draft, OpenGroup, Rule, is_class_name
from placementclient.nova.features import ALIAS_SPEC, PROFILE_SPEC
from placementclient.nova.group_rules import request_pinned_cpus
from placementclient.nova.server_parts import Refusal, ServerRequest, Sources
from placementclient.nova.settings import Settings

#: The microversion of the request.
MICROVERSION = '1.36'
#: Where a server with dedicated CPUs starts that Placement grants by the second request
#: (``virt/libvirt/driver.py``, ``_get_host_numa_topology``).
FALLBACK = (
    'A server with dedicated CPUs starts there only if nova-compute has vcpu_pin_set, or neither '
    'cpu_dedicated_set nor cpu_shared_set, which Placement does not show'
)
#: Classes of devices that Nova or Cyborg chooses: only they know the place of one.
_DEVICE_CLASSES = ('VGPU',)
#: Rules of groups come before those of request filters.
RULES: tuple[Rule, ...] = (*group_rules.RULES, *filter_rules.RULES)


class NovaRequest(NamedTuple):
    """The request for a server, and the second one that Nova sends for dedicated CPUs.

    :param second: with VCPU in place of PCPU, for hosts without PCPU: see :data:`FALLBACK`
    :param unknown: the parts that are left out, each with the source that is missing
    :param filters: the decisions of later filters of the scheduler, without Placement
    :param ignored: extra specs that the scheduler passes over, as their class or amount is none
    """

    first: CandidateRequest
    second: CandidateRequest | None = None
    unknown: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    @property
    def requests(self) -> tuple[CandidateRequest, ...]:
        """Return the first request, and the second (for hosts without PCPU) if there is one."""
        return (self.first,) if self.second is None else (self.first, self.second)

    def has_filter(self, *names: str) -> bool:
        """Return whether one of the named filters of the scheduler has something to decide."""
        return any(part.startswith(names) for part in self.filters)

    @property
    def undecided_parts(self) -> tuple[str, ...]:
        """Return the parts of the request that Placement does not decide."""
        return (*self.unknown, *self.filters, *self.ignored)

    @property
    def placement_refusal(self) -> str:
        """Return the reason why Placement refuses the request, or an empty string."""
        groups = {'': self.first.common, **self.first.groups}
        for suffix, group in groups.items():
            is_named = any(suffix in suffixes for suffixes in self.first.same_subtree)
            if group != Filter() and not group.resources and not is_named:
                return f'the group {suffix!r} asks for traits without resources'
            for name, amount in group.resources.items():
                if amount > UNLIMITED:
                    return f'no provider has {amount} of {name}'
        if len(self.first.groups) > 1 and self.first.group_policy is None:
            return 'it has several groups and no group_policy'
        return ''


_DEFAULTS, _NO_SOURCES = Settings(), Sources()


def build_request(
    server: ServerRequest,
    settings: Settings = _DEFAULTS,
    sources: Sources = _NO_SOURCES,
    rules: Sequence[Rule] = RULES,
) -> NovaRequest:
    """Return Nova's request for a server.

    :raises Refusal: if Nova refuses the server, with the reason
    """
    draft = _make_draft(server, settings, sources, rules)
    second = None
    if draft.cpus.policy == 'dedicated' and not settings.disable_fallback_pcpu_query:
        others = [rule for rule in rules if rule is not request_pinned_cpus]
        shared = _make_draft(server, settings, sources, others)
        # A request filter has found them, once for both.
        shared.forbidden_member_of = draft.forbidden_member_of
        second = shared.make_request()
    return NovaRequest(
        draft.make_request(),
        second,
        tuple(dict.fromkeys(draft.unknown)),
        tuple(scheduler_filters.describe_filter_decisions(server, settings)),
        tuple(_find_ignored_specs(server.flavor)),
    )


def _make_draft(
    server: ServerRequest, settings: Settings, sources: Sources, rules: Sequence[Rule]
) -> Draft:
    """Return the draft of a request to which all rules were applied, in their order."""
    draft = Draft(server, settings, sources)
    for rule in rules:
        rule(draft)
    return draft


def _find_ignored_specs(flavor: Flavor) -> Iterator[str]:
    """Yield each spec with resources that the scheduler passes over, with a similar known class."""
    for key, value in flavor.extra_specs.items():
        match = EXTRA_SPEC.fullmatch(key)
        kind, name = (match[1], match[3]) if match else ('', '')
        if kind == 'resources' and not OpenGroup().add_extra_spec(kind, name, value):
            is_class = is_class_name(name)
            hint = '' if is_class else suggest_similar(name, os_resource_classes.STANDARDS)
            yield f'{key}={value}{hint}'


def sum_flavor_amounts(flavor: Flavor, *, boots_from_volume: bool = False) -> dict[str, int]:
    """Return the amounts by class that a server of a flavor requests in all groups.

    :param boots_from_volume: whether the root disk is a volume, so that it takes none of the host
    :raises Refusal: if Nova refuses the flavor
    """
    return sum_request_amounts(
        build_request(ServerRequest(flavor, from_volume=boots_from_volume)).first
    )


def sum_request_amounts(request: CandidateRequest) -> dict[str, int]:
    """Return the amounts by class that a request asks for in all of its groups."""
    return dict(
        sum_resources(group.resources for group in (request.common, *request.groups.values()))
    )


@dataclass(frozen=True, slots=True)
class RequestBuilder:
    """Builds the requests that Nova's scheduler sends for servers, with the same settings for all.

    :param parts: values for fields of :class:`ServerRequest` that all of these servers have
    """

    settings: Settings = _DEFAULTS
    sources: Sources = _NO_SOURCES
    parts: Mapping[str, Any] = field(default_factory=dict)

    def build_request(self, flavor: Flavor, *, has_owner_trait: bool | None = None) -> NovaRequest:
        """Return the request for a server of a flavor.

        :param has_owner_trait: whether Nova requires the trait OWNER_NOVA; ``None``: unknown
        """
        return self.build_server_request(ServerRequest(flavor), has_owner_trait=has_owner_trait)

    def build_accepted_requests(
        self, flavors: Iterable[Flavor]
    ) -> Iterator[tuple[Flavor, CandidateRequest]]:
        """Yield the request of each flavor that Nova does not refuse."""
        for flavor in flavors:
            try:
                yield flavor, self.build_request(flavor, has_owner_trait=False).first
            except Refusal:
                continue

    def build_server_request(
        self, server: ServerRequest, *, has_owner_trait: bool | None = None
    ) -> NovaRequest:
        """Return the request for a server; the values for all servers replace its own.

        :param has_owner_trait: whether Nova requires the trait OWNER_NOVA; ``None``: unknown
        """
        parts = {name: value for name, value in self.parts.items() if value}
        sources = replace(self.sources, has_owner_trait=has_owner_trait)
        return build_request(replace(server, **parts), self.settings, sources)


def find_device_requests(flavor: Flavor) -> list[str]:
    """Return the extra specs and classes by which a flavor asks for a device of the host."""
    classes = sum_flavor_amounts(flavor)
    specs = [key for key in (PROFILE_SPEC, ALIAS_SPEC) if flavor.extra_specs.get(key)]
    return specs + [name for name in _DEVICE_CLASSES if name in classes]
