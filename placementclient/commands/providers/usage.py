# SPDX-License-Identifier: Apache-2.0
"""Usages, of resource providers and of projects."""

import itertools

from placementclient import api
from placementclient.client import endpoints
from placementclient.client.microversion import TYPED
from placementclient.commands.framework import base, option
from placementclient.commands.framework.option import Option
from placementclient.model.consumers import ProjectUsage
from placementclient.render import columns


class ShowProviderUsage(base.Lister):
    """Show how much of each resource class of a resource provider is used."""

    examples = ('compute1',)
    endpoint = endpoints.SHOW_PROVIDER_USAGES
    options = (option.PROVIDER, option.LONG)

    def execute(self) -> columns.Output:
        used = api.usage.show_provider(self.client, self.provider_uuid)
        return self.add_modified_date(columns.USAGE.make_table(used.value.items()), used)


class ShowUsage(base.Lister):
    """Show how much of each resource class a project uses.

    Each class has a row. From API version 1.38 on each type of consumer has one instead, with the
    amounts of all classes and the number of consumers together. With --consumer-type there is a row
    for each type and class, with the number of consumers.
    """

    examples = ('2ee2a1b5ad0c4ae8a1fe14ae25f4b0d5 --consumer-type all',)
    endpoint = endpoints.SHOW_USAGES
    options = (
        Option('project', help='ID of the project'),
        Option('--user-id <user>', help='Count only the consumers of this user, by ID'),
        Option(
            '--consumer-type',
            since='1.38',
            help='Only consumers of this type; all for the sum, unknown for those without a type',
        ),
        option.LONG,
    )

    def execute(self) -> columns.Output:
        typed = self.args.consumer_type is not None
        version = self.client.microversion if typed else self.version
        used = api.usage.show_project(
            self.client,
            self.args.project,
            user_id=self.args.user_id,
            consumer_type=self.args.consumer_type,
            version=version,
        )
        if typed:
            output = columns.list_project_usage(used.value)
        elif version >= TYPED:
            output = columns.USAGE.make_table(
                (kind.consumer_type, _insert_consumer_count(kind)) for kind in used.value
            )
        else:
            output = columns.USAGE.make_table(used.value[0].resources.items())
        if not any(kind.resources for kind in used.value):
            self.log_hint(f'No usage of a project with the ID {self.args.project}')
        return self.add_modified_date(output, used)


def _insert_consumer_count(usage: ProjectUsage) -> dict[str, int | None]:
    """Return the amounts of a consumer type by class, with ``consumer_count`` put second."""
    amounts = iter(usage.resources.items())
    return dict([*itertools.islice(amounts, 1), ('consumer_count', usage.consumer_count), *amounts])
