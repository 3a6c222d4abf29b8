# SPDX-License-Identifier: Apache-2.0
"""Edits of the inventories, traits or aggregates of one resource provider, or of many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from placementclient.api.attempts import edit_object
from placementclient.basis import errors
from placementclient.basis.wording import suggest_similar
from placementclient.commands.framework import change_command, option, selection_options
from placementclient.commands.framework.change_command import ChangeCommand
from placementclient.commands.framework.option import Option
from placementclient.model.providers import is_uuid

if TYPE_CHECKING:
    from placementclient.client.http import Client
    from placementclient.model.freshness import Read
    from placementclient.producers.edited import Edit
    from placementclient.render.columns import Columns, Output

OPTIONS = (*selection_options.OPTIONS, *change_command.OPTIONS)
#: The options that only many providers can have.
ONLY_MANY = (change_command.DRY_RUN, change_command.PLAN)
#: The first argument; with selectors it may be the first of the names.
PROVIDER = Option(
    'provider',
    is_checked_later=True,
    help='Name or UUID of the provider; not with --all, --match, --with-trait, --with-class and '
    '--member-of, which select many: those that meet all conditions',
)


def is_bulk_edit(command: ChangeCommand) -> bool:
    """Return whether options such as ``--match`` select the resource providers to edit."""
    return selection_options.has_selection(command.args)


def refuse_options_of_other_edits(
    command: ChangeCommand, only_many: Sequence[Option] = ONLY_MANY
) -> None:
    """Refuse options for many resource providers in an edit of one, and the reverse.

    :param only_many: the options for many
    """
    is_many = is_bulk_edit(command)
    if is_many and command.args.generation is not None:
        raise errors.UsageError('--generation is for one provider, not for selectors')
    for choice in () if is_many else only_many:
        if choice.is_set(command.args):
            raise errors.UsageError(f'{choice.flags[0]} needs a selector: --match NAME for one')


def edit_selected_providers(command: ChangeCommand, command_name: str, edit: Edit) -> Output:
    """Edit all selected resource providers, or show or write a plan of the changes.

    :param command_name: the name of the command in the plan
    :param edit: made on each of the providers
    """
    from placementclient.producers.edits import EditProducer

    selection = selection_options.make_selector(command.client, command.args)
    edits = EditProducer(
        command.client, command_name, selection, edit, with_usages=bool(command.args.plan)
    )
    plan = command.make_plan(edits)
    command.warn(edits.remarks)
    refused = [f'{note.subject}: {note.reason}' for note in edits.notes]
    if refused and not plan.changes:
        raise errors.BadArgument('\n'.join(refused))
    for line in refused:
        command.log.error(line)
    output = command.show_or_apply_plan(plan, edits)
    if refused and command.exit_status in (errors.ExitStatus.DONE, errors.ExitStatus.DIFFERS):
        command.exit_status = errors.ExitStatus.PARTIAL
    return output


@dataclass(frozen=True)
class TraitsOrAggregates:
    """The traits or the aggregates of resource providers, for commands that add or remove some.

    :param name: ``traits`` or ``aggregates``
    :param option: the argument with traits or aggregates
    :param read: reads those of a resource provider
    :param write: replaces those of a resource provider
    :param column: the column of the table
    :param normalize: returns traits, or UUIDs of aggregates, for the operator's words
    """

    name: str
    option: Option
    read: Callable[..., Read[list[str]]]
    write: Callable[..., Read[list[str]]]
    column: Columns
    normalize: Callable[[Client, list[str]], list[str]]

    @property
    def options(self) -> tuple[Option, ...]:
        """The options of a command that adds or removes traits or aggregates."""
        return (PROVIDER, self.option, option.GENERATION, *OPTIONS)


def edit_traits_or_aggregates(
    command: ChangeCommand, facet: TraitsOrAggregates, *, removes: bool
) -> Output:
    """Add traits or aggregates to one resource provider or to many, or remove them.

    :param removes: whether to remove them, not to add them
    """
    args, is_many = command.args, is_bulk_edit(command)
    words = getattr(args, facet.option.dest) or []
    if is_many and args.provider is not None:
        # With selectors, the argument <provider> is the first trait or aggregate.
        words = [args.provider, *words]
    needed = {PROVIDER: is_many or args.provider, facet.option: words}
    if lacking := [option.settings['metavar'] for option in needed if not needed[option]]:
        command.exit_with_usage(f'the following arguments are required: {", ".join(lacking)}')
    refuse_options_of_other_edits(command)
    requested = facet.normalize(command.client, words)
    if not is_many:
        return _edit_provider(command, facet, requested, removes=removes)
    from placementclient.producers.edited import FacetEdit

    name = f'resource provider {facet.option.dest} {"remove" if removes else "add"}'
    changed = {'removed' if removes else 'added': frozenset(requested)}
    return edit_selected_providers(command, name, FacetEdit(facet.name, **changed))


def _edit_provider(
    command: ChangeCommand, facet: TraitsOrAggregates, requested: list[str], *, removes: bool
) -> Output:
    """Add or remove traits or aggregates of ``<provider>``; return the table of its new list.

    :param requested: the names or UUIDs that the operator has given
    :param removes: whether to remove them, not to add them
    """
    client, uuid = command.client, command.provider_uuid
    command.empty_message = f'The resource provider has no {facet.name}'
    is_first = True

    def add_or_remove(live: list[str]) -> list[str]:
        nonlocal is_first
        lacking = sorted(set(requested).difference(live))
        if not removes:
            return [*live, *lacking]
        # After a conflict, its first request may have removed the names already.
        for name in lacking if is_first else []:
            near = '' if is_uuid(name) else suggest_similar(name, live)
            command.log.warning(f'The resource provider has no {facet.option.dest} {name}{near}')
        is_first = False
        return [name for name in live if name not in requested]

    live = edit_object(
        client,
        lambda: facet.read(client, uuid),
        add_or_remove,
        lambda changed, generation: facet.write(client, uuid, changed, generation),
        command.args.generation,
    )
    return facet.column.make_table(sorted(live.value))
