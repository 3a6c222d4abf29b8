"""Tables on a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.unit.conftest import Placement, Result, Service
from tests.unit.dialogue import get

UUID = '4e8e5957-649f-477b-9e5b-f1f75b21c03c'
PROVIDER = {'uuid': UUID, 'generation': 7, 'root_provider_uuid': UUID, 'parent_provider_uuid': None}

Listed = Callable[..., Result]


@pytest.fixture
def listed(placement: Placement, service: Service, monkeypatch: pytest.MonkeyPatch) -> Listed:
    """Lists a provider on a terminal: ``listed('--wide')``."""

    def run(options: str = '', name: str = 'compute1') -> Result:
        service.answer(
            get('/resource_providers', {'resource_providers': [PROVIDER | {'name': name}]})
        )
        monkeypatch.setenv('COLUMNS', '80')
        monkeypatch.setattr('sys.stdout.isatty', lambda: True)
        return placement(f'resource provider list {options}', version='1.14')

    return run


def test_columns_that_have_no_room_are_left_out_and_named(listed: Listed) -> None:
    result = listed()
    assert result.stdout.splitlines()[1:4:2] == [
        '| uuid                                 | name     | generation |',
        f'| {UUID} | compute1 |          7 |',
    ]
    assert result.stderr == (
        'No room for root_provider_uuid, parent_provider_uuid: --wide prints all columns\n'
    )


def test_wide_prints_all_columns_and_breaks_nothing(listed: Listed) -> None:
    result = listed('--wide')
    assert result.stdout.count(UUID) == 2
    assert result.stderr == ''


def test_chosen_columns_are_not_left_out(listed: Listed) -> None:
    result = listed('-c root_provider_uuid')
    assert (result.stdout.count(UUID), result.stderr) == (1, '')


def test_texts_are_wrapped_between_words(listed: Listed) -> None:
    result = listed(name='one host with a name of many words')
    assert result.stdout.splitlines()[3:5] == [
        f'| {UUID} | one host with a name of |          7 |',
        '|                                      | many words              |            |',
    ]
