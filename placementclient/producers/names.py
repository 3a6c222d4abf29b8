# SPDX-License-Identifier: Apache-2.0
"""Suggestions for names that Placement does not know, and UUIDs of aggregates by name."""

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Sequence

from os_resource_classes import STANDARDS

from placementclient.api import resource_class, resource_provider, trait
from placementclient.basis import wording
from placementclient.basis.errors import BadArgument, NoSuchProvider, PlacementError
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.model.catalog import COMPUTE_SERVICE
from placementclient.model.providers import is_uuid, normalize_uuid
from placementclient.nova import records, service

_NAME = re.compile(r'\b[A-Z][A-Z0-9_]\w*')
#: A name as people type it.
_WORD = re.compile(r'\b[A-Za-z]\w{2,}')
#: A name of a trait or of a class, as one with "_" in it that is no provider's.
_SYMBOL = re.compile('[A-Z][A-Z0-9]*_[A-Z0-9_]+')
#: Names that an operator can create.
_CUSTOM = re.compile('CUSTOM_[A-Z0-9_]+')


#: The refusal of a name to create, of a class with the name, of a trait without.
_INVALID_NAME = re.compile(r"('(.+)' does not match '\^CUSTOM_|^The trait is invalid)")
_IN_INVENTORY = 'inventory for resource provider .*No such resource class'
#: The refusal of a name that is not in capitals.
_SMALL_LETTERS = re.compile(
    r"'([A-Za-z0-9_]+)' does not match (?:any of the regexes: )?'\^\[A-Z0-9_\]"
)
#: The refusal of a plain name to filter traits.
_NAME_PARAMETER = re.compile(r'^Badly formatted name parameter.*Got: "(.+)"')
#: The refusal of the name of an aggregate in place of its UUID.
_NAMED_AGGREGATE = re.compile(
    r"member_of' parameter to contain valid UUID\(s\)\. Got: ([^,]+)"
    r"|^(?:aggregates\.)?\d+: '(.+)' is not a 'uuid'"
)
#: Sentences of the service that end with unknown names, what lists the names, and the command that
#: creates one.
_UNKNOWN_NAMES: tuple[tuple[str, Callable[[Client], Iterable[str]], str], ...] = (
    (r'^No such trait (?!\()', trait.list, 'placement trait create'),
    ('No such trait', trait.list, ''),
    (_IN_INVENTORY, resource_class.list, 'placement resource class create'),
    ('No such resource class', resource_class.list, ''),
    ('^No inventory of class', resource_class.list, ''),
)


def suggest_name(
    client: Client, refusal: PlacementError, typed: str = '', command_line: Sequence[str] = ()
) -> str:
    """Return the name that the operator probably meant, or how to create it; empty: no suggestion.

    It sends one request if the service does not know a name.

    :param refusal: the error that the suggestion follows
    :param typed: the name that the operator has typed, if the command has one
    :param command_line: the name of the command, and the words that follow it
    """
    try:
        if isinstance(refusal, NoSuchProvider) and refusal.name:
            return _suggest_provider(client, refusal.name, command_line)
        if isinstance(refusal, errors.BadRequest | errors.NotFound):
            return _suggest_after_service_error(client, refusal.sentence, typed)
    except PlacementError:
        pass  # The list of names was refused.
    return ''


def _suggest_provider(client: Client, name: str, command_line: Sequence[str]) -> str:
    """Return the end of an error message that suggests providers like an unknown name.

    If there are none and the name is one of a class or trait, it suggests the right word order.
    """
    providers = {p.uuid: p.name for p in resource_provider.list(client)}
    near = wording.suggest_uuids(name, providers)
    near = near or wording.suggest_similar(name, set(providers.values()))
    if near or not _is_class_or_trait_name(name):
        return near
    form = '. The provider comes first, then classes or traits'
    words = list(command_line)
    for place, word in enumerate(words):
        if name in words[:place] and not _is_class_or_trait_name(word):
            words[words.index(name)], words[place] = word, name
            return f'{form}: {words[0]} {shlex.join(words[1:])}'
    return form


def _is_class_or_trait_name(word: str) -> bool:
    return word in STANDARDS or _SYMBOL.fullmatch(word) is not None


def _suggest_after_service_error(client: Client, sentence: str, typed: str) -> str:
    """Return the end of an error message that says what was probably meant; empty if unknown.

    :param sentence: the error message of the service
    :param typed: the name that the operator has typed
    """
    if invalid := _INVALID_NAME.search(sentence):
        return describe_custom_name(invalid[2] or typed)
    if small := _SMALL_LETTERS.search(sentence):
        return f'. {wording.format_suggestion([small[1].upper()])}'
    if aggregate := _NAMED_AGGREGATE.search(sentence):
        return suggest_aggregate_show(aggregate[1] or aggregate[2])
    if form := _NAME_PARAMETER.search(sentence):
        return f'. Type: --name startswith:{shlex.quote(form[1])}'
    if 'Cannot delete standard' in sentence:
        return '. Only names that begin with CUSTOM_ can be deleted'
    for beginning, list_names, command in _UNKNOWN_NAMES:
        if match := re.search(beginning, sentence):
            named = [pattern.findall(sentence, match.end()) for pattern in (_NAME, _WORD)]
            if names := named[0] or named[1]:
                existing = set(list_names(client))
                unknown = [name for name in names if name not in existing]
                return suggest_remedy(unknown, existing, command)
    return ''


