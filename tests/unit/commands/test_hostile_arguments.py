# SPDX-License-Identifier: Apache-2.0
"""No argument leads a command to another URL than its endpoint's."""

import re
from urllib.parse import unquote, urlsplit

import pytest

from placementclient.client import endpoints
from tests.unit.commands.arguments import ARGUMENTS, PARTS
from tests.unit.dialogue import URL, provider

HOSTILE = ['', 'a\nb', 'a\0b', 'a b', '\uff0f', '\u202e', '\udcff', 'x' * 5_000]
HOSTILE += [
    '.', '..', '/', 'a/b', '../../x', '/traits', '%2e%2e', '%2F', '..%2F..', '?x=1', '#frag',
    'a;b', 'é', '-x', '--help', '--', '*',
]  # fmt: skip
HOSTILE += ['{provider}', '%s', '\\..\\', 'http://evil.test/', '@evil.test']

PLACES = [
    (command, field)
    for command, arguments in ARGUMENTS.items()
    for field in re.findall(r'{(\w+)}', arguments)
]


def everything(name):
    """An answer to whatever is asked; one provider has the name."""
    return {
        **provider(name=name),
        'resource_providers': [provider(name=name)],
        'resource_provider_generation': 7,
        'total': 1,
        'project_id': 'p',
        'user_id': 'u',
        'traits': [],
        'aggregates': [],
        'inventories': {},
        'usages': {},
        'allocations': {},
    }


def reached(url, method):
    """The parts that a server sees, which decodes a path before it looks for the route."""
    path = unquote(urlsplit(url).path.removeprefix('/placement'))
    matches = []
    for row in endpoints.ALL:
        route = re.sub(r'{(\w+)}', r'(?P<\1>[^/]+)', row.template)
        match = re.fullmatch(route, path, re.DOTALL)
        if match and row.method == method:
            matches.append(match.groupdict())
    return matches


@pytest.mark.parametrize(('command', 'field'), PLACES)
def test_a_hostile_argument_is_refused_or_reaches_its_own_place(placement, service, command, field):
    for hostile in HOSTILE:
        service.always(everything(hostile))
        parts = PARTS | {field: hostile}
        arguments = [argument.format_map(parts) for argument in ARGUMENTS[command].split()]
        result = placement(*command.split(), *arguments, version='1.39')
        assert 'Traceback' not in result.stderr
        for request in service.history:
            assert request.url.startswith(f'{URL}/')
            assert '#' not in request.url
            [parts_seen] = reached(request.url, request.method)
            assert set(parts_seen.values()) <= {*PARTS.values(), hostile}
            assert '..' not in parts_seen.values()
        if result.status:
            # What was refused has changed nothing.
            assert {request.method for request in service.history} <= {'GET'}


@pytest.mark.parametrize('name', ['', '..', 'a/b', '?x=1&name=y', 'a&b', '%00', 'é'])
def test_a_provider_of_any_name_is_found_by_the_query_alone(placement, service, name):
    service.always(everything(name))
    assert placement('resource', 'provider', 'delete', name).status == 0
    search, deletion = service.requests
    assert search.line == f'GET /resource_providers?name={name}'
    assert deletion.line == f'DELETE /resource_providers/{PARTS["provider"]}'
