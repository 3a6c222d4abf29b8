"""What others wrote reaches people as text, and programs as it is."""

from __future__ import annotations

import json

import pytest

from tests.unit.conftest import Placement, Service
from tests.unit.dialogue import RP, fault, get, provider

HOSTILE = 'a\x1b]0;title\x07b\x9b2Jc\rd'
READABLE = r'a\x1b]0;title\x07b\x9b2Jc\rd'
LIST = get('/resource_providers', {'resource_providers': [provider(name=HOSTILE)]})
SHOW = get(f'/resource_providers/{RP}', provider(name=HOSTILE))


@pytest.mark.parametrize(
    ('command', 'exchange'),
    [('resource provider list', LIST), (f'resource provider show {RP}', SHOW)],
    ids=['rows', 'fields'],
)
def test_a_table_has_nothing_that_steers(
    placement: Placement, service: Service, command: str, exchange: object
) -> None:
    service.answer(exchange)  # type: ignore[arg-type]
    printed = placement(command).stdout
    assert READABLE in printed
    assert not set(printed) & set(HOSTILE) - set(READABLE)


@pytest.mark.parametrize('format', ['json', 'yaml', 'csv', 'value'])
def test_data_stays_as_it_is(placement: Placement, service: Service, format: str) -> None:
    service.answer(LIST)
    printed = placement(f'resource provider list -c name -f {format}').stdout
    if format == 'json':
        assert json.loads(printed) == [{'name': HOSTILE}]
    elif format == 'yaml':
        assert printed == '- name: "a\\e]0;title\\ab\\x9B2Jc\\rd"\n'
    else:
        assert HOSTILE in printed


def test_an_error_has_nothing_that_steers(placement: Placement, service: Service) -> None:
    service.answer(get('/resource_providers?name=x', {'resource_providers': []}))
    said = placement('resource', 'provider', 'show', HOSTILE).stderr
    assert '\x1b' not in said
    assert r'\x1b]0;' in said


def test_a_line_of_the_log_has_nothing_that_steers(
    placement: Placement, service: Service, tmp_path: object
) -> None:
    service.answer(fault(500, 'Broken'))
    said = placement('--debug', 'resource', 'provider', 'list', '--name', HOSTILE).stderr
    assert not set(said) & {'\x1b', '\x07', '\x9b', '\r'}
    service.answer(LIST)
    assert '\x1b' not in placement('--debug resource provider list -f json').stderr
