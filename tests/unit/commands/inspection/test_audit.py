# SPDX-License-Identifier: Apache-2.0
"""``resource provider audit``: what it is told, what it prints, how it ends."""

import json
import os
import threading

import pytest
import requests
from msgspec.structs import replace

from placementclient.insight.audit.checks import CHECKS
from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import Origin
from placementclient.nova import service as compute
from tests.programs import Result
from tests.unit.commands.clouds import save, small
from tests.unit.insight.clouds import cloud, consumer, provider

#: The last line.
WRONG = 'Problems found; nothing was fixed (exit 3)\n'
#: Printed where servers and migrations are all that is known, or nothing is.
LEFT_OUT = (
    '15 checks were left out (-v names them). Missing: --ports, --agents, --subnets, '
    '--hypervisors, --services, --nodes, --flavors, --limits\n'
)
ALL_LEFT_OUT = LEFT_OUT.replace('15', '26').replace('--ports', '--servers, --migrations, --ports')
SERVERS = [{'ID': 's', 'Name': 'web', 'Host': 'host1', 'Properties': {'a': 'b'}}]
DELETED = [SERVERS[0] | {'Status': 'DELETED'}]


@pytest.fixture
def audit(placement, tmp_path):
    """Audit a saved cloud, with lists by the names of their options."""

    def run(options='-f json', live=None, **lists):
        file = save(tmp_path, 'cloud.json', live or small())
        paths = {name: save(tmp_path, f'{name}.json', records) for name, records in lists.items()}
        sources = ''.join(f' --{name} {path}' for name, path in paths.items())
        return placement(f'resource provider audit --snapshot {file}{sources} {options}')

    return run


def rows(result):
    return json.loads(result.stdout)


def test_audit_names_left_out_checks_with_v(audit):
    result = audit('-f json -v', servers=SERVERS, migrations=[])
    first, *groups, last = result.stderr.splitlines(keepends=True)
    flavors = '. The list of servers has no flavors with extra specs: GET /servers/detail has them'
    assert (first, last) == (LEFT_OUT.replace('\n', f'{flavors}\n'), WRONG)
    assert [group.strip() for group in groups] == [
        'class-without-flavor, port-resources (--ports)',
        'trait-mismatch (the list of servers has no flavors with extra specs: GET /servers/detail '
        'has them)',
        'agent-bandwidth, agent-gone (--agents)', 'segment-addresses (--subnets)',
        'twin, renamed, inventory-drift (--hypervisors)',
        'provider-without-host, host-without-provider (--hypervisors and --services)',
        'disabled-mismatch (--services)', 'ironic-node (--nodes)', 'flavor-unplaceable (--flavors)',
        'limit-missing (--limits)',
    ]  # fmt: skip


#: A server of the API, with its flavor and its image.
DETAILED = {
    'id': 'new', 'tenant_id': 'p', 'user_id': 'u', 'image': {'id': 'i'},
    'updated': '2026-11-02T09:00:00Z',
    'flavor': {'original_name': 'm', 'vcpus': 1, 'ram': 0, 'disk': 0, 'extra_specs': {}},
    'OS-EXT-SRV-ATTR:hypervisor_hostname': 'host1', 'OS-EXT-STS:task_state': None,
    'OS-EXT-STS:vm_state': 'active',
}  # fmt: skip
GOLD = {'id': 'i', 'disk_format': 'raw', 'trait:CUSTOM_GOLD': 'required'}


def test_audit_compares_servers_with_the_images_of_a_file(audit):
    live = cloud([provider('host1', VCPU=8)], [consumer('new', host1={'VCPU': 1})])
    result = audit('--id trait-mismatch -f json', live, servers=[DETAILED], images=[GOLD])
    assert [row['evidence'] for row in rows(result)] == [
        {'flavor': 'm', 'host': 'host1', 'lacks': ['CUSTOM_GOLD']}
    ]


def test_images_that_cannot_be_used_are_named_with_the_exit_status(audit):
    result = audit('--images glance --id trait-mismatch', servers=[DETAILED | {'id': 's'}])
    assert (result.status, result.stdout) == (1, '')
    assert result.stderr.startswith('Glance cannot be asked: there is no service catalog')
    assert 'Give the list as a file: --images FILE' in result.stderr


def test_audit_prints_findings_as_data(audit, tmp_path):
    result = audit(servers=DELETED, migrations=[])
    files = (
        f'--snapshot {tmp_path}/cloud.json --servers {tmp_path}/servers.json '
        f'--migrations {tmp_path}/migrations.json'
    )
    # No server is there whose flavor could be missing.
    assert result.stderr == LEFT_OUT.replace('15', '14') + WRONG
    assert rows(result) == [
        {
            'id': 'orphan',
            'severity': 'error',
            'subject': 's',
            'evidence': {
                'type': 'INSTANCE',
                'holds': {'host1': {'VCPU': 2}, 'host2': {'VCPU': 1}, 'nfs': {'DISK_GB': 40}},
            },
            'command': f'placement resource provider audit {files} --id orphan --subject s --fix '
            '--yes',
            'reason': '',
        }
    ]


