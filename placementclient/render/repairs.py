# SPDX-License-Identifier: Apache-2.0
"""The commands that fix findings of an audit, or the reasons why there are none."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from placementclient.basis.wording import replace_program
from placementclient.model.findings import Finding
from placementclient.model.repairs import AddTrait, Advice, HealServer, Remedy, make_advice
from placementclient.model.servers import Server

_ASSUMED = 'found under --assume: audit without --assume for what you can fix now'
_UNREAD = 'a list came through a pipe and cannot be read again: save it to a file, or use --fix'
_UNTYPED = 'its name cannot be typed in a command line: rename it, or use --fix'


class Invocation(NamedTuple):
    """The program and the options of the running audit, for the commands that it prints.

    :param program: the name of the program
    :param sources: options with the files that it reads; ``None`` if one cannot be read again
    :param heal: options with the files that ``allocation heal`` can read too; none: it asks Nova
    :param is_assumed: whether the audited cloud is under assumptions
    :param servers: by UUID, for their names
    """

    program: str
    sources: Sequence[tuple[str, str]] | None = ()
    heal: Sequence[tuple[str, str]] = ()
    is_assumed: bool = False
    servers: Mapping[str, Server] = MappingProxyType({})


def choose_command_or_reason(finding: Finding, invocation: Invocation) -> tuple[str, str]:
    """Return the command that fixes a finding safely, or the reason for none; one is empty."""
    if invocation.is_assumed:
        return '', _ASSUMED
    if finding.repair is not None and not isinstance(finding.repair, AddTrait):
        if invocation.sources is None:
            return '', _UNREAD
        if not finding.subject.isprintable() or finding.subject.startswith('-'):
            return '', _UNTYPED
        command = (
            f'{invocation.program} resource provider audit{_format_options(invocation.sources)} '
            f'--id {finding.kind} --subject {shlex.quote(finding.subject)} --fix --yes'
        )
        return command, ''
    if not finding.reason:
        return _format_command(finding.remedy, invocation), ''
    reason = replace_program(finding.reason, invocation.program)
    if isinstance(finding.remedy, AddTrait | Advice):
        return '', f'{reason}: {_format_command(finding.remedy, invocation)}'
    return '', reason


def _format_options(values: Iterable[tuple[str, str]]) -> str:
    """Return options and their values for a shell, each with a blank before it."""
    return ''.join(f' {option} {shlex.quote(value)}' for option, value in values)


def _format_command(remedy: Remedy | None, invocation: Invocation) -> str:
    options = ''
    match remedy:
        case Advice():
            command = remedy
        case AddTrait(_, provider, trait):
            command = make_advice('trait', 'add', provider, trait)
        case HealServer(server, amounts):
            flags = ('--amounts',) if amounts else ()
            command = make_advice('allocation', 'heal', '--server', server, *flags)
            options = _format_options(invocation.heal)
        case _:
            raise AssertionError(remedy)
    return f'{command.program or invocation.program} {shlex.join(command.words)}{options}'
