# SPDX-License-Identifier: Apache-2.0
"""The report in a real browser: what a person sees of it, without a refusal of its policy."""

import csv
import json
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from placementclient.files import disk
from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import Snapshot
from placementclient.render.units import format_amount
from placementclient.runs import storage
from tests.functional import clouds, hosts
from tests.functional.browser import all_of, cells, one, opened
from tests.functional.clouds import uuid_of
from tests.numbers import few_quick

SERVER = uuid_of('server')
ALLOCATIONS = {
    'compute0': {'VCPU': 2, 'MEMORY_MB': 512},
    'compute0_gpu1': {'VGPU': 2},
    'storage': {'DISK_GB': 10},
}
#: Right-to-left override, an escape sequence, and what would be elements.
HOSTILE = '<script>document.title="taken"</script><b>\u202e\x1b[31m'
SHOWN = r'<script>document.title="taken"</script><b>\u202e\x1b[31m'


@pytest.fixture(scope='module')
def chromium():
    """One browser for all tests."""
    with opened() as browser:
        yield browser


@pytest.fixture
def browser(chromium):
    """The browser; whatever a page says on the console is an error."""
    chromium.get_log('browser')
    chromium.execute_cdp_cmd('Emulation.clearDeviceMetricsOverride', {})
    chromium.execute_cdp_cmd('Emulation.setEmulatedMedia', {})
    yield chromium
    assert chromium.get_log('browser') == []


def saved(folder, snapshot):
    path = folder / 'cloud.json'
    disk.write_snapshot(str(path), snapshot)
    return str(path)


def shown(browser, placement, folder, *options):
    """Write a report, and open it."""
    path = folder / 'report.html'
    result = placement('resource', 'provider', 'report', *options, '-o', str(path))
    assert (result.status, result.stdout) == (0, '')
    browser.get(path.as_uri())


def figures(placement, command):
    rows: list[dict[str, Any]] = json.loads(placement(f'{command} -f json').stdout)
    return rows


def number(text):
    return int(text.replace(',', ''))


def find(listing, text):
    """Look for something in a list; what is left."""
    one(listing, 'input').send_keys(Keys.CONTROL, 'a', Keys.NULL, Keys.BACKSPACE, text)
    return cells(one(listing, ':scope > table'))


def downloaded(browser, folder, *names):
    """Click the buttons of some lists, and return the rows of the files that come of it."""
    target = folder / 'downloads'
    target.mkdir(exist_ok=True)
    behavior = {'behavior': 'allow', 'downloadPath': str(target)}
    browser.execute_cdp_cmd('Browser.setDownloadBehavior', behavior)
    result = {}
    for name in names:
        one(browser, f'button[data-file="{name}"]').send_keys(Keys.ENTER)
        path = target / f'{name}.csv'
        WebDriverWait(browser, 10).until(lambda _, path=path: path.exists())
        with path.open(encoding='utf-8-sig', newline='') as file:
            result[name] = list(csv.DictReader(file))
    return result


def test_report_shows_the_figures_of_capacity_show(browser, client, placement, tmp_path):
    hosts.build(client, hosts.holder('server', ALLOCATIONS))
    shown(browser, placement, tmp_path)
    in_page = [
        (name, used, free, capacity, largest, number(providers))
        for name, _, _, used, free, capacity, largest, providers, _ in cells(
            one(browser, '#capacity table')
        )
    ]
    names = ('used', 'free', 'capacity', 'largest_fit')
    listed = figures(placement, 'resource capacity show --by class')
    assert in_page == [
        (
            row['resource_class'],
            *(format_amount(row['resource_class'], row[name]) for name in names),
            row['providers'],
        )
        for row in listed
    ]
    heads = [
        ('resource_class', 'Class'), ('used', 'Used'), ('free', 'Free'), ('capacity', 'Capacity'),
        ('largest_fit', 'Largest request'), ('providers', 'Providers'),
    ]  # fmt: skip
    [written] = downloaded(browser, tmp_path, 'capacity').values()
    assert [{head: entry[head] for _, head in heads} for entry in written] == [
        {head: str(row[name]) for name, head in heads} for row in listed
    ]
    listing = one(browser, '#all-trees')
    columns = [head.text for head in all_of(listing, 'thead th')]
    expected: dict[tuple[str, str], str] = {}
    for row in figures(placement, 'resource capacity show --by tree'):
        message = ' of '.join(
            format_amount(row['resource_class'], row[n]) for n in ('used', 'capacity')
        )
        message = f'shared by {row["shared_by"]}' if row['shared_by'] else message
        expected[row['tree'], row['resource_class']] = message
    drawn = {
        (name, head): text.splitlines()[-1]
        for name, *rest in cells(one(listing, 'table'))
        for head, text in zip(columns[1:], rest, strict=True)
        if text
    }
    assert drawn == {key: message for key, message in expected.items() if key[0] != '(all)'}


