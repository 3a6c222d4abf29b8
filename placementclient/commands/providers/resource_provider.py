# SPDX-License-Identifier: Apache-2.0
"""Resource providers."""

import contextlib
import functools
import shlex
from collections.abc import Sequence

from placementclient import api
from placementclient.api import attempts
from placementclient.basis.errors import PlacementError, UsageError
from placementclient.client import endpoints, errors
from placementclient.commands.framework import base, filter_options, option
from placementclient.commands.framework.option import Flag, Option
from placementclient.model import patterns
from placementclient.model.providers import Provider, is_uuid, normalize_uuid
from placementclient.render import columns


class ListResourceProvider(base.Lister):
    """List resource providers, all or those that satisfy every condition given."""

    examples = ('--resource VGPU=1 --required CUSTOM_NVIDIA_A40 --roots',)
    endpoint = endpoints.LIST_PROVIDERS
    options = (
        Option('--uuid', type=normalize_uuid, help='UUID of the resource provider'),
        Option('--match', '--name', dest='name', help='Name, or a pattern such as compute2*'),
        *filter_options.make_filter_options(
            since={'resource': '1.4', 'required': '1.18', 'member-of': '1.3', 'in-tree': '1.14'}
        ),
        filter_options.make_aggregate_uuid_option(since='1.3'),
        Flag(
            '--roots',
            since='1.14',
            help='List the root of each match in its place, once: the hosts of devices',
        ),
    )

    def execute(self) -> columns.Output:
        # Scripts also have VCPU:4 here, as the service itself, and several with commas between.
        self.args.resource = [
            part.replace(':', '=') for amounts in self.args.resource for part in amounts.split(',')
        ]
        name = self.args.name
        has_pattern = patterns.is_pattern(name or '')
        providers = api.resource_provider.list(
            self.client,
            name=None if has_pattern else name,
            uuid=self.args.uuid,
            matching=filter_options.parse_filter(self.client, self.args),
        )
        if has_pattern:
            names = set(
                patterns.find_matching_names(name, (provider.name for provider in providers))
            )
            providers = [provider for provider in providers if provider.name in names]
        if self.args.roots:
            providers = self._list_roots_of(providers)
        if not providers:
            pattern = '' if has_pattern else self._suggest_pattern(name)
            self.log_hint(f'No resource provider matches{pattern}')
        return columns.PROVIDER.make_table(providers, self.version)

    def _suggest_pattern(self, name: str | None) -> str:
        """Return the end of a message: a pattern for longer names; empty: none, or no terminal."""
        providers: Sequence[Provider] = ()
        if name and self.app.stderr.isatty():
            with contextlib.suppress(PlacementError):
                providers = api.resource_provider.list(self.client)
        if not any(provider.name.startswith(name or '') for provider in providers):
            return ''
        pattern = shlex.quote(f'{name}*')
        return f'. {name} is the whole name; names that begin with it: --name {pattern}'

    def _list_roots_of(self, providers: Sequence[Provider]) -> list[Provider]:
        known = {provider.uuid: provider for provider in providers}
        roots = dict.fromkeys(provider.root_uuid for provider in providers)
        known |= api.resource_provider.read_some(self.client, roots.keys() - known)
        return [known[root] for root in roots if root in known]


class CreateResourceProvider(base.ShowOne):
    """Create a resource provider."""

    examples = ('compute1_numa0 --parent-provider compute1',)
    endpoint = endpoints.CREATE_PROVIDER
    column_names = columns.PROVIDER.names
    options = (
        Option('name', help='Name of the resource provider'),
        Option('--parent-provider <provider>', since='1.14', help='Name or UUID of the parent'),
        Option(
            '--uuid', type=normalize_uuid, help='UUID of the new provider; default: a random one'
        ),
        Flag('--or-show', help='If a provider has that name, show it and change nothing'),
    )

    def execute(self) -> columns.Output:
        name, parent = self.args.name, self.args.parent_provider
        parent_uuid = parent and api.resource_provider.find(self.client, parent)
        present = functools.partial(api.resource_provider.find_by_name, self.client, name)

        def is_created() -> bool:
            existing = present()
            # Another client may have made one of the name.
            return existing is not None and self.args.uuid in (None, existing.uuid)

        try:
            provider = attempts.confirm_write(
                self.client,
                lambda: api.resource_provider.create(
                    self.client, name, uuid=self.args.uuid, parent_provider_uuid=parent_uuid
                ),
                is_created,
            )
        except errors.Conflict:
            provider = present() if self.args.or_show else None
            if provider is None:  # it is the UUID that is taken
                raise
        provider = provider or api.resource_provider.show_by_name(self.client, name)
        return columns.PROVIDER.make_row(provider, self.version)