def test_a_list_through_a_pipe_has_no_command_that_reads_it_again(audit, tmp_path):
    os.mkfifo(tmp_path / 'pipe')
    writer = threading.Thread(target=(tmp_path / 'pipe').write_text, args=[json.dumps(DELETED)])
    writer.start()
    [row] = rows(audit(f'--servers {tmp_path / "pipe"} -f json', migrations=[]))
    writer.join()
    assert (row['id'], row['command']) == ('orphan', '')
    assert row['reason'] == (
        'a list came through a pipe and cannot be read again: save it to a file, or use --fix'
    )


def test_audit_can_be_limited_to_a_check_and_a_subject(audit):
    live = cloud(
        [provider(name, VCPU=Inventory(8, reserved=9)) for name in ('a host', 'b')],
        [consumer('s', **{'a host': {'PCPU': 1}, 'b': {'PCPU': 1}})],
    )
    expected = [
        ('', 'reserved-above-total a host\nreserved-above-total b\non-several-trees s\n'),
        ('--id on-several-trees', 'on-several-trees s\n'),
        ("--id on-several-trees --subject 'a host'", ''),
        ("--subject 'a host'", 'reserved-above-total a host\n'),
        ('--subject b --subject s', 'reserved-above-total b\non-several-trees s\n'),
        ('--id on-several-trees --ignore on-several-trees', ''),
    ]
    for options, printed in expected:
        assert audit(f'-f value -c id -c subject {options}', live).stdout == printed, options


@pytest.mark.parametrize(
    ('subject', 'near'),
    [
        ('hosst1', 'Did you mean "host1"?'),
        ('x', 'Give a name of a provider, or a UUID of a consumer'),
        ('web9', 'Servers have UUIDs: --subject new'),
    ],
)
def test_audit_refuses_an_unknown_subject(audit, subject, near):
    result = audit(f'--subject {subject}', servers=[DETAILED | {'name': 'web9'}])
    assert (result.status, result.stdout) == (1, '')
    message = 'no provider, consumer, aggregate, server or flavor is'
    assert result.stderr.splitlines()[-1] == f'--subject: {message} "{subject}". {near}'
    # The printed command that fixes something may delete its subject, and is safe to run again.
    assert audit(f'--subject {subject} --fix --yes').status == 0


def test_an_audit_without_findings_says_what_it_checked(audit):
    made = sum(not check.needs for check in CHECKS) - 1
    assert audit('--ignore on-several-trees') == Result(
        0,
        '',
        f'{ALL_LEFT_OUT}Nothing found: {made} checks of 3 trees with 4 providers and 1 consumer\n',
    )
    one = audit('--ignore on-several-trees --tree nfs')
    assert f'{made} checks of 1 tree with 1 provider and 1 consumer' in one.stderr


PAGE = (
    'only one page of the list of servers: the next page begins after marker s7. Join all pages to '
    'one list'
)
NEXT = [{'rel': 'next', 'href': 'http://nova/servers/detail?marker=s7'}]
UNKNOWN = f"There is no check 'what'. Choose from {', '.join(check.id for check in CHECKS)}"
HYPERVISORS = {'hypervisors': [{'id': 'u', 'hypervisor_hostname': 'h'}]}


@pytest.mark.parametrize(
    ('options', 'status', 'message'),
    [
        ('--id orphans', 2, 'There is no check \'orphans\'. Did you mean "orphan"?'),
        ('--id what', 2, UNKNOWN),
        ('--ignore what', 2, UNKNOWN),
        ('--explain what', 2, UNKNOWN),
        ('--tree what', 1, "No resource provider has the name or UUID 'what'"),
        ('--servers {page}', 1, f'{{page}}: {PAGE}'),
        (
            '--flavors {missing}',
            1,
            '{missing}: No such file or directory; --flavors needs a list of flavors. To make one: '
            'openstack flavor list --all --long -f json',
        ),
        (
            '--hypervisors {later} --id inventory-drift',
            1,
            '--id needs more lists: inventory-drift (the hypervisors have no amounts: list them at '
            'compute API 2.87 or below)',
        ),
        (
            '--id left-by-evacuation --id over-capacity',
            1,
            '--id needs more lists: left-by-evacuation (--servers and --migrations)',
        ),
    ],
)
def test_audit_refuses_lists_and_options_that_it_cannot_use(
    audit, tmp_path, options, status, message
):
    files = {
        'page': save(tmp_path, 'p.json', {'servers': [], 'servers_links': NEXT}),
        'missing': str(tmp_path / 'missing.json'),
        'later': save(tmp_path, 'h.json', HYPERVISORS),
    }
    result = Result(status, '', f'{message.format_map(files)}\n')
    assert audit(options.format_map(files)) == result


