# SPDX-License-Identifier: Apache-2.0
"""The page itself: what it may load, what it escapes, and what it shows without its script."""

import base64
import hashlib
import html
import re
from dataclasses import replace

import pytest

from placementclient.model.plans import Notice, UnplannedTree
from placementclient.model.snapshots import Origin, Snapshot
from placementclient.render import audit_checks
from placementclient.render.report import contents, page
from placementclient.render.report.contents import Fill
from tests.unit.insight.clouds import cloud, consumer, provider
from tests.unit.render.report.reports import embedded, flat, nested, plan, written

#: Would end the element that it stands in, begin a comment, turn the text, steer a terminal.
HOSTILE = '</script><script>alert(1)</script><!--\u202egnp\x1b[31m&"\'\u2028\ud800'
SHOWN = r"""</script><script>alert(1)</script><!--\u202egnp\x1b[31m&"'\u2028\ud800"""


def rows(text, section):
    """The rows of the first table of a section, as they are read."""
    part = text.partition(f'<section id="{section}"')[2].partition('</table>')[0]
    body = part.partition('<tbody')[2]
    return [
        [
            html.unescape(re.sub('<svg.*?</svg>|<.*?>', '', cell, flags=re.DOTALL)).strip()
            for cell in re.findall(r'<t[hd].*?</t[hd]>', row, re.DOTALL)
        ]
        for row in re.findall(r'<tr.*?</tr>', body, re.DOTALL)
    ]