class ShowResourceProvider(base.ShowOne):
    """Show a resource provider."""

    examples = ('compute1 --allocations',)
    endpoint = endpoints.SHOW_PROVIDER
    options = (
        option.PROVIDER,
        Flag('--allocations', help='Show also the allocations of the resource provider'),
        option.LONG,
    )

    def execute(self) -> columns.Output:
        shown = api.resource_provider.show(self.client, self.provider_uuid)
        output = columns.PROVIDER.make_row(shown.value, self.version)
        if self.args.allocations:
            holdings = api.allocation.list_of_provider(self.client, self.provider_uuid).value
            names, values = output
            output = (
                (*names, 'allocations'),
                (*values, columns.group_holdings_by_consumer(holdings)),
            )
        return self.add_modified_date(output, shown)


class SetResourceProvider(base.ShowOne):
    """Rename a resource provider, or move it below another parent."""

    examples = ('compute1_numa0 --parent-provider compute2',)
    endpoint = endpoints.SET_PROVIDER
    column_names = columns.PROVIDER.names
    options = (
        option.PROVIDER,
        Option('--name', help='New name'),
        Option(
            '--parent-provider <provider>',
            since='1.14',
            help='Name or UUID of the new parent; below API version 1.37 only for a root',
        ),
        Flag('--no-parent', since='1.37', help='Remove the parent: the provider becomes a root'),
    )

    def execute(self) -> columns.Output:
        parent = self.args.parent_provider
        if parent and self.args.no_parent:
            raise UsageError('--parent-provider and --no-parent contradict each other')
        if not (self.args.name or parent or self.args.no_parent):
            self.exit_with_usage('the following arguments are required: --name')
        target = self.args.provider
        before = (
            None if is_uuid(target) else api.resource_provider.show_by_name(self.client, target)
        )
        uuid = before.uuid if before else api.resource_provider.find(self.client, target)
        name = self.args.name
        if not name:
            before = api.resource_provider.show(self.client, uuid).value
            name = before.name
        parent_uuid = parent and api.resource_provider.find(self.client, parent)

        def write_provider() -> Provider:
            return api.resource_provider.set(
                self.client,
                uuid,
                name,
                parent_provider_uuid=parent_uuid,
                orphan=self.args.no_parent,
            )

        def is_written() -> bool:
            live = api.resource_provider.show(self.client, uuid).value
            live_parent = live.parent_provider_uuid
            desired_parent = None if self.args.no_parent else parent_uuid or live_parent
            if (live.name, live_parent) == (name, desired_parent):
                return True
            # No generation guards it: sent again, it would overwrite the change of the other.
            if before and (live.name, live_parent) != (before.name, before.parent_provider_uuid):
                raise PlacementError(
                    f'Another client has changed the provider: its name is {live.name!r}, its '
                    f'parent {live_parent or "none"}'
                )
            return False

        provider = attempts.confirm_write(self.client, write_provider, is_written)
        provider = provider or api.resource_provider.show(self.client, uuid).value
        return columns.PROVIDER.make_row(provider, self.version)


class DeleteResourceProvider(base.CreateOrDeleteCommand):
    """Delete a resource provider with its inventory. It must not have allocations or children."""

    examples = ('compute1_numa0',)
    endpoint = endpoints.DELETE_PROVIDER
    options = (option.PROVIDER,)
    functions = base.ObjectFunctions(
        api.resource_provider.delete, api.resource_provider.show, deletes=True
    )

    def execute(self) -> None:
        name = shlex.quote(self.args.provider)
        purge = f'placement resource provider purge {name} --dry-run'
        try:
            super().execute()
        except errors.CannotDeleteParent as refusal:
            refusal.next_steps = (f'See what would be deleted with the children: {purge}',)
            raise
        except errors.ProviderInUse as refusal:
            from placementclient.producers.purge import list_ways_to_empty

            refusal.next_steps = (
                *list_ways_to_empty(self.args.provider),
                f'See the allocations that are left: {purge}',
            )
            raise