@pytest.mark.parametrize('name', ['servers', 'migrations', 'hypervisors', 'flavors', 'agents'])
@pytest.mark.parametrize('content', [{'what': 1}, [{'what': 1}], None, 5, [None]])
def test_an_audit_leaves_out_the_checks_of_a_list_that_cannot_be_used(
    audit, tmp_path, name, content
):
    path = save(tmp_path, 'x.json', content)
    found = audit(f'--{name} {path} -f json')
    ids = {row['id'] for row in rows(found)}
    clean = audit(f'--{name} {path} -f json ' + ' '.join(f'--ignore {id}' for id in ids))
    assert (found.status, clean.status) == (3, 1)
    assert found.stderr.startswith(f'{path}: ')
    assert 'The checks that need it are left out' in found.stderr


def test_a_tree_is_chosen_by_any_of_its_providers(audit):
    for tree in ('host1_gpu', 'host2', 'nfs'):
        assert audit(f'--tree {tree}').status == 3


def test_a_service_that_is_away_is_not_asked_for_each_repair(audit, service):
    names = [f's{number:02}' for number in range(40)]
    live = cloud(
        [provider('host1', VCPU=80), provider('host2', VCPU=80)],
        [consumer(name, host1={'VCPU': 1}, host2={'VCPU': 1}) for name in names],
    )
    servers = [DELETED[0] | {'ID': name} for name in names]
    service.fail(requests.ConnectionError('away'))
    result = audit('--fix --yes -f json', live, servers=servers, migrations=[])
    assert result.status == 3
    assert [row['fix'][:8] for row in rows(result)] == ['failed: '] * 40
    assert len({request.url for request in service.history}) < 30


def test_audit_explains_a_check(placement, service):
    result = placement('resource provider audit --explain ironic-node')
    assert (result.status, result.stderr, service.requests) == (0, '', [])
    title, _, summary, *_ = result.stdout.splitlines()
    assert title == 'ironic-node (error, needs --nodes)'
    assert summary == 'A node of Ironic and its provider disagree.'
    for label in ('Why it matters', 'Safe to fix', 'Look yourself', 'Example'):
        assert f'\n\n{label}: ' in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100
    assert placement('resource provider audit --explain ironic-node -f table') == result
    [row] = rows(placement('resource provider audit --explain ironic-node -f json'))
    assert (row['id'], row['needs']) == ('ironic-node', ['nodes'])
    one = placement('resource provider audit --explain ironic-node -f value -c summary')
    assert one.stdout == f'{summary}\n'


def test_findings_are_paragraphs_on_a_terminal(audit, tmp_path, monkeypatch):
    """A table of them is wider than a terminal."""
    monkeypatch.setenv('COLUMNS', '80')
    live = cloud(
        [provider('host', VCPU=Inventory(8, reserved=9), VGPU=2)], [consumer('s', host={'VGPU': 3})]
    )
    file = tmp_path / 'cloud.json'
    again = f'placement resource provider audit --snapshot {file} --id reserved-above-total'
    expected = (
        'error over-capacity host\n'
        '  More of a class is used than its capacity, which is (total - reserved) *\n    ratio.\n'
        '  The provider has VGPU 3 in use, and a capacity of 2.\n'
        '  No automatic fix: VGPU cannot be shared, so no ratio helps: see who holds it\n'
        '    (placement resource provider allocation list host), and move servers away\n'
        '\n'
        'error reserved-above-total host\n'
        '  The reserved amount of a class exceeds its total.\n'
        '  The provider has VCPU 9 reserved, and a total of 8.\n'
        f'  Run: {again} --subject host --fix --yes\n'
        '\n'
        'Explain: placement resource provider audit --explain over-capacity\n'
    )
    table = audit('', live).stdout
    assert table.startswith('+---')
    assert audit('-f text', live).stdout == expected
    monkeypatch.setattr('sys.stdout.isatty', lambda: True)
    assert audit('', live).stdout == expected
    assert audit('-f table --wide', live).stdout == table
    assert audit('-c id', live).stdout == 'over-capacity\n\nreserved-above-total\n'


WITHOUT = '--tree host1 --ignore orphan --ignore doubled --ignore on-several-trees -f json'