def digest(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_the_policy_of_the_page_allows_its_own_script_and_style_alone():
    text = written(nested())
    [style] = re.findall('<style>(.*?)</style>', text, re.DOTALL)
    [script] = re.findall('<script>(.*?)</script>', text, re.DOTALL)
    [policy] = re.findall('http-equiv="Content-Security-Policy" content="(.*?)"', text)
    assert html.unescape(policy) == (
        f"default-src 'none'; style-src 'sha256-{digest(style)}'; "
        f"script-src 'sha256-{digest(script)}'; base-uri 'none'; form-action 'none'"
    )


def test_the_page_has_no_links_to_load_and_no_inline_styles_or_handlers():
    text = written(flat(), plan(flat()))
    assert not re.search(r'\s(src|srcset|action|style|on\w+)=', text.partition('<script')[0])
    assert {link[0] for link in re.findall(r'href="(.+?)"', text)} == {'#'}
    assert '@import' not in text
    assert 'url(' not in text


def test_names_with_markup_are_shown_as_text():
    snapshot = cloud(
        [
            provider(HOSTILE, traits=[HOSTILE], **{HOSTILE: 1}),
            provider('child', HOSTILE, VCPU=1),
        ],
        [consumer(HOSTILE, HOSTILE, **{HOSTILE: {HOSTILE: 2}})],
    )
    snapshot.origin = Origin(HOSTILE, HOSTILE, HOSTILE)
    text = written(snapshot)
    assert text.count('</script>') == 2
    assert not re.search('[\x00-\x08\x0b-\x1f\u2028-\u202e\ud800]', text)
    assert rows(text, 'capacity')[0][0] == SHOWN
    records = embedded(text)
    assert records['trees'][0][0][0][0] == SHOWN
    assert records['consumers'][0][0] == SHOWN
    assert records['findings'][0][2] == SHOWN
    assert records['columns'] == [SHOWN, 'VCPU']
    assert text.encode()


def test_hostile_names_in_a_plan_stay_text():
    snapshot = flat(HOSTILE)
    text = written(snapshot, plan(snapshot))
    assert text.count('</script>') == 2
    assert embedded(text)['plan'][0][0] == SHOWN


def test_the_page_shows_capacity_without_the_script():
    assert rows(written(nested()), 'capacity') == [
        ['DISK_GB', '', '45 %', '50 GiB', '60 GiB', '110 GiB', '60 GiB', '2', ''],
        ['VCPU', '', '50 %', '6', '6', '12', '6', '2', ''],
        ['VGPU', '', '50 %', '1', '1', '2', '1', '1', ''],
    ]


def test_the_page_of_an_empty_cloud_says_that_it_is_empty():
    text = written(Snapshot([], []))
    assert rows(text, 'capacity') == [['There is no inventory.']]
    assert embedded(text)['trees'] == []


def test_the_page_names_its_service_and_its_time():
    snapshot = nested()
    snapshot.origin = Origin('2026-11-20T23:00:00+00:00', 'https://there/', 'whatever')
    text = written(snapshot)
    assert '<dd><bdi>https://there/</bdi></dd>' in text
    assert '<dt>Snapshot</dt><dd><bdi>cloud.json</bdi></dd>' in text
    assert '<dd>2026-11-20 23:00:00 UTC</dd>' in text
    assert '<dd>2026-11-21 06:00:00 UTC</dd>' in text
    assert '<dd>python-placementclient 1.0.0</dd>' in text
    assert '<title>Placement report · https://there/</title>' in text
    assert '<dd><bdi>not noted</bdi></dd>' in written(nested())


def test_the_page_shows_findings_without_the_script():
    over = cloud([provider('over', VCPU=1)], [consumer('s', over={'VCPU': 2})])
    text = written(over)
    message = audit_checks.find_check_texts('over-capacity')['summary'].replace('``', '')
    assert rows(text, 'audit') == [['over-capacity', 'error', message, '1']]
    assert '<code>(total - reserved) * ratio</code>' in text
    assert re.search('Left out: [0-9]+ checks, each with the list that it needs: orphan, ', text)
    assert 'Nothing found: ' in written(flat())


def test_the_page_shows_a_plan_without_the_script():
    snapshot = flat()
    text = written(snapshot, plan(snapshot))
    assert rows(text, 'plan') == [
        ['VCPU', '3', '3', '8', '8'],
        ['VGPU', '4', '4', '8', '8'],
    ]
    assert (
        '1 host to change, 2 resource providers to create, allocations of 3 consumers to rewrite.'
        in text
    )
    [warning] = re.findall('<ul class="warnings">\n<li><bdi>(.*?)</bdi>', text)
    assert warning
    assert '<section id="plan"' not in written(snapshot)


def test_the_page_names_the_trees_that_a_plan_leaves_out():
    made = plan(flat())
    tree = made.changes[0]
    left = UnplannedTree(tree.root_provider_uuid, 'other', (Notice('kind', 'too <small>'),))
    text = written(flat(), replace(made, left_out=(left,)))
    assert '<li><bdi>other</bdi>: <bdi>too &lt;small&gt;</bdi></li>' in text


def test_the_page_has_one_column_for_all_classes_beyond_the_first():
    few = cloud([provider('host', **{f'CUSTOM_{n}': 1 for n in range(page.COLUMNS)})])
    many = cloud([provider('host', **{f'CUSTOM_{n}': 1 for n in range(page.COLUMNS + 1)})])
    assert embedded(written(few))['others'] == []
    assert embedded(written(many))['others'] == ['Other classes']
    assert embedded(written(many))['columns'] == [f'CUSTOM_{n}' for n in range(page.COLUMNS)]


@pytest.mark.parametrize(
    ('used', 'capacity', 'message', 'level'),
    [
        (0, 10, '0 %', 'usual'),
        (1, 1000, '< 1 %', 'usual'),
        (699, 1000, '69 %', 'usual'),
        (700, 1000, '70 %', 'high'),
        (899, 1000, '89 %', 'high'),
        (900, 1000, '90 %', 'full'),
        (1999, 2000, '99 %', 'full'),
        (9, 8, '112 %', 'full'),
        (0, 0, '–', 'usual'),
        (1, 0, '–', 'full'),
    ],
)
def test_bars_show_how_full_a_host_is(used, capacity, message, level):
    fill = Fill(used, capacity)
    assert (contents.format_percent(fill), page.choose_fill_level(fill)) == (message, level)
