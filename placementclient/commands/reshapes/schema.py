"""The JSON Schemas of the files of a reshape."""

from __future__ import annotations

import argparse
import json

from placementclient.commands.framework.document import DocumentCommand, Text
from placementclient.commands.framework.option import Option

_KINDS = ('spec', 'assignments', 'snapshot', 'plan')


class SchemaReshape(DocumentCommand):
    """Print the JSON Schema of a file of the reshape.

    Editors use it to check and complete the file; programs generate code from it. A file may match
    the schema and still be refused, with the line, when a command reads it.

    Example:

      openstack resource provider reshape schema spec
    """

    auth_required = False
    options = (
        Option(
            'kind',
            metavar='<file>',
            choices=_KINDS,
            help='The specification (spec), assignments, snapshot or plan',
        ),
    )

    def text(self, parsed_args: argparse.Namespace) -> Text:
        from placementclient.planner.records import schema

        shown = schema.schema(parsed_args.kind)
        return Text(shown, json.dumps(shown, indent=2).splitlines())
