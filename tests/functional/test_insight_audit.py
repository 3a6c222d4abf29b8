# SPDX-License-Identifier: Apache-2.0
"""The audit of a real Placement in which there is one fault of each kind."""

import json
import re
import shlex
from collections import Counter
from uuid import uuid4

import pytest
from keystoneauth1.session import Session

from placementclient.api import (
    allocation,
    inventory,
    resource_provider,
    trait,
)
from placementclient.client import http, microversion
from placementclient.embedded import Direct
from placementclient.insight.audit.checks import CHECKS
from placementclient.model.consumers import Consumer
from placementclient.nova import service
from placementclient.render.evidence import describe_evidence, list_evidence_sentences
from tests.functional import clouds, planted_services
from tests.functional.audited import SAFE, build, by_id, subjects
from tests.functional.clouds import content, disturbed, uuid_of
from tests.functional.planted import SERVER
from tests.numbers import few_quick

#: A thousand are in benchmarks/audit_scale.py: reading them takes minutes on a slow machine.
HOSTS = 200
#: What takes lists to tell apart, and the check that finds it without them.
AMBIGUOUS = {
    **dict.fromkeys(
        ('doubled', 'held-elsewhere', 'left-by-evacuation', 'in-migration'), 'on-several-trees'
    ),
    'twin': 'doubled-host',
}
#: What takes them to be found at all.
UNHEARD = {
    'orphan', 'left-by-migration', 'left-by-shelving', 'without-allocations', 'foreign-owner',
    'wrong-host', 'wrong-amount', 'disabled-mismatch', 'inventory-drift', 'flavor-unplaceable',
    'limit-missing', 'ironic-node', 'port-resources', 'renamed', 'agent-bandwidth', 'agent-gone',
    'segment-addresses', 'provider-without-host', 'host-without-provider', 'class-without-flavor',
    'trait-mismatch',
}  # fmt: skip
#: One is on a host with usage that no consumer answers for.
HIDDEN = 'its host has usage without a consumer'


@pytest.fixture(scope='module')
def large(tmp_path_factory):
    """A large cloud, of which the tests only read the files."""
    with Direct.scratch() as service:
        client = http.Client(Session(auth=service), microversion.HIGHEST)
        return build(client, HOSTS, tmp_path_factory.mktemp('cloud'))


@pytest.fixture
def small(client, tmp_path):
    """A small cloud, to fix."""
    return build(client, 10, tmp_path)


def test_audit_finds_each_planted_error_once_and_nothing_else(large, placement):
    result = large.audit(placement, *large.files)
    assert subjects(result) == Counter(large.cloud.expected)
    skipped, ending = result.stderr.splitlines()
    assert skipped.startswith('1 server was not judged: ')
    assert f' ({HIDDEN}). Take a new snapshot and new lists' in skipped
    assert (result.status, ending) == (3, 'Problems found; nothing was fixed (exit 3)')
    assert {id for id, _ in large.cloud.expected} == (
        {check.id for check in CHECKS} - {'on-several-trees'}
    )
    wrong = [id for id, _ in large.cloud.expected if id != 'consumer-untyped']
    assert len(wrong) >= 30
    for row in json.loads(result.stdout):
        assert bool(row['command']) != bool(row['reason']), row
        assert '<' not in row['command']


def test_each_planted_error_is_told_as_a_sentence_with_all_of_its_facts(large, placement):
    for row in json.loads(large.audit(placement, *large.files).stdout):
        templates = ' '.join(list_evidence_sentences(row['id']))
        told = {key for key in row['evidence'] if re.search(rf'{{{key}[.:}}]', templates)}
        assert {key for key, value in row['evidence'].items() if value is not None} <= told
        assert re.fullmatch(
            r'([A-Z]|nova-compute)[^{}]*[.?]', describe_evidence(row['id'], row['evidence'])
        )


def test_class_list_counts_burned_devices(large, placement):
    command = ('resource', 'class', 'list', '--long', '--snapshot', large.snapshot, '-f', 'json')
    burned = {row['name']: row['burned'] for row in json.loads(placement(*command).stdout)}
    assert (burned.pop(planted_services.DEVICE), {*burned.values()}) == (1, {0})


def test_audit_without_lists_names_consumers_on_several_trees_without_a_verdict(large, placement):
    result = large.audit(placement, '--snapshot', large.snapshot)
    expected = {
        (AMBIGUOUS.get(id, id), subject)
        for id, subject in large.cloud.expected
        if id not in UNHEARD
    }
    assert subjects(result) == Counter(expected)


