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
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING

from placementclient.basis import errors
from placementclient.basis.printable import FORMULA, escape_text
from placementclient.basis.wording import format_count, format_install_command
from placementclient.insight import summary
from placementclient.insight.audit.checks import CHECKS
from placementclient.insight.capacity.totals import TotalsLine
from placementclient.model.findings import Severity
from placementclient.model.snapshots import Origin
from placementclient.placing.providers import is_sharing
from placementclient.render import audit_checks, findings, plans, style
from placementclient.render.report import contents
from placementclient.render.report.contents import (
    ClassFill,
    Fill,
    Report,
)
from placementclient.render.report.records import Records
from placementclient.render.report.verdict import list_statements
from placementclient.render.units import LADDER, UNITS, format_amount

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

#: How many classes have a column of their own in the list of hosts.
COLUMNS = 5
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
        """Return a text with its control characters escaped; other values as they are."""
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
    return environment.from_string(_read_page_file('page.html'))


def render_page(template: jinja2.Template, report: Report) -> str:
    """Return the page of a report as HTML."""
    cloud, class_fills = report.cloud, contents.list_class_fills(report.cloud)
    plan, changes = report.plan, report.plan.changes if report.plan else ()
    fill_changes = contents.compare_fills(changes)
    classes, others = _choose_host_columns(class_fills)
    sheet = _read_page_file('page.css')
    statements = _read_page_file('elements.js') + _read_page_file('page.js')
    script = f"'use strict';\n(() => {{\n{statements}}})();\n"
    return template.render(
        report=report,
        origin=cloud.snapshot.origin or Origin(),
        statements=list_statements(report, class_fills, fill_changes),
        numbers=summary.summarize(cloud.snapshot),
        shared_pools=sum(map(is_sharing, cloud.snapshot.roots())),
        plan=plan,
        plan_counts=plan and plans.count_plan_parts(plan),
        fill_changes=fill_changes,
        plan_warnings=list(plans.list_warnings(changes)),
        drain=report.drain,
        class_fills=class_fills,
        host_fills=contents.list_host_fills(cloud),
        audit=_make_audit_section(report),
        host_columns=[(name, '') for name in ('Host', *classes, *others)],
        policy=_make_content_security_policy(sheet, script),
        sheet=sheet,
        script=script,
        records=_make_records(report, classes, others),
    )


def _make_audit_section(report: Report) -> dict[str, object]:
    """Return the checks that found something, the most severe first, and sentences on the audit."""
    audit = report.audit
    counts = Counter(finding.kind for finding in audit.findings)
    by_severity = sorted(CHECKS, key=lambda check: list(Severity).index(check.severity))
    groups = findings.list_omitted_checks(audit)
    count = format_count(len(audit.left_out), 'check')
    omitted = f'Left out: {count}, each with the list that it needs: {"; ".join(groups)}'
    made = len(CHECKS) - len(audit.left_out)
    return {
        'checks': [(check, counts[check.id]) for check in by_severity if counts[check.id]],
        'nothing': findings.describe_clean_audit(made, report.cloud, ()),
        'gaps': [*([omitted] if groups else []), *findings.describe_unjudged_servers(audit)],
    }


def _choose_host_columns(class_fills: Sequence[ClassFill]) -> tuple[list[str], list[str]]:
    """Return the classes with a column of their own, and the heading of the column for all others.

    The second list is empty if no class is left.
    """
    by_trees = sorted(class_fills, key=lambda fill: (-fill.tree_count, fill.line.resource_class))
    classes = [fill.line.resource_class for fill in by_trees]
    return classes[:COLUMNS], ['Other classes'] if len(classes) > COLUMNS else []


def _make_records(
    report: Report, classes: Sequence[str], others: Sequence[str]
) -> dict[str, object]:
    """Return what the script of the page reads: the records, and the words and units for them.

    :param classes: those with a column of their own in the table of hosts
    :param others: the heading of the column for all other classes; empty: there is none
    """
    return {
        **Records(report).make_document(),
        'columns': [escape_text(name) for name in classes],
        'others': others,
        'units': UNITS,
        'ladder': LADDER,
        'formula': FORMULA,
        'labels': findings.LABELS,
        'levels': [[share, _LEVELS[colour]] for share, colour in style.LEVELS],
    }


def choose_fill_level(amount: Fill | TotalsLine) -> str:
    """Return the word that the style sheet has for a usage: ``full``, ``high`` or ``usual``."""
    return _LEVELS[style.choose_colour(amount.used, amount.capacity)]


def _mark_literals(text: str) -> Markup:
    """Return a sentence with its double backquotes as ``code`` elements."""
    from markupsafe import Markup, escape

    return Markup(re.sub('``(.+?)``', r'<code>\1</code>', str(escape(text))))  # noqa: S704


def _read_page_file(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding='utf-8')


def _make_content_security_policy(sheet: str, script: str) -> str:
    """Return the policy that allows only one style sheet and one script, by their digests."""
    digests = [
        f"'sha256-{base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()}'"
        for part in (sheet, script)
    ]
    return (
        f"default-src 'none'; style-src {digests[0]}; script-src {digests[1]}; base-uri 'none'; "
        "form-action 'none'"
    )
