# SPDX-License-Identifier: Apache-2.0
"""Two providers found, from any point of the way: by what was typed at its beginning."""

import pytest

from placementclient.api import resource_provider
from placementclient.basis import errors
from placementclient.client.http import Client
from placementclient.model.providers import LONGEST_NAME, Provider, make_temporary_name
from placementclient.producers.replace import Replacement, ReplaceProducer, find_pair
from tests.unit.dialogue import ROOT, RP, RP2

OLD, NEW, OTHER = RP, RP2, ROOT
TEMPORARY_NAME = make_temporary_name('host', OLD)
LONG = 'h' * LONGEST_NAME


@pytest.fixture
def find(client, monkeypatch):
    """Finds the pair in a cloud of some providers, given as names by UUID."""

    def find_in(request, names):
        def listed(_: Client, *, name=None, uuid=None):
            providers = (Provider(uuid, name, 1) for uuid, name in names.items())
            return [p for p in providers if name in (None, p.name) and uuid in (None, p.uuid)]

        monkeypatch.setattr(resource_provider, 'list', listed)
        return find_pair(client, request)

    return find_in


@pytest.mark.parametrize(
    ('request_', 'names', 'name'),
    [
        # Before the first step.
        (Replacement('host', NEW), {OLD: 'host'}, 'host'),
        (Replacement(OLD.upper(), NEW), {OLD: 'host'}, 'host'),
        (Replacement(OLD.replace('-', ''), NEW), {OLD: 'host'}, 'host'),
        # Its name is free.
        (Replacement('host', NEW), {OTHER: 'x', OLD: TEMPORARY_NAME}, 'host'),
        (Replacement(OLD, NEW), {OLD: TEMPORARY_NAME}, 'host'),
        # The new one has it.
        (Replacement('host', NEW), {NEW: 'host', OLD: TEMPORARY_NAME}, 'host'),
        (Replacement(OLD, NEW), {NEW: 'host', OLD: TEMPORARY_NAME}, 'host'),
        (Replacement('host', NEW, name='fresh'), {NEW: 'fresh', OLD: 'host'}, 'fresh'),
        # With a twin, by its name: before and after it has got another one.
        (Replacement('host', twin='twin'), {NEW: 'twin', OLD: 'host'}, 'host'),
        (Replacement('host', twin='twin'), {NEW: 'twin', OLD: TEMPORARY_NAME}, 'host'),
        (Replacement('host', twin='twin'), {NEW: 'host', OLD: TEMPORARY_NAME}, 'host'),
        (Replacement(OLD, twin='twin'), {NEW: 'host', OLD: TEMPORARY_NAME}, 'host'),
        # By the name that it was moved aside to, as an audit has it.
        (Replacement(TEMPORARY_NAME, twin=NEW), {NEW: 'host', OLD: TEMPORARY_NAME}, 'host'),
        (Replacement(OLD, NEW, name=LONG), {OLD: make_temporary_name(LONG, OLD)}, LONG),
    ],
)
def test_both_providers_of_a_replacement_are_found_at_each_step(find, request_, names, name):
    pair, finished = find(request_, names)
    assert (pair.old_uuid, pair.new_uuid, pair.name, finished) == (OLD, NEW, name, '')


@pytest.mark.parametrize(
    'request_',
    [
        Replacement('former', NEW, name='host'),
        Replacement('host', NEW),
        Replacement(OLD, NEW),
        Replacement('former', twin='host', name='host'),
    ],
)
def test_a_finished_replacement_changes_nothing(client, find, request_):
    assert find(request_, {NEW: 'host'}) == (
        None,
        f'Nothing to change: host has the UUID {NEW}, and there is no other resource provider '
        f'{request_.old}',
    )
    assert ReplaceProducer(client, None).plan().changes == ()


def test_a_provider_that_is_deleted_before_it_is_read_is_an_error(client, find):
    names = {OLD: 'host'}
    pair, _ = find(Replacement('host', NEW), names)
    del names[OLD]
    with pytest.raises(errors.NoSuchProvider, match=f'{OLD} any more, and host was not made'):
        ReplaceProducer(client, pair).plan()


@pytest.mark.parametrize(
    ('request_', 'names', 'message'),
    [
        (
            Replacement('nobody', NEW),
            {OLD: 'host'},
            "No resource provider has the name or UUID 'nobody'",
        ),
        # Somebody else's, and no sign that it has replaced anything.
        (
            Replacement('nobody', twin='twin'),
            {NEW: 'twin'},
            "No resource provider has the name or UUID 'nobody'",
        ),
        (
            Replacement('host', twin='nobody'),
            {OLD: 'host'},
            "No resource provider has the name or UUID 'nobody'. If it has replaced host already, "
            'nothing is left to do',
        ),
        (
            Replacement('host', NEW),
            {NEW: 'other', OLD: 'host'},
            f'other has the UUID {NEW} already: --with {NEW} replaces host with it',
        ),
        (Replacement(OLD, twin='host'), {OLD: 'host'}, 'host cannot replace itself'),
        (
            Replacement('host', twin='twin', name='third'),
            {NEW: 'twin', OLD: 'host'},
            f'twin is to be called third: give --with its UUID {NEW}, which stays',
        ),
        (
            Replacement(OLD, NEW),
            {OLD: make_temporary_name(LONG, OLD)},
            f'{make_temporary_name(LONG, OLD)} has been moved aside, and its name was cut: '
            'give the whole one with --name',
        ),
    ],
)
def test_names_that_do_not_fit_a_replacement_are_errors(find, request_, names, message):
    with pytest.raises(errors.PlacementError) as refused:
        find(request_, names)
    assert str(refused.value) == message