def test_a_click_on_a_host_opens_its_tree(browser, client, placement, tmp_path):
    hosts.build(client, hosts.holder('server', ALLOCATIONS))
    shown(browser, placement, tmp_path)
    button = all_of(browser, '#all-trees .open')[0]
    assert (button.text, button.get_attribute('aria-expanded')) == ('compute0', 'false')
    button.send_keys(Keys.ENTER)
    assert button.get_attribute('aria-expanded') == 'true'
    tree = one(browser, '#all-trees .opened')
    names = [entry.text for entry in all_of(tree, '.provider strong')]
    assert names == ['compute0', 'compute0_gpu0', 'compute0_gpu1', 'storage']
    assert cells(all_of(tree, 'table')[0]) == [
        ['MEMORY_MB', '< 1 %', '512 MiB', '63 GiB',
         'total 64 GiB, 1 GiB reserved, in steps of 256 MiB'],
        ['VCPU', '3 %', '2', '64', 'total 16, ratio 4'],
    ]  # fmt: skip
    assert 'HW_CPU_X86_AVX2' in tree.text
    all_of(tree, 'summary')[-1].click()
    # The browser tells the page of a click on a summary when it has time.
    rows = WebDriverWait(browser, 10).until(lambda _: cells(all_of(tree, 'details table')[-1]))
    [[holder, holds, project, kind]] = rows
    assert (holder, holds, project, kind) == (SERVER, 'VGPU 2', hosts.PROJECT, 'INSTANCE')
    all_of(browser, '#all-trees thead button')[0].click()
    assert one(browser, '#all-trees .opened').is_displayed(), 'it stays open where it is drawn anew'
    all_of(browser, '#all-trees .open')[0].send_keys(Keys.SPACE)
    assert all_of(browser, '#all-trees .opened') == []


@pytest.mark.parametrize(
    ('sought', 'hit'),
    [
        ('COMPUTE0', ''),
        ('compute0_gpu1', 'compute0_gpu1'),
        (SERVER[:13], SERVER),
        ('custom_t4', 'CUSTOM_T4'),
        (hosts.RACK, hosts.RACK),
    ],
)
def test_the_search_of_the_report_filters_hosts(browser, placement, tmp_path, sought, hit):
    plain = [
        hosts.provider(f'plain{n}', {'VCPU': Inventory(8)}, ['COMPUTE_NODE']) for n in range(60)
    ]
    server = hosts.holder('server', {'compute0': {'VCPU': 2}})
    path = saved(tmp_path, Snapshot([*plain, *hosts.host('compute0')], [server]))
    shown(browser, placement, tmp_path, '--snapshot', path)
    listing = one(browser, '#all-trees')
    [result, _] = find(listing, sought)
    assert result[0].splitlines() == ['compute0', *([hit] if hit else [])]
    assert one(listing, 'output').text == '1 of 61'
    assert len(all_of(listing, '.opened')) == 1, 'the only one that is found is opened'
    assert find(listing, 'nobody') == []
    assert len(find(listing, '')) == 50


@pytest.mark.slow
def test_no_more_rows_are_drawn_than_one_page(browser, placement, tmp_path):
    states = [hosts.provider(f'host{n}', {'VCPU': Inventory(n + 1)}) for n in range(120)]
    allocated = [hosts.holder(f'server{n}', {f'host{n}': {'VCPU': 1}}) for n in range(120)]
    used = clouds.used(Snapshot(states, allocated))
    shown(browser, placement, tmp_path, '--snapshot', saved(tmp_path, used))
    listing = one(browser, '#all-trees')
    table, pages = one(listing, ':scope > table'), one(listing, '.pages')
    previous, following = all_of(pages, 'button')
    seen = []
    for place in ('1–50 of 120', '51–100 of 120', '101–120 of 120'):
        assert place in pages.text
        seen += cells(table)
        if following.is_enabled():
            following.click()
    assert len({name for name, *_ in seen}) == 120
    assert not following.is_enabled()
    assert previous.is_enabled()
    assert [row[0] for row in seen[9:11]] == ['host9', 'host10'], 'as people count'
    name, vcpu = all_of(table, 'thead button')
    vcpu.click()
    assert [row[0] for row in cells(table)[:3]] == ['host0', 'host1', 'host2'], 'the fullest first'
    vcpu.click()
    assert cells(table)[0][0] == 'host119'
    assert [head.get_attribute('aria-sort') for head in all_of(table, 'thead th')] == [
        None,
        'ascending',
    ]
    name.click()
    assert [row[0] for row in cells(table)] == [row[0] for row in seen[:50]]


