"""The JSON Schema of the files of the reshape."""

from __future__ import annotations

import argparse
import json

from placementclient.commands.framework.document import DocumentCommand, Text
from placementclient.commands.framework.option import Option

_KINDS = ('spec', 'assignments', 'snapshot', 'plan', 'events')


class SchemaReshape(DocumentCommand):
    """Print the JSON Schema of a file of the reshape.

    Editors check and complete with it what people write; programs generate from it what reads or
    writes the file. What the schema admits may still be refused, with its line, when it is read.

    Example:

      openstack resource provider reshape schema spec
    """

    auth_required = False
    options = (
        Option(
            'kind',
            metavar='<file>',
            choices=_KINDS,
            help='Which file: the specification (spec), assignments, snapshot, plan, or each '
            'line of --json-lines (events)',
        ),
    )

    def text(self, parsed_args: argparse.Namespace) -> Text:
        # Loaded only here: OpenStackClient loads every command's module before it runs one.
        from placementclient.planner.records import schema

        shown = schema.schema(parsed_args.kind)
        return Text(shown, json.dumps(shown, indent=2).splitlines())
