# SPDX-License-Identifier: Apache-2.0
"""The table of the findings of an audit."""

import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from placementclient.basis.wording import counted, listed
from placementclient.insight.audit.checks import Audit
from placementclient.insight.audit.cloud import Cloud
from placementclient.model.findings import Finding
from placementclient.placing.providers import is_sharing
from placementclient.render.columns import Output
from placementclient.render.facts import Facts, evidence
from placementclient.render.repairs import Invocation, next_step

#: The columns of a finding; ``--fix`` adds one.
_COLUMNS = ('id', 'severity', 'subject', 'evidence', 'command', 'reason')
#: The cell of a finding that --fix does not fix: the column reason says why.
LEFT = 'left to you'
#: About a host of which the lists know nobody.
_FOREIGN = ', so it is a host of another Nova, of another cell, or a removed one'
#: The texts before the cells of these columns in a paragraph.
_LABELS = {'evidence': '', 'reason': 'Left to you: ', 'command': 'Run: ', 'fix': 'Fix: '}


def nothing(checks: int, cloud: Cloud, roots: Collection[str]) -> str:
    """Return the sentence about an audit without findings; without roots of all trees."""
    trees = roots or cloud.topology.trees.keys()
    states = [state for root in trees for state in cloud.topology.trees[root]]
    consumers = {c.uuid for state in states for c in cloud.snapshot.consumers_on(state.uuid)}
    return (
        f'Nothing found: {counted(checks, "check")} of {counted(len(trees), "tree")} with '
        f'{counted(len(states), "provider")} and {counted(len(consumers), "consumer")}'
    )


def failures(reasons: Mapping[str, str]) -> Iterator[str]:
    """Return sentences about refused lists, from the reasons by the options for the lists."""
    for reason, options in _grouped(reasons.items()):
        yield f'{reason}. A file does instead: {", ".join(f"--{name}" for name in options)}'


def left_out(audit: Audit) -> list[str]:
    """Return the checks that were not made, grouped by the missing lists."""
    lists = (
        (id, ' and '.join(name if ' ' in name else f'--{name}' for name in lacking))
        for id, lacking in audit.left_out.items()
    )
    return [f'{", ".join(ids)} ({lacking})' for lacking, ids in _grouped(lists)]


def _grouped(reasons: Iterable[tuple[str, str]]) -> Iterable[tuple[str, list[str]]]:
    """Return each reason with the names that it belongs to."""
    names: dict[str, list[str]] = {}
    for name, reason in reasons:
        names.setdefault(reason, []).append(name)
    return names.items()


def remarks(audit: Audit) -> Iterator[str]:
    """Return the sentence about skipped servers, if there are any."""
    if audit.passed_over:
        counts = ', '.join(
            f'{counted(number, "server")} ({reason})'
            for reason, number in sorted(audit.passed_over.items())
        )
        yield f'Passed over, so audit again later: {counts}'


def known_consumers(cloud: Cloud, findings: Iterable[Finding]) -> Iterator[str]:
    """Return for each host with a leak how many of its consumers the lists of Nova know."""
    known = {*(cloud.answers.servers or ()), *cloud.migration_of_consumer}
    roots = sorted(
        {root for f in findings if f.kind == 'orphan' for root in f.roots}, key=cloud.name
    )
    for root in roots:
        states = [s for s in cloud.topology.trees[root] if not is_sharing(s)]
        users = {c.uuid for state in states for c in cloud.snapshot.consumers_on(state.uuid)}
        if users:
            others = '' if users & known else _FOREIGN
            count = counted(len(users), 'consumer')
            yield f'{cloud.name(root)}: the lists know {len(users & known)} of {count}{others}'


def cells_down(hosts: Sequence[str]) -> Iterator[str]:
    """Return the sentence about the hosts whose cells do not answer; none without such hosts."""
    if hosts:
        yield (
            f'A cell of Nova does not answer: {counted(len(hosts), "host")} ({listed(hosts, 3)}) '
            'and their servers are in no list, and what is not found there is not known'
        )


def rows(
    findings: Sequence[Finding], invocation: Invocation, done: Mapping[int, str] | None = None
) -> Output:
    """Return the findings, each with its command or the reason why it has none.

    :param done: the results of ``--fix`` by the number of the finding
    """
    cells = [
        (f.kind, f.severity.value, f.subject, Facts(f.facts, evidence), *next_step(f, invocation))
        for f in findings
    ]
    if done is None:
        return _COLUMNS, cells
    fixed = [(*row, done.get(place, LEFT)) for place, row in enumerate(cells)]
    return (*_COLUMNS, 'fix'), fixed


def paragraphs(names: Sequence[str], rows: Iterable[Sequence[Any]], width: int) -> Iterator[str]:
    """Return the lines of findings for people, a paragraph for each; no command is broken."""
    for number, cells in enumerate(rows):
        row = dict(zip(names, cells, strict=True))
        if row.get('reason') and row.get('fix') == LEFT:
            del row['fix']
        if number:
            yield ''
        yield ' '.join(str(row[name]) for name in ('severity', 'id', 'subject') if name in row)
        for name, label in _LABELS.items():
            text = str(row.get(name, ''))
            if not text:
                continue
            yield from textwrap.wrap(
                f'{label}{text}', len(text) + len(label) + 2 if name == 'command' else width,
                initial_indent='  ', subsequent_indent='    ',
                break_long_words=False, break_on_hyphens=False,
            )  # fmt: skip