def test_a_click_on_a_finding_opens_its_tree(browser, client, placement, tmp_path):
    hosts.build(client, hosts.holder('server', ALLOCATIONS))
    path = tmp_path / 'cloud.json'
    disk.write_snapshot(str(path), clouds.captured(client))
    servers, migrations = tmp_path / 'servers.json', tmp_path / 'migrations.json'
    servers.write_text('[{"ID": "other", "Name": "n", "Status": "ACTIVE", "Host": "compute0"}]')
    migrations.write_text('[]')
    lists = ['--servers', str(servers), '--migrations', str(migrations)]
    shown(browser, placement, tmp_path, '--snapshot', str(path), *lists)
    command = f'resource provider audit --snapshot {path} {" ".join(lists)}'
    expected = {
        (
            row['id'],
            row['subject'],
            f'Run: {row["command"]}' if row['command'] else f'No automatic fix: {row["reason"]}',
        )
        for row in figures(placement, command)
    }
    rows = cells(one(browser, '#findings > table'))
    # The name of a server stands before its UUID.
    found = {(check, subject.split()[-1], *step) for check, _, subject, _, *step in rows}
    assert found == expected
    assert ('orphan', SERVER) in {(check, subject) for check, subject, *_ in expected}
    [link] = [entry for entry in all_of(browser, '#findings .link') if entry.text == SERVER]
    link.click()
    assert len(all_of(browser, '#all-trees tbody .open')) == 2, 'the host and the storage'


def test_the_fullest_hosts_are_filtered_and_servers_have_names(browser, placement, tmp_path):
    states = [hosts.provider(f'host{n}', {'VCPU': Inventory(10)}) for n in range(10)]
    states[3].inventories['DISK_GB'] = Inventory(2)  # type: ignore[index]
    allocated = [hosts.holder(f's{n}', {f'host{n}': {'VCPU': n + 1}}) for n in range(10)]
    path = saved(tmp_path, clouds.used(Snapshot(states, allocated)))
    servers = tmp_path / 'servers.json'
    servers.write_text(json.dumps([{'ID': uuid_of('s9'), 'Name': '=web', 'Host': 'host9'}]))
    shown(browser, placement, tmp_path, '--snapshot', path, '--servers', str(servers))
    listing = one(browser, '#all-trees')
    least, of_class = map(Select, all_of(listing, 'select'))
    names = lambda: [row[0] for row in cells(one(listing, ':scope > table'))]  # noqa: E731
    least.select_by_visible_text('70 % full or more')
    assert names() == ['host9', 'host8', 'host7', 'host6'], 'the fullest first'
    assert one(listing, 'output').text == '4 of 10'
    least.select_by_visible_text('full')
    assert names() == ['host9']
    all_of(listing, '.open')[0].click()
    one(listing, 'summary').click()
    WebDriverWait(browser, 10).until(lambda _: all_of(listing, 'details tbody th'))
    assert one(listing, 'details tbody th').text == f'=web {uuid_of("s9")}'
    [consumers, in_hosts] = downloaded(browser, tmp_path, 'consumers', 'hosts').values()
    assert [(entry['name'], entry['consumer'], entry['amount']) for entry in consumers] == [
        ("'=web", uuid_of('s9'), '10')
    ], 'no formula for a spreadsheet'
    assert [(entry['host'], entry['class'], entry['used']) for entry in in_hosts] == [
        ('host9', 'VCPU', '10')
    ]
    least.select_by_visible_text('all hosts')
    of_class.select_by_visible_text('DISK_GB')
    assert names() == ['host3']
    assert find(listing, 'web') == []
    of_class.select_by_visible_text('any class')
    assert names()[0].splitlines() == ['host9', '=web']


