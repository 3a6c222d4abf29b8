# SPDX-License-Identifier: Apache-2.0
"""The texts about checks: on a terminal, as data, and in the page of the documentation."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from placementclient.insight.audit.checks import CHECKS, Check
from placementclient.model.findings import Severity
from placementclient.render import audit_checks

PAGE = Path(__file__).parents[3] / 'doc' / 'source' / 'audit-checks.rst'
#: What stands before the texts in the page.
_HEADING = '\nThe checks\n==========\n\n'
#: The longest line of the page, in characters.
_WIDTH = 79


EXAMPLE = """\
A ``host`` is wrong.

Ratios count
too.

Why it matters: nothing
works.

Safe to fix: yes.

Look yourself: ``openstack resource provider list`` and ``ls``

Example: ``used 9, capacity 8``
"""
CHECK = Check('wrong', Severity.ERROR, lambda _: (), ('servers', 'ports'))


@pytest.fixture(autouse=True)
def _example(monkeypatch):
    """One more section of the file."""
    content = f'{audit_checks.read_check_texts()}\n[wrong]\n{EXAMPLE}'
    monkeypatch.setattr(audit_checks, 'read_check_texts', lambda: content)


def test_every_check_has_a_section():
    ids = re.findall(r'^\[(.+)]$', audit_checks.read_check_texts(), re.MULTILINE)
    assert ids == [*(check.id for check in CHECKS), 'wrong']


def test_the_texts_of_checks_exist_without_docstrings():
    argv = [sys.executable, '-OO', '-m', 'placementclient']
    explain = ['resource', 'provider', 'audit', '--explain', 'orphan']
    run = subprocess.run([*argv, *explain], capture_output=True, text=True, check=True)
    assert 'Why it matters: ' in run.stdout


def test_the_text_of_a_check_is_printed_on_a_terminal():
    assert '\n'.join(audit_checks.format_check(CHECK, 40)) == (
        'wrong (error, needs --servers and --ports)\n\n'
        'A host is wrong.\n\nRatios count too.\n\nWhy it matters: nothing works.\n\n'
        'Safe to fix: yes.\n\nLook yourself: "openstack resource\nprovider list" and ls\n\n'
        'Example: used 9, capacity 8'
    )


def test_the_text_of_a_check_is_printed_as_data():
    assert audit_checks.list_checks([CHECK]) == (
        ('id', 'severity', 'needs', 'summary', 'details', 'matters', 'fix', 'look', 'example'),
        [
            (
                'wrong', 'error', ['servers', 'ports'], 'A host is wrong.', 'Ratios count too.',
                'nothing works.', 'yes.', '"openstack resource provider list" and ls',
                'used 9, capacity 8',
            )
        ],
    )  # fmt: skip


@pytest.mark.parametrize('check', CHECKS, ids=lambda check: check.id)
def test_a_text_fits_a_terminal(check):
    assert max(map(len, audit_checks.format_check(check, 80))) <= 80


def sections(checks):
    """Return the part of the documentation about checks: a table, and the texts."""
    cells = (
        (f':ref:`audit-{c.id}`', c.severity.value, audit_checks.find_check_texts(c.id)['summary'])
        for c in checks
    )
    rows = (('id', 'severity', 'finds'), *cells)
    lines = (f'   {"- " if n else "* - "}{cell}' for row in rows for n, cell in enumerate(row))
    table = '\n'.join(line.replace('   - ', '     - ', 1) for line in lines)
    yield f'.. list-table::\n   :header-rows: 1\n   :widths: 20 10 70\n\n{table}'
    for check in checks:
        needs = f' Needs {_literal(check.needs)}.' if check.needs else ''
        texts = audit_checks.find_check_texts(check.id)
        paragraphs = [f'*{check.severity.value.capitalize()}.*{needs} {texts["summary"]}']
        for name, label in audit_checks.LABELS.items():
            if (text := texts[name]) and name != 'summary':
                paragraphs.append(f'**{label.strip()}** {text}' if label else text)
        heading = f'.. _audit-{check.id}:\n\n{check.id}\n{"-" * len(check.id)}'
        yield '\n\n'.join((heading, *map(_filled, paragraphs)))


def _literal(names):
    return ', '.join(f'``--{name}``' for name in names)


def _filled(text):
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def written(page):
    """Return the page with the texts that there are."""
    before, heading, _ = page.partition(_HEADING)
    return before + heading + '\n\n'.join(sections(CHECKS)) + '\n'


def test_the_page_has_the_same_texts():
    page = PAGE.read_text()
    assert page == written(page), f'python -m {__spec__.name} writes the page'


if __name__ == '__main__':
    PAGE.write_text(written(PAGE.read_text()))
