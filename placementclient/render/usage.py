# SPDX-License-Identifier: Apache-2.0
"""The table of usage by project, user, host or consumer."""

from collections.abc import Iterable, Mapping
from operator import attrgetter

from placementclient.insight import usage
from placementclient.insight.usage import UsageLine
from placementclient.model.nova import MIGRATION
from placementclient.model.snapshots import Snapshot
from placementclient.render.columns import Column, Columns, Output
from placementclient.render.facts import make_amount_cell


def list_usage(
    lines: Iterable[UsageLine],
    snapshot: Snapshot,
    names: Mapping[str, str],
    projects: Mapping[str, str],
    *,
    of_consumers: bool,
) -> Output:
    """Return a table with the usage of each subject and class.

    :param names: of the subjects, by ID
    :param projects: names by ID
    :param of_consumers: whether each line is about one consumer, with its host and its project
    """
    capacities = usage.sum_capacities(snapshot)

    def compute_percent(line: UsageLine) -> float | None:
        capacity = capacities.get(line.resource_class)
        return round(100 * line.used / capacity, 1) if capacity else None

    def find_project(line: UsageLine) -> str:
        project_id = line.consumers[0].project_id or ''
        return projects.get(project_id, project_id)

    def find_name(line: UsageLine) -> str:
        is_migration = of_consumers and line.consumers[0].type == MIGRATION
        return names.get(line.subject, 'migration' if is_migration else '')

    last = (
        (
            Column('host', lambda line: ', '.join(usage.list_hosts(snapshot, line.consumers[0]))),
            Column('project', find_project),
        )
        if of_consumers
        else (Column('consumers', lambda line: len(line.consumers)),)
    )
    return Columns(
        Column('subject'),
        Column('name', find_name),
        Column('resource_class', attrgetter('resource_class')),
        Column('used', lambda line: make_amount_cell(line.resource_class, line.used)),
        Column('percent', compute_percent),
        *last,
    ).make_table(lines)