def test_fix_corrects_what_is_safe_and_leaves_the_rest(small, placement):
    before = clouds.captured(small.client)
    result = small.audit(placement, *small.files, '--fix', '--yes')
    rows = by_id(result)
    assert {id: row['fix'] for id, row in rows.items()} == {
        id: 'done' if id in SAFE else 'left to you' for id, _ in small.cloud.expected
    }
    fixed = sum(row['fix'] == 'done' for row in json.loads(result.stdout))
    ending = f'{fixed} fixed; other problems were not fixed (exit 6)'
    assert (result.status, ending in result.stderr.splitlines()) == (6, True)
    left = small.audit(placement, *small.lists)
    assert subjects(left) == Counter(item for item in small.cloud.expected if item[0] not in SAFE)
    after = clouds.captured(small.client)
    changed = {
        uuid for uuid, consumer in before.consumers.items() if after.consumers.get(uuid) != consumer
    }
    freed = ('gone', 'both', 'evacuated', 'shelved', 'moved away')
    assert changed == set(map(uuid_of, freed))
    assert after.consumers[uuid_of('both')].allocations == {uuid_of('left'): SERVER}
    assert after.consumers[uuid_of('evacuated')].allocations == {uuid_of('target'): SERVER}
    assert trait.list_of_provider(small.client, uuid_of('owner_gpu')).value == ['OWNER_NOVA']
    memory = inventory.show(small.client, uuid_of('withheld'), 'MEMORY_MB').value
    assert (memory.reserved, memory.total) == (1024, 1024)


def test_a_dry_run_prints_the_changes_of_the_fixes_and_nothing_is_fixed_without_a_yes(
    small, placement
):
    before = clouds.captured(small.client)
    refused = small.audit(placement, *small.files, '--fix')
    assert refused.status == 2
    assert f'- consumer {uuid_of("gone")} allocations' in refused.stderr
    assert 'This is not a terminal: use --yes to confirm' in refused.stderr
    result = small.audit(placement, *small.files, '--dry-run')
    assert result.status == 3
    rows = {(row['object'], row['change']): row for row in json.loads(result.stdout)}
    assert all(row['state'] == 'planned' for row in rows.values())
    gone = rows[f'consumer {uuid_of("gone")}', 'allocations']
    assert (list(gone['before'].values()), gone['after']) == ([SERVER], None)
    assert rows['withheld', 'MEMORY_MB:reserved']['after'] == 1024
    assert rows['owner_gpu', 'traits']['after'] == ['OWNER_NOVA']
    assert result.stderr.splitlines()[-1] == (
        '3 providers to change; 5 allocations to free (exit 3)'
    )
    assert content(clouds.captured(small.client)) == content(before)
    assert small.audit(placement, *small.files, '--fix', '--dry-run') == result
    both = small.audit(placement, *small.files, '--dry-run', '--plan', 'plan.json')
    assert (both.status, both.stdout) == (2, '')
    one = placement('resource', 'provider', 'audit', '-f', 'text', *small.files, '--dry-run')
    assert '+ owner_gpu traits OWNER_NOVA\n' in one.stdout
    small.audit(placement, *small.files, '--fix', '--yes')
    again = small.audit(placement, *small.lists, '--dry-run')
    assert (again.status, json.loads(again.stdout)) == (0, [])


@pytest.mark.parametrize('count', few_quick([3, 0, 12], quick=1))
def test_audit_frees_nobody_whom_a_list_lacks(small, placement, tmp_path, count):
    """As one of a single project, or one page of it: by each printed command, or by --fix."""
    living = [s for s in small.cloud.lists['servers'] if s.get('Status') != 'DELETED']
    listed = json.dumps(living[:count])
    (small.folder / 'servers.json').write_text(listed)
    known = {record['ID'] for record in living[:count]}

    def lacked():
        consumers = clouds.captured(small.client).consumers
        return {uuid: consumer for uuid, consumer in consumers.items() if uuid not in known}

    before = lacked()
    rows = json.loads(small.audit(placement, *small.files).stdout)
    assert {row['command'] for row in rows if row['id'] == 'orphan'} == {''}
    lines = tmp_path / 'lines.txt'
    lines.write_text('\n'.join(row['command'] for row in rows if row['id'] in SAFE))
    assert placement('batch', '--keep-going', str(lines)).status == 0
    small.audit(placement, *small.files, '--fix', '--yes')
    assert lacked() == before


