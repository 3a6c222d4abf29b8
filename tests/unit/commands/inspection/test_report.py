# SPDX-License-Identifier: Apache-2.0
"""``resource provider report``: what it reads, where it writes, and what it needs."""

import stat
import sys

import pytest

from placementclient.runs import storage
from tests.programs import Result
from tests.unit.commands.clouds import save, small
from tests.unit.insight.clouds import cloud, provider
from tests.unit.render.report.reports import embedded, flat, plan

REPORT = 'resource provider report'


def test_the_file_appears_at_once_and_is_its_owners(placement, tmp_path):
    cloud, target = save(tmp_path, 'cloud.json', small()), tmp_path / 'report.html'
    target.write_text('the one of yesterday')
    result = placement(f'{REPORT} --snapshot {cloud} -o {target}')
    assert result == Result(0, '', f'wrote {target}\n')
    assert target.read_text().startswith('<!DOCTYPE html>\n<html lang="en">')
    assert {path.name for path in tmp_path.iterdir()} == {'cloud.json', 'report.html'}
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    fill = '<title>host1: VCPU 25 %</title>'
    assert fill in target.read_text().partition('<figure class="heat">')[2]
    assert '<h1><bdi>Capacity report</bdi></h1>' in placement(f'{REPORT} --snapshot {cloud}').stdout


def test_report_refuses_to_print_to_a_terminal(placement, monkeypatch):
    monkeypatch.setattr('sys.stdout.isatty', lambda: True)
    refused = placement(REPORT)
    assert (refused.status, refused.stdout) == (2, '')
    assert 'the following arguments are required: -o. Example: ' in refused.stderr
    assert placement(f'{REPORT} --snapshot nowhere.json -o x.html').status == 1


def test_report_takes_a_title(placement, tmp_path):
    cloud = save(tmp_path, 'cloud.json', small())
    text = placement(f"{REPORT} --snapshot {cloud} --title 'Cloud <1>'").stdout
    assert '<h1><bdi>Cloud &lt;1&gt;</bdi></h1>' in text
    assert '<title>Placement report · Cloud &lt;1&gt;</title>' in text
    assert '<dt>Cloud</dt>' not in text


def test_report_shows_a_plan(placement, tmp_path):
    cloud = save(tmp_path, 'cloud.json', flat())
    storage.write_plan(str(tmp_path / 'plan.json'), plan(flat()))
    text = placement(f'{REPORT} --snapshot {cloud} --plan {tmp_path / "plan.json"}').stdout
    assert '<h1><bdi>Reshape plan and capacity</bdi></h1>' in text
    assert len(embedded(text)['plan']) == 1


def test_a_plan_for_another_cloud_is_refused(placement, tmp_path):
    cloud = save(tmp_path, 'cloud.json', small())
    storage.write_plan(str(tmp_path / 'plan.json'), plan(flat()))
    target = tmp_path / 'report.html'
    command = f'{REPORT} --snapshot {cloud} --plan {tmp_path / "plan.json"} -o {target}'
    message = placement(command)
    assert (message.status, message.stderr) == (
        1,
        'The plan changes providers that do not exist: gpu1\n',
    )
    assert not target.exists()
    wrong = placement(f'{REPORT} --snapshot {cloud} --plan {cloud}')
    assert 'cloud.json: a snapshot (--snapshot takes it); --plan needs a plan. To ' in wrong.stderr


def test_report_with_lists_shows_orphans(placement, tmp_path, monkeypatch):
    cloud = save(tmp_path, 'cloud.json', small())
    servers = save(
        tmp_path, 'servers.json', [{'ID': 'other', 'Name': 'n', 'Status': 'ACTIVE', 'Host': 'h'}]
    )
    migrations = save(tmp_path, 'migrations.json', [])
    monkeypatch.setattr('sys.stderr.isatty', lambda: True)
    hint = 'Names of servers and leaked allocations: add --servers FILE, --migrations FILE\n'
    rows = []
    for lists in ('', f'--servers {servers} --migrations {migrations}'):
        result = placement(f'{REPORT} --snapshot {cloud} {lists}')
        assert (result.stderr == hint) == (not lists)
        records = embedded(result.stdout)
        rows.append({records['texts'][check] for _, check, *_ in records['findings']})
    assert 'orphan' not in rows[0]
    assert 'orphan' in rows[1]
    # By a list that lacks a server the page, as the command audit, advises no deletion.
    [(*_, command, reason)] = [
        row for row in records['findings'] if records['texts'][row[1]] == 'orphan'
    ]
    assert (command, reason[:27]) == ('', 'no list has a record of it:')


@pytest.mark.parametrize(
    ('content', 'status'), [(cloud([provider('host1', VCPU=4)]), 1), (small(), 3)]
)
def test_the_page_is_written_without_a_list_that_cannot_be_used(
    placement, tmp_path, content, status
):
    snapshot = save(tmp_path, 'cloud.json', content)
    servers = save(tmp_path, 'servers.json', '<html>maintenance</html>')
    target = tmp_path / 'report.html'
    result = placement(f'{REPORT} --snapshot {snapshot} --servers {servers} -o {target}')
    assert result.status == status
    assert f'{servers}: plain text; expected: a list of servers. ' in result.stderr
    assert target.exists()


def test_without_the_library_it_says_what_to_install_before_it_asks_for_anything(
    placement, service, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, 'jinja2', None)
    assert placement(f'{REPORT} -o {tmp_path / "x.html"}') == Result(
        1,
        '',
        'A report needs Jinja2: pip install "python-placementclient[report]", or in a checkout '
        'pip install ".[report]"\n',
    )
    assert service.requests == []
    assert not (tmp_path / 'x.html').exists()