def suggest_aggregate_show(name: str) -> str:
    """Return the end of a message: the command that prints the UUID of an aggregate of Nova."""
    show = 'openstack --os-compute-api-version 2.41 aggregate show'
    return f'. The UUID of the aggregate: {show} {shlex.quote(name)} -c uuid'


def describe_custom_name(name: str) -> str:
    """Return the rule for names of custom classes and traits, and a similar name that fits."""
    near = re.sub('[^A-Z0-9_]', '_', name.upper()).removeprefix('CUSTOM_')
    rule = '. A name is CUSTOM_ and then A to Z, 0 to 9, _'
    return f'{rule}. Did you mean "CUSTOM_{near}"?' if near else rule


def suggest_remedy(unknown: Sequence[str], existing: Collection[str], command: str) -> str:
    """Return the names that were probably meant instead of unknown ones, or how to create them.

    :param command: the command that creates such a name; empty: none does
    """
    if all(name.startswith('CUSTOM_') for name in unknown):
        # The standard names that look like it are others.
        existing = [name for name in existing if name.startswith('CUSTOM_')]
    near = wording.suggest_similar(unknown, sorted(existing))
    custom = [name for name in unknown if command and name.startswith('CUSTOM_')]
    if not custom:
        return near or _suggest_other_name(unknown, existing)
    if not all(map(_CUSTOM.fullmatch, custom)):
        return f'{near}{"" if near else "."} Names are made of A to Z, 0 to 9 and _'
    commands = ', '.join(f'{command} {name}' for name in custom)
    return f'{near}{" Or" if near else ";"} make it first: {commands}'


def _suggest_other_name(unknown: Sequence[str], existing: Collection[str]) -> str:
    """Return the rule for an invalid custom name, else what :func:`_suggest_longer_name` does."""
    own = next((name for name in unknown if name.upper().startswith('CUSTOM_')), None)
    if own and not _CUSTOM.fullmatch(own):
        return describe_custom_name(own)
    return _suggest_longer_name(unknown, existing)


def _suggest_longer_name(unknown: Sequence[str], existing: Collection[str]) -> str:
    """Suggest existing names in which an unknown one is a word: ``CUSTOM_GPU`` for ``GPU``."""
    longer = (n for name in unknown for n in existing if name and f'_{name.upper()}_' in f'{n}_')
    ranked = sorted(longer, key=lambda name: (not name.startswith('CUSTOM_'), len(name), name))
    own = 'Names of your own begin with CUSTOM_'
    if all(name.startswith('CUSTOM_') for name in unknown):
        return ''
    return f'. {wording.format_suggestion(ranked[:3])} {own}' if ranked else f'. {own}'


def read_aggregate_names(client: Client) -> dict[str, str]:
    """Return the names of the host aggregates of Nova, by UUID.

    :raises service.ServiceError: if Nova does not answer
    """
    listed = records.decode_aggregates(service.aggregates(client), COMPUTE_SERVICE)
    return {aggregate.uuid: aggregate.name for aggregate in listed}


def find_aggregate_uuids(
    client: Client, names: Sequence[str], *, is_checked: bool = True
) -> list[str]:
    """Return the UUIDs of aggregates, given UUIDs or names of host aggregates of Nova.

    :param is_checked: refuse names if there is no Nova; otherwise they are returned as they are
    :raises BadArgument: if Nova has no aggregate with a name, or cannot be asked
    """
    named = [name for name in names if not is_uuid(name)]
    uuid_of: dict[str, str] = {}
    if named:
        try:
            uuid_of = {name: uuid for uuid, name in read_aggregate_names(client).items()}
        except service.ServiceError as reason:
            if isinstance(reason, service.NoCatalog) and not is_checked:
                return list(map(normalize_uuid, names))
            raise BadArgument(
                f'{named[0]!r} is not the UUID of an aggregate; its name cannot be looked up: '
                f'{reason}{suggest_aggregate_show(named[0])}'
            ) from None
    for name in named:
        if name not in uuid_of:
            near = wording.suggest_similar(name, uuid_of)
            raise BadArgument(f'Nova has no host aggregate {name!r}{near}')
    # Refusals and explanations have the name beside the UUID.
    client.names |= {uuid_of[name]: name for name in named}
    return [uuid_of.get(name) or normalize_uuid(name) for name in names]
