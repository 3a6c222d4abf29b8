# SPDX-License-Identifier: Apache-2.0
"""Commands that edit one resource provider, or many by selectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from placementclient.api.attempts import edited
from placementclient.basis import errors
from placementclient.basis.wording import suggestion
from placementclient.commands.framework import changing, option, selectors
from placementclient.commands.framework.changing import Changing
from placementclient.commands.framework.option import Option
from placementclient.model.providers import is_uuid

if TYPE_CHECKING:
    from placementclient.model.freshness import Read
    from placementclient.model.plans import Plan
    from placementclient.producers.edited import Edit
    from placementclient.producers.edits import Edits
    from placementclient.render.columns import Columns, Output

OPTIONS = (*selectors.OPTIONS, *changing.OPTIONS)
#: The first argument; with selectors it may be the first of the names.
PROVIDER = Option(
    'provider',
    missable=True,
    help='Name or UUID of the provider; not with --all, --match, --with-trait, --with-class and '
    '--member-of, which select many: those that meet all conditions',
)


class Editing(Changing):
    """Edits many resource providers through a plan; a subclass edits a single one."""

    prints_one: Sequence[str] = ()
    #: The options that only many providers can have.
    only_many: Sequence[Option] = (option.DRY_RUN, changing.PLAN)
    _edits: Edits

    @property
    def is_many(self) -> bool:
        """Return whether selectors stand for the resource provider."""
        return selectors.are_set(self.args)

    def printed(self) -> Sequence[str]:
        return Changing.prints if self.is_many else self.prints_one

    def has_text(self) -> bool:
        return self.is_many and super().has_text()

    def says_nothing(self) -> bool:
        return self.is_many or super().says_nothing()

    def check_number(self) -> None:
        """Refuse options that only many resource providers can have, or only one."""
        if self.is_many and self.args.generation is not None:
            raise errors.UsageError("--generation is one provider's, not of selectors")
        for choice in () if self.is_many else self.only_many:
            if choice.is_set(self.args):
                raise errors.UsageError(f'{choice.flags[0]} needs a selector: --match NAME for one')

    def edit(self, command: str, edit: Edit) -> Output:
        """Edit all selected resource providers, or only plan or show the edit."""
        from placementclient.producers.edits import Edits

        selection = selectors.selection(self.client, self.args)
        edits = Edits(self.client, command, selection, edit, with_usages=bool(self.args.plan))
        self._edits = edits
        output = self.change(edits)
        if edits.notes and self.exit_status in (errors.ExitStatus.DONE, errors.ExitStatus.DIFFERS):
            self.exit_status = errors.ExitStatus.PARTIAL
        return output

    def remark(self, plan: Plan) -> None:
        """Print the edits that are not needed; refuse if nothing else is left."""
        self.warn(self._edits.remarks)
        refused = [f'{note.subject}: {note.reason}' for note in self._edits.notes]
        if refused and not plan.changes:
            raise errors.BadArgument('\n'.join(refused))
        for line in refused:
            self.log.error(line)


class NamesEditing(Editing):
    """Adds or removes names of a resource provider: traits or aggregates."""

    facet = ''
    #: The functions of the API that read the names of a resource provider, and replace them.
    functions: tuple[Callable[..., Read[list[str]]], Callable[..., Read[list[str]]]]
    names: Option
    column: Columns
    removes = False
    _is_told = False

    def execute(self) -> Output:
        words = getattr(self.args, self.names.dest) or []
        needed = {PROVIDER: self.args.provider, self.names: words}
        if self.is_many:
            words = words if self.args.provider is None else [self.args.provider, *words]
            needed = {self.names: words}
        if lacking := [argument.settings['metavar'] for argument in needed if not needed[argument]]:
            self._parser.error(f'the following arguments are required: {", ".join(lacking)}')
        self.check_number()
        names = self.spelled(words)
        if not self.is_many:
            return self._edit_one(names)
        from placementclient.producers.edited import NamesEdit

        verb = 'remove' if self.removes else 'add'
        sets = frozenset(() if self.removes else names), frozenset(names if self.removes else ())
        return self.edit(
            f'resource provider {self.names.dest} {verb}', NamesEdit(self.facet, *sets)
        )

    def spelled(self, names: list[str]) -> list[str]:
        """Return the names in Placement's spelling."""
        return names

    def _edit_one(self, requested: list[str]) -> Output:
        uuid = self.provider_uuid
        self.nothing = f'The resource provider has no {self.facet}'
        read, write = self.functions
        live = edited(
            self.client,
            lambda: read(self.client, uuid),
            lambda names: self._changed(names, requested),
            lambda names, generation: write(self.client, uuid, names, generation),
            self.args.generation,
        )
        return self.column.rows(sorted(live.value))

    def _changed(self, live: list[str], requested: list[str]) -> list[str]:
        lacking = sorted(set(requested).difference(live))
        if not self.removes:
            return [*live, *lacking]
        # After a conflict, its first request may have removed the names already.
        for name in [] if self._is_told else lacking:
            near = '' if is_uuid(name) else suggestion(name, live)
            self.log.warning(f'The resource provider has no {self.names.dest} {name}{near}')
        self._is_told = True
        return [name for name in live if name not in requested]
