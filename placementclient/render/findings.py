# SPDX-License-Identifier: Apache-2.0
"""The table of the findings of an audit."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from placementclient.basis.wording import format_count, join_names
from placementclient.insight.audit.checks import Audit
from placementclient.insight.audit.cloud import Cloud
from placementclient.model.findings import Finding, Severity
from placementclient.model.nova import MIGRATION
from placementclient.placing.providers import is_sharing
from placementclient.render.audit_checks import describe_check
from placementclient.render.columns import Output
from placementclient.render.evidence import describe_evidence
from placementclient.render.facts import Facts, add_server_name
from placementclient.render.lines import wrap_lines
from placementclient.render.repairs import Invocation, choose_command_or_reason

#: The columns of a finding; ``--fix`` adds one.
_COLUMNS = ('id', 'severity', 'subject', 'evidence', 'command', 'reason')
#: The cell of a finding that --fix does not fix: the column reason says why.
LEFT = 'left to you'
#: The cells of those that need no command any more.
_FIXED = ('done', 'planned')
#: About a host of which the lists know nobody.
_FOREIGN = ', so it is a host of another Nova, of another cell, or a removed one'
_MOST_SEVERE_FIRST = list(Severity)
#: The texts before the cells of these columns, for people.
LABELS = {'evidence': '', 'reason': 'No automatic fix: ', 'command': 'Run: ', 'fix': 'Fix: '}


def describe_clean_audit(checks: int, cloud: Cloud, roots: Collection[str]) -> str:
    """Return the sentence about an audit without findings.

    :param checks: the number of checks
    :param roots: UUIDs of the roots of the audited trees; none: all trees
    """
    trees = roots or cloud.topology.trees.keys()
    states = [state for root in trees for state in cloud.topology.trees[root]]
    consumers = {c.uuid for state in states for c in cloud.snapshot.consumers_on(state.uuid)}
    return (
        f'Nothing found: {format_count(checks, "check")} of {format_count(len(trees), "tree")} '
        f'with {format_count(len(states), "provider")} and '
        f'{format_count(len(consumers), "consumer")}'
    )


def describe_unread_lists(reasons: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each reason why Nova's lists could not be read.

    :param reasons: by the option that gives the list as a file
    """
    for reason, options in _group_by_reason(reasons.items()):
        lists = 'list as a file' if len(options) == 1 else 'lists as files'
        yield f'{reason}. Give the {lists}: {", ".join(f"--{name} FILE" for name in options)}'


def list_omitted_checks(audit: Audit) -> list[str]:
    """Return a text for each reason why checks were not made: their IDs, and the missing lists."""
    lists = (
        (id, ' and '.join(name if ' ' in name else f'--{name}' for name in lacking))
        for id, lacking in audit.left_out.items()
    )
    return [f'{", ".join(ids)} ({lacking})' for lacking, ids in _group_by_reason(lists)]


def summarize_omitted_checks(audit: Audit) -> str:
    """Return the sentence with the number of the checks that were not made, and what they need."""
    lacking = dict.fromkeys(name for names in audit.left_out.values() for name in names)
    options = [f'--{name}' for name in lacking if ' ' not in name]
    reasons = [f'Missing: {", ".join(options)}'] if options else []
    reasons += [f'{reason[0].upper()}{reason[1:]}' for reason in lacking if ' ' in reason]
    number = format_count(len(audit.left_out), 'check')
    first = f'{number} was left out (-v names it)'
    if len(audit.left_out) > 1:
        first = f'{number} were left out (-v names them)'
    return '. '.join([first, *reasons])


def _group_by_reason(reasons: Iterable[tuple[str, str]]) -> Iterable[tuple[str, list[str]]]:
    """Return each reason with the names that have it.

    :param reasons: pairs of a name and its reason
    """
    names: dict[str, list[str]] = {}
    for name, reason in reasons:
        names.setdefault(reason, []).append(name)
    return names.items()


def describe_unjudged_servers(audit: Audit) -> Iterator[str]:
    """Yield the sentence about the servers that the audit could not judge, if there are any."""
    skipped = sorted(_group_by_reason(audit.passed_over.items()))
    names = [f'{join_names(sorted(servers), 3)} ({reason})' for reason, servers in skipped]
    if names:
        count = format_count(len(audit.passed_over), 'server')
        verb = 'was' if len(audit.passed_over) == 1 else 'were'
        later = 'Take a new snapshot and new lists, and audit again'
        yield f'{count} {verb} not judged: {"; ".join(names)}. {later}'


