# SPDX-License-Identifier: Apache-2.0
"""Completion."""

import os

from placementclient.cli.completion import script
from placementclient.commands.framework import base
from placementclient.commands.framework.option import Option


class PrintCompletion(base.PlacementCommand):
    """Print a script that completes commands, options, choices, and names of the cloud.

    Example:

      source <(placement complete bash)

    A key press asks for names of resource providers, resource classes and traits at most once a
    minute, and waits 2 seconds at most.
    """

    auth_required = False
    options = (
        Option(
            'shell',
            metavar='<shell>',
            nargs='?',
            choices=script.SHELLS,
            help=f'{", ".join(script.SHELLS)}; without it, the one that SHELL names',
        ),
    )

    def execute(self) -> None:
        shell = self.args.shell or os.path.basename(os.environ.get('SHELL', ''))
        commands = {'': script.read_syntax(self.app.parser)}
        for name, point in sorted(self.app.command_manager):
            parser = point.load()(self.app, None, cmd_name=name).get_parser(name)
            commands[name] = script.read_syntax(parser, name)
        with self.report_print_errors():
            for line in script.format_script(shell if shell in script.SHELLS else 'bash', commands):
                print(line, file=self.app.stdout)
