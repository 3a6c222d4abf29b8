# SPDX-License-Identifier: Apache-2.0
"""Lists of servers that are joined: the latest record of a server counts."""

from itertools import permutations

import pytest

from placementclient.model.servers import Server, join_servers, normalize_time

EARLY, LATE = '2026-11-02T08:00:00Z', '2026-11-02T09:00:00.000000'


def server(status, updated):
    return Server('s', status=status, updated=updated)


@pytest.mark.parametrize(
    ('records', 'is_deleted'),
    [
        ([server('DELETED', None)], True),
        ([server('DELETED', LATE), server('ACTIVE', EARLY)], True),
        ([server('DELETED', EARLY), server('ACTIVE', LATE)], False),
        ([server('DELETED', LATE), server('ACTIVE', LATE)], False),
        ([server('DELETED', LATE), server('ACTIVE', None)], False),
        ([server('DELETED', None), server('ACTIVE', EARLY)], False),
        ([server('DELETED', LATE), server('DELETED', None), server('ACTIVE', EARLY)], True),
        ([server('DELETED', LATE), server('ERROR', 'yesterday')], False),
    ],
)
def test_a_server_exists_unless_its_latest_record_is_that_of_its_deletion(records, is_deleted):
    for ordered in permutations(records):
        [joined] = join_servers({'s': record} for record in ordered).values()
        assert joined.is_deleted == is_deleted


@pytest.mark.parametrize(
    ('status', 'vm_state', 'is_deleted'),
    [
        ('DELETED', None, True),
        ('DELETED', 'deleted', True),
        (None, 'deleted', True),
        (None, None, False),
        ('SOFT_DELETED', 'soft-delete', False),
        ('ERROR', 'deleted', False),
        ('DELETED', 'error', False),
        ('UNKNOWN', None, False),
    ],
)
def test_only_the_status_deleted_proves_that_a_server_is_deleted(status, vm_state, is_deleted):
    assert Server('s', status=status, vm_state=vm_state).is_deleted == is_deleted


@pytest.mark.parametrize(
    ('text', 'second'),
    [
        (EARLY, '2026-11-02T08:00:00'),
        (LATE, '2026-11-02T09:00:00'),
        ('2026-11-02 09:00:00+00:00', '2026-11-02T09:00:00'),
        ('2026-11-02T09:00:00+01:00', None),
        ('yesterday', None),
        ('', None),
        (None, None),
    ],
)
def test_times_are_compared_in_seconds_of_utc(text, second):
    assert normalize_time(text) == second


def test_a_list_of_deleted_servers_is_no_proof_that_others_of_its_servers_exist():
    """Nova leaves BUILD, ERROR and SOFT_DELETED on some that are gone."""
    left = {name: Server(name, status=name) for name in ('BUILD', 'ERROR', 'SOFT_DELETED')}
    deleted = {'d': Server('d', status='DELETED')}
    assert join_servers([deleted | left]) == deleted
    assert join_servers([deleted, left]) == deleted | left
    living = {'a': Server('a', status='ACTIVE')}
    assert join_servers([deleted | left | living]) == deleted | left | living
