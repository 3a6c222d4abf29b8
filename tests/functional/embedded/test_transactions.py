# SPDX-License-Identifier: Apache-2.0
"""Requests of the embedded service as one transaction, and the reshape that is made of them."""

import subprocess
import sys
import textwrap
import threading

import pytest
import sqlalchemy
from keystoneauth1.session import Session

from placementclient.api import resource_provider, trait
from placementclient.basis.errors import ExitStatus
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.client.microversion import HIGHEST
from placementclient.embedded import Direct
from placementclient.model.outcomes import TreeState
from placementclient.reading import capture
from placementclient.runs import engines, storage
from tests.functional import clouds
from tests.functional.clouds import uuid_of
from tests.numbers import few_quick


@pytest.fixture
def tables(session):
    return Client(session, HIGHEST)


def names(client):
    return {provider.name for provider in resource_provider.list(client)}


def test_a_transaction_is_done_as_a_whole_or_not_at_all(tables):
    assert tables.transaction is not None
    with tables.transaction():
        root = resource_provider.create(tables, 'host')
        resource_provider.create(tables, 'child', parent_provider_uuid=root.uuid)
        assert names(tables) == {'host', 'child'}
    assert names(tables) == {'host', 'child'}
    with pytest.raises(ZeroDivisionError), tables.transaction():  # noqa: PT012
        resource_provider.create(tables, 'another')
        1 / 0  # noqa: B018
    assert names(tables) == {'host', 'child'}


def test_a_refused_request_rolls_the_transaction_back(tables):
    assert tables.transaction is not None
    with pytest.raises(errors.DuplicateName), tables.transaction():  # noqa: PT012
        resource_provider.create(tables, 'host')
        resource_provider.create(tables, 'host')
    with pytest.raises(errors.ServerError, match='404'), tables.transaction():  # noqa: PT012
        resource_provider.create(tables, 'host')
        with pytest.raises(errors.NotFound):
            resource_provider.delete(tables, uuid_of('nothing'))
    assert names(tables) == set()


def test_each_request_of_a_transaction_sees_those_before_it(tables):
    assert tables.transaction is not None
    with tables.transaction():
        host = resource_provider.create(tables, 'host')
        answer = trait.set_on_provider(tables, host.uuid, ['HW_CPU_X86_AVX'], host.generation)
        assert answer.generation == host.generation + 1
        assert resource_provider.show(tables, host.uuid).value.generation == answer.generation
    assert resource_provider.show(tables, host.uuid).value.generation == answer.generation


def test_a_database_that_is_gone_is_an_error_of_the_service(tables):
    """Also for what is read of the tables."""

    def fail(_connection, _cursor, statement, *_):
        raise sqlalchemy.exc.OperationalError(statement, {}, OSError('gone'))

    assert capture.capture(tables).providers == {}
    sqlalchemy.event.listen(tables.snapshot_reader._engine, 'before_cursor_execute', fail)
    with pytest.raises(errors.ServerError, match='gone'):
        tables.snapshot_reader.snapshot()


def test_policy_holds_in_a_transaction():
    with Direct(placement_roles='reader') as direct:
        client = Client(Session(auth=direct), HIGHEST)
        assert client.transaction is not None
        with pytest.raises(errors.Forbidden), client.transaction():
            resource_provider.create(client, 'host')


def test_other_threads_are_not_part_of_a_transaction(tables):
    seen: list[set[str]] = []
    assert tables.transaction is not None
    with tables.transaction():
        resource_provider.create(tables, 'host')
        other = threading.Thread(target=lambda: seen.append(names(tables)))
        other.start()
        other.join()
    assert seen == [set()]


def test_a_client_of_a_url_has_no_transaction(client):
    assert client.transaction is None
    assert client.snapshot_reader is None


def test_a_conflict_rolls_back_what_was_prepared(tables, tmp_path):
    plan = clouds.plan_of(clouds.loaded(tables, clouds.cloud()))
    with clouds.disturbed(tables, 'PUT', '/resource_providers/', _conflict):
        outcome = engines.apply(tables, plan, str(tmp_path / 'plan.journal'))
    assert [tree.state for tree in outcome.trees] == [TreeState.APPLIED]
    assert engines.verify(tables, plan) == []


def _conflict():
    raise errors.ConcurrentUpdate(409, 'somebody was first')


KILLED = """
    import os, sys
    from keystoneauth1.session import Session
    from placementclient.runs import storage
    from placementclient.embedded import Direct
    from placementclient.client.http import Client
    from placementclient.client.microversion import HIGHEST
    from placementclient.runs import engines

    database, path, run, left = sys.argv[1:]
    left, fsync = int(left), os.fsync

    def killed(descriptor):
        global left
        left -= 1
        if not left:
            os._exit(9)
        fsync(descriptor)

    client = Client(Session(auth=Direct(database)), HIGHEST)
    client.read_version_range()
    os.fsync = killed
    getattr(engines, run)(client, storage.read_plan(path), f'{path}.journal')
"""


@pytest.mark.parametrize('syncs', few_quick([1, 4], quick=1))
def test_a_plan_killed_at_any_sync_goes_on(tmp_path, local, syncs):
    path = str(tmp_path / 'plan.json')
    with Direct() as direct:
        client = Client(Session(auth=direct), HIGHEST)
        before = clouds.loaded(client, clouds.cloud(hosts=2))
        plan = clouds.plan_of(before, moved_trait=True)
    storage.write_plan(path, plan)
    database = f'sqlite:///{local}'
    for run in ('apply', 'rollback'):
        words = [sys.executable, '-c', textwrap.dedent(KILLED), database, path, run, str(syncs)]
        assert subprocess.run(words).returncode in (0, 9)
        with Direct(database) as direct:
            client = Client(Session(auth=direct), HIGHEST)
            go_on = engines.apply if run == 'apply' else engines.rollback
            outcome = go_on(client, plan, f'{path}.journal')
            assert outcome.exit_status is ExitStatus.DONE, outcome
            if run == 'apply':
                assert engines.verify(client, plan, journal_path=f'{path}.journal') == []
            else:
                assert clouds.content(clouds.captured(client)) == clouds.content(before)