def test_the_command_of_a_finding_has_all_options_of_heal(audit, tmp_path, monkeypatch):
    monkeypatch.setattr(compute, 'servers', lambda client: [DETAILED])
    servers, migrations = (f' --{n} {tmp_path}/{n}.json' for n in ('servers', 'migrations'))
    for result, options in (
        (audit(WITHOUT, servers=[DETAILED]), servers),
        (audit(WITHOUT, servers=[DETAILED], migrations=[]), servers + migrations),
        # Nova is asked beside a snapshot; heal asks it too, where it could not read the file.
        (audit(f'{WITHOUT} --servers nova'), ''),
        (audit(WITHOUT, servers=[{'ID': 'new', 'Host': 'host1'}]), ''),
    ):
        [row] = rows(result)
        command = f'placement resource provider allocation heal --server new{options}'
        assert (row['id'], row['command']) == ('without-allocations', command)


@pytest.mark.parametrize(
    ('captured_at', 'changed_at', 'count'),
    [
        ('2026-11-02T09:09:59+00:00', '2026-11-02T09:00:00Z', 0),
        ('2026-11-02T09:10:00+00:00', '2026-11-02T09:00:00Z', 1),
        (None, '2026-11-02T09:00:00Z', 1),
        ('2026-11-02T09:00:00+00:00', '2026-11-02T09:00:00', 0),
        ('2026-11-02T09:00:00+00:00', '2026-11-02T08:49:00', 1),
        # A time that is none leaves nobody out.
        ('2026-11-02T09:00:00+00:00', 'yesterday', 1),
    ],
)
def test_audit_skips_servers_that_may_be_new(audit, captured_at, changed_at, count):
    live = small()
    live.origin = Origin(captured_at)
    servers = [DETAILED | {'updated': changed_at}]
    assert len(rows(audit(WITHOUT, live, servers=servers))) == count


def test_audit_counts_the_servers_that_it_skips(audit):
    live = small()
    live.origin = Origin('2026-11-02T09:05:00+00:00')
    fresh = [DETAILED | {'id': f'lost{n:02}'} for n in range(11)]
    fresh.append(DETAILED | {'id': 'busy', 'updated': '', 'OS-EXT-STS:task_state': 'rebuilding'})
    result = audit(WITHOUT, live, servers=fresh)
    assert (result.status, result.stdout) == (0, '[]\n')
    assert result.stderr.splitlines()[-1] == (
        '12 servers were not judged: lost00, lost01, lost02 and 8 more (changed in Nova after '
        'the snapshot, or up to 10 minutes before); busy (it is under way: rebuilding). Take '
        'a new snapshot and new lists, and audit again'
    )


ODD = ['-x', '--all', 'a\nplacement resource provider purge b --yes\n', '\x1b[2J']


@pytest.mark.parametrize('name', [*ODD, '1c6c1a1c-23e4-44d7-b7ab-15cbc5b5e5a8'])
def test_a_name_with_special_characters_is_quoted_in_a_command(audit, name):
    """The commands may be typed, or run by placement batch, line by line."""
    host = provider('host', traits=['OWNER_NOVA'])
    child = provider('u', 'host', VCPU=Inventory(8), VGPU=Inventory(1, reserved=3))
    child = replace(child, provider=replace(child.provider, name=name))
    live = cloud([host, child], [consumer('s', u={'VCPU': 9})])
    by_id = {row['id']: row for row in rows(audit('-f json', live))}
    assert by_id['owner-missing']['reason'].endswith(
        'placement resource provider trait add u OWNER_NOVA'
    )
    assert by_id['over-capacity']['reason'].endswith(
        'placement resource provider inventory set u --amend --resource VCPU:allocation_ratio=1.125'
    )
    again = by_id['reserved-above-total']
    assert again['command'] == ('' if name in ODD else again['command'])
    assert bool(again['command']) != bool(again['reason'])
    for row in by_id.values():
        assert row['command'].isprintable()


def test_aggregates_have_names_where_a_list_has_them(audit):
    named = [{'uuid': uuid, 'name': f'rack {uuid}', 'hosts': [], 'metadata': {}} for uuid in 'abc']
    ratios = {'h1': 4.0, 'h2': 4.0, 'h3': 16.0}
    states = [
        provider(name, aggregates=['a'], VCPU=Inventory(total=8, allocation_ratio=ratio))
        for name, ratio in ratios.items()
    ]
    states += [
        provider('h4', aggregates=['b'], VCPU=8),
        provider('nfs', traits=['MISC_SHARES_VIA_AGGREGATE'], aggregates=['c'], DISK_GB=8),
    ]
    ids = ['aggregate-of-one', 'ratio-differs', 'sharing-alone']
    options = f'-f json {" ".join(f"--id {id}" for id in ids)}'
    found = rows(audit(options, cloud(states), aggregates=named))
    assert {row['id']: row['evidence']['aggregate_names'] for row in found} == {
        'aggregate-of-one': ['rack b'],
        'ratio-differs': ['rack a'],
        'sharing-alone': ['rack c'],
    }
    plain = rows(audit(options, cloud(states)))
    assert [row['id'] for row in plain] == [row['id'] for row in found]
    assert not any('aggregate_names' in row['evidence'] for row in plain)
