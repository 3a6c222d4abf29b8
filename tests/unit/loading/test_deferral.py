"""Commands that OpenStackClient loads when they are run."""

from __future__ import annotations

from importlib import metadata

import pytest
from stevedore import ExtensionManager

from placementclient.commands.providers.trait import ListTrait
from placementclient.loading import deferral

OURS = ('trait_list', 'placementclient.commands.providers.trait:ListTrait')
OTHERS = ('trait_count', 'somewhere.else:CountTrait')
PEERS = ('trait_list', 'osc_placement.resources.trait:ListTrait')


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[metadata.EntryPoint]:
    """The entry points that stevedore has, when ours, some package's and the peer's are there."""
    points = [metadata.EntryPoint(*names, deferral.COMMANDS) for names in (OURS, OTHERS, PEERS)]
    monkeypatch.setattr(ExtensionManager, 'ENTRY_POINT_CACHE', {deferral.COMMANDS: points})
    deferral.defer()
    return ExtensionManager.ENTRY_POINT_CACHE[deferral.COMMANDS]


def test_what_others_have_stays_and_what_the_peer_has_goes(
    found: list[metadata.EntryPoint],
) -> None:
    assert [(point.name, point.value) for point in found] == [OURS, OTHERS]
    with pytest.raises(ModuleNotFoundError):
        found[1].load()


def test_a_command_is_loaded_when_it_is_made_or_asked(found: list[metadata.EntryPoint]) -> None:
    factory = found[0].load()
    assert factory.__module__ == 'placementclient.loading.deferral'
    assert factory.auth_required is True
    assert factory.endpoint is ListTrait.endpoint
    assert type(factory(None, None)) is ListTrait


def test_what_is_not_there_is_told_then(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = metadata.EntryPoint('trait_list', 'placementclient.commands.gone:X', deferral.COMMANDS)
    monkeypatch.setattr(ExtensionManager, 'ENTRY_POINT_CACHE', {deferral.COMMANDS: [gone]})
    deferral.defer()
    (point,) = ExtensionManager.ENTRY_POINT_CACHE[deferral.COMMANDS]
    factory = point.load()
    with pytest.raises(ModuleNotFoundError, match='gone'):
        factory(None, None)
