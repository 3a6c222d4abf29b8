"""Rules about a cloud, for a pipeline."""

from __future__ import annotations

import argparse
import functools

from placementclient.client import errors
from placementclient.commands.framework import base, reading, watching
from placementclient.commands.framework.option import Flag, Option


class CheckProvider(watching.WatchingLister):
    """Check rules about the state of a cloud, and print where they are broken.

    The file is a list of rules, as YAML or JSON. Each rule has a name, and selects hosts or
    providers with the filters that other commands have as options. It says what to expect of them:
    traits, aggregates, inventories, children, consumers, usage, names, room for more servers. A
    rule that selects nothing holds, and standard error names it; with --strict it is broken.

    With --assume or --plan the rules are checked on the cloud as it would be. Nothing is written.

    Example:

      openstack resource provider check rules.yaml --plan plan.json --junit check.xml
    """

    auth_required = False
    prints = ('rule', 'subject', 'expected', 'found')
    statuses = ((errors.ExitStatus.DIFFERS, 'a rule is broken'),)
    options = (
        Option('file', help='The rules; - for stdin'),
        *reading.OPTIONS,
        Option(
            '--plan',
            help='Check the cloud as it would be after this plan, of a reshape or of changes',
        ),
        Option(
            '--flavors <file>|nova',
            help='The flavors that rules name: a file with the answer of GET /flavors/detail. '
            'Default: nova, ask Nova if a rule names a flavor',
        ),
        Flag('--strict', help='A rule that selects nothing counts as broken'),
        Option(
            '--junit <file>',
            help='Write the outcome of each rule to this file too, as XML in the form of JUnit',
        ),
        watching.WATCH,
    )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Output:
        from placementclient import files
        from placementclient.insight.rules import rules
        from placementclient.render import rules as tables

        path = parsed_args.file
        flavors = functools.partial(reading.flavors_of, self, parsed_args, path)
        wanted = rules.parse(files.read_text(path), path, flavors)
        snapshot = reading.cloud(self, parsed_args, plan=parsed_args.plan).snapshot
        checked = rules.check(snapshot, wanted, is_strict=parsed_args.strict)
        self.warn(tables.notes(checked))
        if parsed_args.junit:
            files.write_text(parsed_args.junit, tables.junit(checked, path), files.READABLE)
        self.nothing = tables.nothing(checked)
        if any(each.breaches for each in checked):
            self.exit_status = errors.ExitStatus.DIFFERS
        return tables.rows(checked)