def test_a_printed_command_does_what_fix_does(small, placement):
    rows = [
        row for row in json.loads(small.audit(placement, *small.files).stdout)
        if row['id'] in SAFE
    ]  # fmt: skip
    assert {row['id'] for row in rows} == SAFE
    for row in rows:
        _, *argv = shlex.split(row['command'])
        result = placement(*argv)
        ended = result.stderr.splitlines()[-1] if '--fix' in argv else '1 fixed'
        assert (result.status, ended) == (0, '1 fixed'), row
    left = small.audit(placement, *small.lists)
    assert subjects(left) == Counter(item for item in small.cloud.expected if item[0] not in SAFE)


def test_a_printed_command_checks_its_finding_again(small, placement):
    """The consumer that it is about has changed since, or the server has come back."""
    rows = {row['id']: row for row in json.loads(small.audit(placement, *small.files).stdout)}
    consumer = allocation.show(small.client, uuid_of('gone')).value
    allocation.set(small.client, consumer)
    _, *argv = shlex.split(rows['orphan']['command'])
    assert 'changed since' in placement(*argv).stdout
    assert allocation.show(small.client, uuid_of('gone')).value.allocations
    back = {'ID': uuid_of('gone'), 'Name': 'back', 'Host': 'left', 'Properties': {}}
    listed = [s for s in small.cloud.lists['servers'] if s.get('ID') != back['ID']]
    (small.folder / 'servers.json').write_text(json.dumps([*listed, back]))
    assert placement(*argv).status == 0
    assert allocation.show(small.client, uuid_of('gone')).value.allocations


def claim(client, host):
    """Let a new server hold something; return its UUID."""
    uuid = str(uuid4())
    consumer = Consumer(uuid, {host: {'VCPU': 1}}, uuid_of('p'), uuid_of('u'), None, 'INSTANCE')
    allocation.set(client, consumer)
    return uuid


class Nova:
    """A compute service: with each list of servers that it gives, one is deleted and one made."""

    def __init__(self, client, host):
        self._client, self._host = client, host
        self.alive = [claim(client, host) for _ in range(8)]

    def servers(self, client):
        deleted = self.alive.pop(0)
        listed = [{'ID': uuid, 'Name': uuid, 'Host': 'busy'} for uuid in self.alive]
        # Nova deletes the record of a server first, and then what it holds.
        allocation.delete(self._client, deleted)
        self.alive.append(claim(self._client, self._host))
        return listed


def test_audit_ignores_servers_that_come_and_go_meanwhile(client, placement, monkeypatch):
    host = resource_provider.create(client, 'busy').uuid
    inventory.set_all(client, host, {'VCPU': {'total': 64}}, 0)
    nova = Nova(client, host)
    monkeypatch.setattr(service, 'servers', nova.servers)
    monkeypatch.setattr(service, 'migrations', lambda client: [])
    monkeypatch.setattr(service, 'compute_services', lambda client: [])
    command = 'resource provider audit -f json --id orphan --id doubled'

    clean = placement(command)
    leaked = claim(client, host)
    result = placement(command)

    assert (clean.status, clean.stdout) == (0, '[]\n')
    assert [row['subject'] for row in json.loads(result.stdout)] == [leaked]
    assert (result.status, json.loads(result.stdout)[0]['command'][-5:]) == (3, '--yes')


def test_ctrl_c_reports_the_repairs_that_were_made(small, placement):
    def interrupted():
        raise KeyboardInterrupt

    with disturbed(small.client, 'PUT', '/traits', interrupted):
        result = small.audit(placement, *small.files, '--fix', '--yes')
    ends = [row['fix'] for row in json.loads(result.stdout) if row['id'] in SAFE]
    assert result.status == 130
    assert set(ends) == {'done', 'failed: Interrupted', 'not started'}


def test_fix_leaves_a_consumer_that_changes_while_others_are_fixed(small, placement):
    uuid = uuid_of('gone')

    def touch():
        allocation.set(small.client, allocation.show(small.client, uuid).value)

    with disturbed(small.client, 'POST', '/allocations', touch):
        result = small.audit(placement, *small.files, '--fix', '--yes')
    assert 'Run the audit again; if you gave files, with a new snapshot' in result.stderr
    rows = by_id(result)
    assert rows['orphan']['fix'] == (
        f'failed: Others have changed left in the meantime: consumer {uuid}: it has changed since '
        'it was checked. Run the command again'
    )
    assert allocation.show(small.client, uuid).value.allocations
    assert {rows[id]['fix'] for id in SAFE - {'orphan'}} == {'done'}