def describe_waiting_subjects(
    cloud: Cloud, subjects: Iterable[str], findings: Iterable[Finding]
) -> Iterator[str]:
    """Yield why there is no finding about each subject that is a migration, or about to move."""
    found = {finding.subject for finding in findings}
    for uuid in subjects:
        migration, server = cloud.judge.find_migration(uuid), cloud.servers.get(uuid)
        consumer = cloud.snapshot.consumers.get(uuid)
        if uuid in found:
            continue
        if migration and not migration.is_over:
            owner = f'a migration of the server {migration.server_uuid}'
            yield f'{uuid} is {owner}: {migration.retention_reason}'
        elif server and (reason := cloud.judge.explain_movement(server)):
            yield f'{uuid}: {reason}'
        elif consumer and consumer.type == MIGRATION and not migration:
            yield f'{uuid} is a migration that no list has: give --migrations'


def describe_known_consumers(cloud: Cloud, findings: Iterable[Finding]) -> Iterator[str]:
    """Yield how many consumers of each host with an orphan allocation are in the lists of Nova."""
    known = {*(cloud.lists.servers or ()), *cloud.migration_of_consumer}
    roots = sorted(
        {root for f in findings if f.kind == 'orphan' for root in f.roots}, key=cloud.get_name
    )
    for root in roots:
        states = [s for s in cloud.topology.trees[root] if not is_sharing(s)]
        users = {c.uuid for state in states for c in cloud.snapshot.consumers_on(state.uuid)}
        if users:
            others = '' if users & known else _FOREIGN
            count = format_count(len(users), 'consumer')
            sentence = f'the lists know {len(users & known)} of {count}{others}'
            yield f'{cloud.get_name(root)}: {sentence}'


def describe_cells_down(hosts: Sequence[str]) -> Iterator[str]:
    """Yield the sentence about the hosts whose cells of Nova do not answer, if there are any."""
    if hosts:
        yield (
            f'A cell of Nova does not answer: {format_count(len(hosts), "host")} '
            f'({join_names(hosts, 3)}) and their servers are in no list, so audit cannot judge them'
        )


def sort_by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings with the most severe ones first, equally severe ones in their order."""
    return sorted(findings, key=lambda finding: _MOST_SEVERE_FIRST.index(finding.severity))


def list_findings(
    findings: Sequence[Finding],
    invocation: Invocation,
    results: Mapping[int, str] | None = None,
) -> Output:
    """Return a table of findings, each with its command or the reason why it has none.

    :param results: of ``--fix``, by the position of the finding
    """
    cells = [
        (
            f.kind,
            f.severity.value,
            Facts(f.subject, partial(add_server_name, servers=invocation.servers)),
            Facts(f.facts, partial(describe_evidence, f.kind)),
            *choose_command_or_reason(f, invocation),
        )
        for f in findings
    ]
    if results is None:
        return _COLUMNS, cells
    fixed = [(*row, results.get(place, LEFT)) for place, row in enumerate(cells)]
    return (*_COLUMNS, 'fix'), fixed


def format_findings(
    names: Sequence[str], rows: Iterable[Sequence[object]], width: int, program: str
) -> Iterator[str]:
    """Yield the lines of findings for people, a paragraph for each, the most severe first.

    :param names: of the columns
    :param width: of the longest line, in characters
    :param program: the name of the program whose command explains a check
    """
    findings = [dict(zip(names, cells, strict=True)) for cells in rows]
    if 'severity' in names:
        findings.sort(key=lambda row: _MOST_SEVERE_FIRST.index(Severity(row['severity'])))
    _drop_needless_commands(findings)
    for number, row in enumerate(findings):
        if number:
            yield ''
        yield from _format_finding(row, width)
    if findings and {'id', 'severity'} <= set(names):
        example = findings[0]['id']
        yield ''
        yield f'Explain: {program} resource provider audit --explain {example}'


def _drop_needless_commands(findings: Iterable[dict[str, object]]) -> None:
    """Remove the commands of the findings that are fixed, and those that are printed already."""
    titles = dict[object, str]()
    for row in findings:
        command = row.get('command')
        if row.get('fix') in _FIXED:
            row['command'] = ''
        elif command in titles:
            row['command'] = f'the command of {titles[command]} above'
        elif command:
            titles[command] = _format_finding_title(row)


def _format_finding_title(row: dict[str, object]) -> str:
    return ' '.join(str(row[name]) for name in ('severity', 'id', 'subject') if name in row)


def _format_finding(row: dict[str, object], width: int) -> Iterator[str]:
    """Yield the lines of one finding; its command is never broken."""
    yield _format_finding_title(row)
    if 'severity' in row and 'id' in row:
        yield from wrap_lines([f'  {describe_check(str(row["id"]))}'], width, hanging=2)
    is_left = bool(row.get('reason')) and row.get('fix') == LEFT
    for name, label in LABELS.items():
        text = str(row.get(name, ''))
        if text and not (name == 'fix' and is_left):
            line = f'  {label}{text}'
            yield from [line] if name == 'command' else wrap_lines([line], width, hanging=2)