def test_report_shows_a_plan_before_and_after(browser, client, placement, tmp_path):
    snapshot = clouds.loaded(client, clouds.cloud(2))
    plan = clouds.plan_of(snapshot, moved_trait=True)
    path = tmp_path / 'plan.json'
    storage.write_plan(str(path), plan)
    shown(browser, placement, tmp_path, '--plan', str(path))
    assert cells(one(browser, '#changed'))[-1] == ['VGPU', '8', '8', '16', '16']
    assert all_of(browser, '.verdict li')[0].text.endswith(
        'Nothing is lost: VGPU 8 used before and after.'
    )
    listing = one(browser, '#planned-trees')
    assert cells(one(listing, ':scope > table'))[0] == [
        'compute0', '2', '4', '0', '4', '0', str(len(plan.changes[0].warnings))
    ]  # fmt: skip
    all_of(listing, '.open')[0].click()
    before, after = all_of(listing, '.halves > div')
    assert [cells(table) for table in all_of(before, 'table')] == [
        [['MEMORY_MB', '10 GiB', '63.5 GiB'], ['VCPU', '10', '512'], ['VGPU', '4', '8']]
    ]
    assert [cells(table) for table in all_of(after, 'table')] == [
        [['MEMORY_MB', '10 GiB', '63.5 GiB'], ['VCPU', '10', '512']],
        [['VGPU', '2', '4']],
        [['VGPU', '2', '4']],
    ]
    assert 'compute0_gpu0 new' in after.text
    assert 'Traits lost: HW_CPU_X86_AMD_SEV' in after.text
    drawn = {tuple(row) for row in cells(all_of(listing, '.opened table')[-1])}
    assert drawn == {
        (
            row.consumer_uuid,
            f'{row.amount} VGPU',
            'compute0',
            row.to_provider,
            row.label.value,
            row.evidence,
        )
        for row in plan.changes[0].reasons
    }
    # Both hosts have the same warnings: they are in the list above them, once.
    assert plan.changes[0].warnings
    assert all_of(listing, '.opened .warnings') == []
    assert len(all_of(browser, '.warnings li')) == len(plan.changes[0].warnings)
    [moved] = downloaded(browser, tmp_path, 'moved-allocations').values()
    assert {(entry['consumer'], entry['from'], entry['to']) for entry in moved} == {
        (row.consumer_uuid, row.from_provider, row.to_provider)
        for tree in plan.changes
        for row in tree.reasons
    }


def test_names_with_markup_are_shown_as_text(browser, client, placement, tmp_path):
    assert placement('resource', 'provider', 'create', HOSTILE).status == 0
    shown(browser, placement, tmp_path)
    assert browser.title != 'taken'
    assert len(all_of(browser, 'script')) == 2
    one(browser, '#all-trees .open').click()
    assert one(browser, '#all-trees .open').text == SHOWN
    assert one(browser, '#all-trees .provider strong').text == SHOWN


@pytest.mark.parametrize('width', few_quick([360, 1360], quick=1))
@pytest.mark.parametrize('scheme', few_quick(['light', 'dark'], quick=1))
def test_report_fits_narrow_and_wide_screens_in_light_and_dark(
    browser, placement, tmp_path, width, scheme
):
    plan = clouds.plan_of(clouds.used(clouds.cloud(2)))
    storage.write_plan(str(tmp_path / 'plan.json'), plan)
    path = saved(tmp_path, clouds.used(clouds.cloud(2)))
    options = ['--snapshot', path, '--plan', str(tmp_path / 'plan.json')]
    features = [{'name': 'prefers-color-scheme', 'value': scheme}]
    browser.execute_cdp_cmd('Emulation.setEmulatedMedia', {'features': features})
    screen = {'width': width, 'height': 800, 'deviceScaleFactor': 1, 'mobile': False}
    browser.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', screen)
    shown(browser, placement, tmp_path, *options)
    for button in all_of(browser, '.open'):
        button.click()
    assert browser.execute_script('return document.documentElement.scrollWidth') <= width
    ground = browser.execute_script('return getComputedStyle(document.body).backgroundColor')
    assert (ground == 'rgb(255, 255, 255)') == (scheme == 'light')


@pytest.mark.slow
def test_print_has_each_tree_of_the_plan_open(browser, placement, tmp_path):
    snapshot = clouds.used(clouds.cloud(30))
    storage.write_plan(str(tmp_path / 'plan.json'), clouds.plan_of(snapshot))
    path = saved(tmp_path, snapshot)
    shown(browser, placement, tmp_path, '--snapshot', path, '--plan', str(tmp_path / 'plan.json'))
    browser.execute_script(
        "addEventListener('beforeprint', () => {"
        "  document.title = document.querySelectorAll('#planned-trees .halves').length; });"
    )
    browser.print_page()
    assert browser.title == '30'
    assert all_of(browser, '.halves') == []


def test_without_javascript_a_summary_remains(placement, tmp_path):
    path = saved(tmp_path, clouds.used(clouds.cloud(2)))
    with opened(('profile.managed_default_content_settings.javascript', 2)) as browser:
        shown(browser, placement, tmp_path, '--snapshot', path)
        assert [row[0] for row in cells(one(browser, '#capacity table'))] == [
            'MEMORY_MB',
            'VCPU',
            'VGPU',
        ]
        assert not one(browser, '#all-trees').is_displayed()
        assert one(browser, '#trees noscript').text == 'The list itself needs JavaScript.'
