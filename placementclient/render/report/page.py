# SPDX-License-Identifier: Apache-2.0
"""The page: the template with style, script and records.

The policy in the page forbids to load anything, and to run or apply anything but the one script and
the one style that are in it, which it knows by their digests. Bars are SVG, as a ``style`` at an
element would be refused.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from importlib import resources
from typing import TYPE_CHECKING

from placementclient.basis import errors
from placementclient.basis.printable import FORMULA, escape_text
from placementclient.basis.wording import format_install_command
from placementclient.insight import summary
from placementclient.insight.audit.checks import CHECKS, Check
from placementclient.insight.capacity.totals import TotalsLine
from placementclient.model.findings import Severity
from placementclient.model.snapshots import Origin
from placementclient.placing.providers import is_sharing
from placementclient.render import audit_checks, findings, plans, style
from placementclient.render.report import contents
from placementclient.render.report.contents import Fill, Report
from placementclient.render.report.records import Records
from placementclient.render.report.verdict import state_verdict
from placementclient.render.units import LADDER, UNITS, format_amount

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

#: How many classes have a column of their own in the list of trees.
COLUMNS = 5
#: How many hosts stand in a row of the heat map.
_HEAT_COLUMNS = 60
#: How full something is, in the words of the style sheet.
_LEVELS = {'red': 'full', 'yellow': 'high', 'cyan': 'usual'}


def load_template() -> jinja2.Template:
    """Return the template of the page.

    :raises errors.PlacementError: if Jinja2 is not installed
    """
    try:
        import jinja2
    except ImportError:
        raise errors.PlacementError(
            f'A report needs Jinja2: {format_install_command("report")}'
        ) from None

    def make_printable(value: object) -> object:
        return escape_text(value) if type(value) is str else value

    environment = jinja2.Environment(
        autoescape=True,
        finalize=make_printable,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        'counted': lambda count, noun: f'{count:,} {noun}{"" if count == 1 else "s"}',
        'moment': lambda text: text.replace('T', ' ').replace('+00:00', ' UTC'),
        'number': '{:,}'.format,
        'percent': contents.format_percent,
        'sized': lambda amount, name: format_amount(name, amount),
        'meaning': lambda check_id: audit_checks.find_check_texts(check_id)['summary'],
        'literals': _mark_literals,
        'level': choose_fill_level,
    }
    compact = {'ensure_ascii': False, 'separators': (',', ':'), 'allow_nan': False}
    environment.policies['json.dumps_kwargs'] = compact
    return environment.from_string(_read_part('page.html'))


def render_page(template: jinja2.Template, report: Report) -> str:
    """Return the page of a report as HTML."""
    cloud, plan, rooms = report.cloud, report.plan, contents.list_class_fills(report.cloud)
    by_trees = sorted(rooms, key=lambda room: (-room.trees, room.line.resource_class))
    columns = [room.line.resource_class for room in by_trees[:COLUMNS]]
    # A column for the others, where there are any.
    others = ['Other classes'] if len(rooms) > len(columns) else []
    records = {
        **Records(report).make_document(),
        'columns': [escape_text(name) for name in columns],
        'others': others,
        'units': UNITS,
        'ladder': LADDER,
        'formula': FORMULA,
        'levels': [[share, _LEVELS[colour]] for share, colour in style.LEVELS],
    }
    sheet, script = _read_part('page.css'), _read_script()
    changed = contents.compare_fills(plan) if plan else []
    groups = findings.list_omitted_checks(report.audit)
    left_out = [f'Left out: {"; ".join(groups)}'] if groups else []
    return template.render(
        report=report,
        origin=cloud.snapshot.origin or Origin(),
        summary=summary.summarize(cloud.snapshot),
        shared=sum(map(is_sharing, cloud.snapshot.roots())),
        checks=_checks_with_findings(report),
        unfounded=findings.describe_clean_audit(
            len(CHECKS) - len(report.audit.left_out), cloud, ()
        ),
        remarks=[*left_out, *findings.describe_unjudged_servers(report.audit)],
        plan=plan,
        drain=report.drain,
        planned=plans.count_plan_parts(plan) if plan else {},
        changed=changed,
        warnings=list(plans.list_warnings(plan.changes)) if plan else [],
        rooms=rooms,
        heat=contents.list_host_fills(cloud),
        heat_columns=_HEAT_COLUMNS,
        verdict=state_verdict(report, rooms, changed),
        tree_columns=[(name, '') for name in ('Host', *columns, *others)],
        policy=_make_policy(sheet, script),
        sheet=sheet,
        script=script,
        records=records,
    )


def _checks_with_findings(report: Report) -> list[tuple[Check, int]]:
    """Return the checks that found something, most severe first, with the number of findings."""
    counts = Counter(finding.kind for finding in report.audit.findings)
    return [
        (check, counts[check.id])
        for severity in Severity
        for check in CHECKS
        if check.severity is severity and counts[check.id]
    ]


def choose_fill_level(amount: Fill | TotalsLine) -> str:
    """Return the word of the style sheet for a usage."""
    return _LEVELS[style.choose_colour(amount.used, amount.capacity)]


def _mark_literals(text: str) -> Markup:
    """Return a sentence with its double backquotes as ``code`` elements."""
    from markupsafe import Markup, escape

    return Markup(re.sub('``(.+?)``', r'<code>\1</code>', str(escape(text))))  # noqa: S704


def _read_part(name: str) -> str:
    """Return the text of a file that belongs to the page."""
    return (resources.files(__package__) / name).read_text(encoding='utf-8')


def _read_script() -> str:
    """Return the script of the page."""
    statements = _read_part('elements.js') + _read_part('page.js')
    return f"'use strict';\n(() => {{\n{statements}}})();\n"


def _make_policy(*parts: str) -> str:
    """Return the policy that allows one style sheet and one script, by their digests."""
    sheet, script = (
        f"'sha256-{base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()}'"
        for part in parts
    )
    return (
        f"default-src 'none'; style-src {sheet}; script-src {script}; base-uri 'none'; "
        "form-action 'none'"
    )
