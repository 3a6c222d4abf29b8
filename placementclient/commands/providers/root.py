# SPDX-License-Identifier: Apache-2.0
"""The service itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placementclient import api
from placementclient.basis import errors
from placementclient.basis.wording import suggest_similar
from placementclient.client import endpoints
from placementclient.client.microversion import TYPED, Microversion
from placementclient.commands.framework import base
from placementclient.commands.framework.option import Option

if TYPE_CHECKING:
    from placementclient.commands.providers.service_checks import NeedRow

#: The features that this program uses if Placement has them, with their microversions.
_OPTIONAL_NEEDS = {
    'reshape': endpoints.RESHAPE.since,
    'types of consumers': TYPED,
    'any of several traits': Microversion(1, 39),
}


class ShowApi(base.ShowOne):
    """Show the service: its URL, its microversions, and whether it lets you reshape."""

    examples = ('',)
    endpoint = endpoints.SHOW_API

    def execute(self) -> base.Output:
        lowest, highest = api.root.show(self.client)
        versions = str(lowest), str(highest), str(self.client.microversion)
        is_allowed = highest >= endpoints.RESHAPE.since and api.reshaper.is_allowed(self.client)
        names = ('endpoint', 'min_version', 'max_version', 'version', 'reshaper_allowed')
        return names, (self.client.url, *versions, is_allowed)


class CheckApi(base.Lister):
    """Check if the service is new enough for a release of Nova.

    With --service-conf, check it as a nova-compute would: as the user of [placement] of the file,
    at the endpoint that Nova finds with its interfaces and region. Nothing is written, and no
    secret is printed.

    Rows that are not met because only this program would use them are information: they do not
    change the exit status.
    """

    examples = ('--for 2025.1', '--for 2025.1 --service-conf /etc/nova/nova.conf')
    auth_required = False
    column_names = ('need', 'needs', 'has', 'is_met')
    statuses = ((errors.ExitStatus.DIFFERS, 'the release needs something that is not met'),)
    options = (
        Option(
            '--for <release>',
            dest='release',
            help='A release of Nova, such as 2025.1, zed or 31, or 1.36; default: the newest',
        ),
        Option(
            '--service-conf <file>...',
            help='Check as the user of [placement] of this nova.conf, with a column for the file',
        ),
    )

    def list_column_names(self) -> tuple[str, ...]:
        return ('file', *self.column_names) if self.args.service_conf else self.column_names

    def execute(self) -> base.Output:
        release = _find_needed_microversion(self.args.release)
        if not self.args.service_conf:
            return self.column_names, self._check_needs(*release)
        from placementclient.commands.providers.service_checks import ServiceChecks
        from placementclient.files import disk, kinds
        from placementclient.nova.service_user import load_service_user

        _, needed = release
        users = {
            p: load_service_user(disk.read_text(p, kinds.CONFIGURATION), p)
            for p in self.args.service_conf
        }
        rows = [
            (p, *row)
            for p, user in users.items()
            for row in ServiceChecks(user, needed).list_rows()
        ]
        if any(not is_met for *_, is_met in rows):
            self.exit_status = errors.ExitStatus.DIFFERS
        return self.list_column_names(), rows

    def _check_needs(self, release: str, needed: Microversion) -> list[NeedRow]:
        """Return a row for each need of a release; set the last sentence if one is not met.

        The exit status is set only if the service is too old for the release.

        :param needed: the microversion that the release needs
        """
        from placementclient.commands.providers.service_checks import NeedRow

        _, highest = api.root.show(self.client)
        rows = [
            NeedRow(need, str(since), str(highest), highest >= since)
            for need, since in {release: needed, **_OPTIONAL_NEEDS}.items()
        ]
        if highest >= endpoints.RESHAPE.since:
            is_allowed = api.reshaper.is_allowed(self.client)
            role = f'role {endpoints.RESHAPE.roles}'
            has = role if is_allowed else 'no'
            rows.append(NeedRow('reshape as this user', role, has, is_allowed))
        unmet = [row.need for row in rows if not row.is_met]
        if highest < needed:
            self.exit_status = errors.ExitStatus.DIFFERS
            self.ending = 'the service is too old for the release'
        elif unmet:
            self.ending = f'Missing, but not needed for the release: {", ".join(unmet)}'
        return rows


def _find_needed_microversion(release: str | None) -> tuple[str, Microversion]:
    """Return the name of a release of Nova and the microversion that it needs.

    :param release: a name, a number or a microversion; None: the newest release
    :raises errors.UsageError: if there is no such release
    """
    from placementclient.nova.releases import NEEDED, NUMBERS, find_release_name

    if release and release.startswith('1.'):
        return 'microversion', Microversion.parse(release)
    name = find_release_name(release) if release else [*NEEDED][-1]
    if name is None:
        message = f'There is no release {release} of Nova. Choose from {", ".join(NEEDED)}'
        raise errors.UsageError(
            f'{message}{suggest_similar(str(release).lower(), [*NEEDED, *NUMBERS])}'
        )
    return f'Nova {name}', NEEDED[name]
