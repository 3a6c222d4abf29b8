# SPDX-License-Identifier: Apache-2.0
"""Hints that follow the error of a command: what may be wrong, and names that exist."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from placementclient.basis.errors import DatabaseError, NoSuchProvider, PlacementError
from placementclient.client import errors
from placementclient.model.providers import is_uuid

if TYPE_CHECKING:
    from placementclient.client.http import Client

_FOREIGN = errors.ForeignAnswer | errors.InvalidAnswer
#: The errors whose reason may be a wrong URL.
_OF_URL = errors.NotSent | errors.AuthenticationFailed | _FOREIGN
#: The errors whose reason may be a wrong name.
_OF_NAME = errors.BadRequest | errors.NotFound | NoSuchProvider

_PART_OF_UUID = re.compile('[0-9a-fA-F-]+')
#: The refusal of the name or UUID of another provider.
_TAKEN = re.compile(r'^Conflicting resource provider (?:name: |uuid: )?(.+) already exists')


class ErrorHints:
    """The hints after the errors of a run; each unknown name is looked up once."""

    def __init__(self) -> None:
        #: The suggestions by the wrong name, or by the sentence of Placement.
        self._suggestions: dict[str | None, str] = {}

    def find_hint(
        self,
        failure: PlacementError,
        client: Client | None,
        args: argparse.Namespace,
        command_line: Sequence[str],
    ) -> str:
        """Return a hint to follow an error, or an empty text: the origin of a URL, similar names.

        :param client: the client, if the command has used it
        :param args: the options of the command
        :param command_line: the name of the command, and the words that follow it
        """
        if isinstance(failure, _OF_URL) and failure.url:
            return _describe_url_source(failure.url, is_named=not isinstance(failure, _FOREIGN))
        if isinstance(failure, DatabaseError):
            return f'. The URL is from {_find_database_source(sys.argv, os.environ)}'
        consumer = vars(args).get('consumer')
        if consumer and consumer in str(failure) and (near := suggest_whole_uuid(consumer)):
            return near
        if not failure.next_steps and (taken := _TAKEN.search(str(failure))):
            show = f'placement resource provider show {shlex.quote(taken[1])}'
            return f'\nNext: See it: {show}'
        if client is None or not isinstance(failure, _OF_NAME):
            # Errors without the service, such as those of a snapshot, have their own suggestions.
            return ''
        from placementclient.producers import names

        key = failure.name if isinstance(failure, NoSuchProvider) else failure.sentence
        if key not in self._suggestions:
            typed = vars(args).get('name') or ''
            self._suggestions[key] = names.suggest_name(client, failure, typed, command_line)
        return self._suggestions[key]


def _describe_url_source(url: str, *, is_named: bool) -> str:
    """Return the end of an error: the option or variable with a URL, and the scheme it lacks.

    :param is_named: whether the error names the URL already
    """
    from placementclient.client import unreachable

    source = unreachable.describe_url_source(url, sys.argv, os.environ)
    if not unreachable.has_scheme(url):
        bare = os.environ.get(source) or f'{url.partition("/")[0]}/…'
        return f'. The URL is from {source}: type http://{bare.rpartition("@")[2]}'
    if is_named:
        return f'. Check that the service runs there; the URL is from {source}'
    return f'. The URL {url.partition("?")[0]} is from {source}'


def _find_database_source(argv: Iterable[str], variables: Mapping[str, str]) -> str:
    """Return the option, the variable or the file with the database of the embedded Placement."""
    given = {word.partition('=')[0] for word in argv} | {n for n in variables if variables[n]}
    names = (
        name
        for option in ('database', 'conf')
        for name in (f'--os-placement-{option}', f'OS_PLACEMENT_{option.upper()}')
    )
    return next((name for name in names if name in given), 'clouds.yaml')


def is_part_of_uuid(text: str) -> bool:
    """Return whether a text looks like a part of a UUID: hexadecimal digits, but too few."""
    return not is_uuid(text) and _PART_OF_UUID.fullmatch(text) is not None


def suggest_whole_uuid(consumer: str) -> str:
    """Return a hint if a consumer is not given by its whole UUID; else an empty text."""
    if is_uuid(consumer):
        return ''
    if is_part_of_uuid(consumer):
        uuids = 'placement resource usage list --by consumer -f value -c subject | sort -u'
        return f'. {consumer} is not a whole UUID. Look for it: {uuids} | grep ^{consumer.lower()}'
    show = f'openstack server show {shlex.quote(consumer)} -f value -c id'
    return f'. {consumer} is no UUID, and consumers have no names. The UUID of a server: {show}'
