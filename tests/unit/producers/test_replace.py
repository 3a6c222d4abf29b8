"""Two providers found, from any point of the way: by what was typed at its beginning."""

import pytest

from placementclient.client import errors
from placementclient.model.aside import LONGEST_NAME, aside
from placementclient.producers.replace import Replacement, Replacing
from tests.unit.dialogue import ROOT, RP, RP2, get, provider

OLD, NEW, OTHER = RP, RP2, ROOT
ASIDE = aside('host', OLD)
LONG = 'h' * LONGEST_NAME


def listing(query, **found):
    """A list of providers, by their names.

    :param found: the name of each, by the name of its UUID here
    """
    uuids = {'old': OLD, 'new': NEW, 'other': OTHER}
    records = [provider(uuids[key], name) for key, name in found.items()]
    return get(f'/resource_providers{query}', {'resource_providers': records})


def by_uuid(uuid, **found):
    return listing(f'?uuid={uuid}', **found)


def by_name(name, **found):
    return listing(f'?name={name}', **found)


@pytest.mark.parametrize(
    ('request_', 'exchanges', 'name'),
    [
        # Before the first step.
        (
            Replacement('host', NEW),
            [by_uuid(NEW), by_name('host', old='host')],
            'host',
        ),
        # Its name is free.
        (
            Replacement('host', NEW),
            [by_uuid(NEW), by_name('host'), listing('', other='x', old=ASIDE)],
            'host',
        ),
        (Replacement(OLD, NEW), [by_uuid(NEW), by_uuid(OLD, old=ASIDE)], 'host'),
        (Replacement(OLD.upper(), NEW), [by_uuid(NEW), by_uuid(OLD, old='host')], 'host'),
        # The new one has it.
        (
            Replacement('host', NEW),
            [by_uuid(NEW, new='host'), by_name('host', new='host'), listing('', old=ASIDE)],
            'host',
        ),
        (Replacement(OLD, NEW), [by_uuid(NEW, new='host'), by_uuid(OLD, old=ASIDE)], 'host'),
        (
            Replacement('host', NEW, name='fresh'),
            [by_uuid(NEW, new='fresh'), by_name('host', old='host')],
            'fresh',
        ),
        # With a twin, by its name: before and after it has got another one.
        (
            Replacement('host', twin='twin'),
            [by_name('twin', new='twin'), by_name('host', old='host')],
            'host',
        ),
        (
            Replacement('host', twin='twin'),
            [by_name('twin', new='twin'), by_name('host'), listing('', new='twin', old=ASIDE)],
            'host',
        ),
        (
            Replacement('host', twin='twin'),
            [
                by_name('twin'),
                by_name('host', new='host'),
                listing('', new='host', old=ASIDE),
                by_name('host', new='host'),
            ],
            'host',
        ),
        (
            Replacement(OLD, twin='twin'),
            [by_name('twin'), by_uuid(OLD, old=ASIDE), by_name('host', new='host')],
            'host',
        ),
        # By the name that it was moved aside to, as an audit has it.
        (
            Replacement(ASIDE, twin=NEW),
            [by_uuid(NEW, new='host'), by_name(ASIDE, old=ASIDE)],
            'host',
        ),
        (
            Replacement(OLD, NEW, name=LONG),
            [by_uuid(NEW), by_uuid(OLD, old=aside(LONG, OLD))],
            LONG,
        ),
    ],
)
def test_the_two_are_found(client, service, request_, exchanges, name):
    service.answer(*exchanges)
    found = Replacing(client, request_)
    assert [sent.line for sent in service.requests] == [each.line for each in exchanges]
    assert (found.old_uuid, found.new_uuid, found.name, found.finished) == (OLD, NEW, name, '')


@pytest.mark.parametrize(
    ('request_', 'exchanges'),
    [
        (
            Replacement('host', NEW),
            [by_uuid(NEW, new='host'), by_name('host', new='host'), listing('', new='host')],
        ),
        (Replacement(OLD, NEW), [by_uuid(NEW, new='host'), by_uuid(OLD)]),
        (
            Replacement('former', twin='host', name='host'),
            [by_name('host', new='host'), by_name('former'), listing('', new='host')],
        ),
    ],
)
def test_nothing_is_left_to_do(client, service, request_, exchanges):
    service.answer(*exchanges, by_uuid(NEW, new='host'))
    found = Replacing(client, request_)
    assert found.finished == (
        f'Nothing to change: host has the UUID {NEW}, and there is no other resource provider '
        f'{request_.old}'
    )
    assert found.plan().trees == ()


def test_the_old_one_is_deleted_before_it_is_read(client, service):
    service.answer(by_uuid(NEW), by_name('host', old='host'), by_uuid(OLD), by_uuid(NEW))
    found = Replacing(client, Replacement('host', NEW))
    with pytest.raises(errors.NoSuchProvider, match=f'{OLD} any more, and host was not made'):
        found.plan()


@pytest.mark.parametrize(
    ('request_', 'exchanges', 'said'),
    [
        (
            Replacement('nobody', NEW),
            [by_uuid(NEW), by_name('nobody'), listing('', old='host')],
            "No resource provider has the name or UUID 'nobody'",
        ),
        # Somebody else's, and no sign that it has replaced anything.
        (
            Replacement('nobody', twin='twin'),
            [by_name('twin', new='twin'), by_name('nobody'), listing('', new='twin')],
            "No resource provider has the name or UUID 'nobody'",
        ),
        (
            Replacement('host', twin='nobody'),
            [by_name('nobody'), by_name('host', old='host'), listing('', old='host')],
            "No resource provider has the name or UUID 'nobody'. If it has replaced host already, "
            'nothing is left to do',
        ),
        (
            Replacement('host', NEW),
            [by_uuid(NEW, new='other'), by_name('host', old='host')],
            f'other has the UUID {NEW} already: --with {NEW} replaces host with it',
        ),
        (
            Replacement(OLD, twin='host'),
            [by_name('host', old='host'), by_uuid(OLD, old='host')],
            'host cannot replace itself',
        ),
        (
            Replacement('host', twin='twin', name='third'),
            [by_name('twin', new='twin'), by_name('host', old='host')],
            f'twin is to be called third: give --with its UUID {NEW}, which stays',
        ),
        (
            Replacement(OLD, NEW),
            [by_uuid(NEW), by_uuid(OLD, old=aside(LONG, OLD))],
            f'{aside(LONG, OLD)} has been moved aside, and its name was cut: give the whole one '
            'with --name',
        ),
    ],
)
def test_what_is_not_what_was_typed(client, service, request_, exchanges, said):
    service.answer(*exchanges)
    with pytest.raises(errors.PlacementError) as refused:
        Replacing(client, request_)
    assert str(refused.value) == said
    assert [sent.line for sent in service.requests] == [each.line for each in exchanges]
