"""Tables on a terminal of 80 columns."""

from __future__ import annotations

import pytest

from tests.unit.conftest import Placement, Service
from tests.unit.dialogue import get

UUID = '4e8e5957-649f-477b-9e5b-f1f75b21c03c'
PROVIDER = {
    'uuid': UUID,
    'name': 'compute1',
    'generation': 7,
    'root_provider_uuid': UUID,
    'parent_provider_uuid': None,
}
LIST = 'resource provider list'


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch, service: Service) -> None:
    monkeypatch.setenv('COLUMNS', '80')
    monkeypatch.setattr('sys.stdout.isatty', lambda: True)
    service.answer(get('/resource_providers', {'resource_providers': [PROVIDER]}))


def test_columns_that_have_no_room_are_left_out_and_named(placement: Placement) -> None:
    result = placement(LIST, version='1.14')
    assert result.stdout.splitlines()[1:4:2] == [
        '| uuid                                 | name     | generation |',
        f'| {UUID} | compute1 |          7 |',
    ]
    assert result.stderr == (
        'No room for root_provider_uuid, parent_provider_uuid: --wide prints all columns\n'
    )


def test_wide_prints_all_columns_and_breaks_nothing(placement: Placement) -> None:
    result = placement(f'{LIST} --wide', version='1.14')
    assert result.stdout.count(UUID) == 2
    assert result.stderr == ''


def test_chosen_columns_are_not_left_out(placement: Placement) -> None:
    result = placement(f'{LIST} -c root_provider_uuid', version='1.14')
    assert (result.stdout.count(UUID), result.stderr) == (1, '')


def test_texts_are_wrapped_between_words(
    placement: Placement, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('COLUMNS', '66')
    monkeypatch.setitem(PROVIDER, 'name', 'a host with a long name')
    result = placement(LIST, version='1.14')
    assert result.stdout.splitlines()[3:5] == [
        f'| {UUID} | a host with a |          7 |',
        '|                                      | long name     |            |',
    ]
