# SPDX-License-Identifier: Apache-2.0
"""Configuration of the documentation, and the pages of the commands."""

import os
import re
from importlib import metadata
from pathlib import Path

from cliff import commandmanager, sphinxext
from docutils import nodes
from docutils.statemachine import StringList

from placementclient.cli import command_help
from placementclient.cli.entry_points import load_command

#: Options of every command that prints: the page "Commands" describes them once.
FORMATTING = [
    *('-f', '-c', '--quote', '--noindent', '--prefix', '--max-width', '--fit-width'),
    *('--print-empty', '--sort-column', '--sort-ascending', '--sort-descending'),
]
PROGRAM = 'placementclient.program'
COMMANDS = 'openstack.placement.v1'
#: The group of the commands that only the program ``placement`` has.
OWN = command_help.extract_subject('batch')

project = 'python-placementclient'
copyright = 'The python-placementclient developers'
release = metadata.version(project)
# A version between two releases is too long for the sidebar: 1.0.0.dev357+g0a1b2c3.
version = re.sub(r'\.?dev.*', ' (development)', release)
extensions = [
    'sphinx.ext.autodoc',
    'sphinx.ext.imgconverter',
    'cliff.sphinxext',
    'openstackdocstheme',
    'reno.sphinxext',
]
autoprogram_cliff_application = 'openstack'
autoprogram_cliff_ignored = ['--help', *FORMATTING]
openstackdocs_auto_name = False
openstackdocs_auto_version = False
html_theme = 'openstackdocs'
html_theme_options = {'display_badge': False, 'analytics_tracking_code': ''}
html_static_path = ['_static']
html_css_files = ['pages.css']
html_copy_source = False
highlight_language = 'sh'
exclude_patterns = ['include']
nitpicky = False
# Options keep their two hyphens.
smartquotes = False
# XeLaTeX knows the characters of trees and tables.
latex_engine = 'xelatex'
latex_use_xindy = False
man_pages = [('man/placement', 'placement', "the operator's tool for OpenStack Placement", '', 1)]


class CommandGroup(sphinxext.AutoprogramCliffDirective):
    """The commands with a common subject, such as ``resource provider trait``."""

    required_arguments = 0
    has_content = False

    def run(self):
        group = self.options['command']
        namespace, application = (PROGRAM, 'placement') if group == OWN else (COMMANDS, 'openstack')
        found = commandmanager.CommandManager(namespace)
        chosen = [name for name in found.commands if command_help.extract_subject(name) == group]
        self.env = self.state.document.settings.env
        loaded = {name: self._load_command(found, name) for name in chosen}
        return self._generate_command_nodes(loaded, application)


class CommandStatuses(CommandGroup):
    """A table of the exit statuses that each command has beside 0, 1 and 2."""

    def run(self):
        found = commandmanager.CommandManager(COMMANDS)
        commands = [(name, load_command(point)) for name, point in sorted(found)]
        rows = [
            f'   * - ``{name}``\n     - {int(status)}\n     - {text}'
            for name, command in commands
            for status, text in command.statuses
        ]
        table = '.. list-table::\n   :widths: 45 10 45\n\n' + '\n'.join(rows)
        node = nodes.section()
        self.state.nested_parse(StringList(table.splitlines()), 0, node)
        return node.children


def write_command_pages(app):
    """Write a page for each group of commands, before the pages are looked for."""
    folder = Path(app.srcdir) / 'commands'
    folder.mkdir(exist_ok=True)
    names = [
        name
        for namespace in (COMMANDS, PROGRAM)
        for name in commandmanager.CommandManager(namespace).commands
    ]
    pages = {}
    for group in sorted({command_help.extract_subject(name) for name in names}):
        title = 'batch and complete' if group == OWN else group
        line = '=' * len(title)
        text = f'{line}\n{title}\n{line}\n\n.. command-group::\n   :command: {group}\n'
        pages[folder / f'{title.replace(" ", "-")}.rst'] = text
    for stale in set(folder.glob('*.rst')) - set(pages):
        stale.unlink()
    for path, text in pages.items():
        # An unchanged page is not read again.
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def with_literal_blocks(text):
    """Make code blocks of the examples and tables of a help text.

    :param text: paragraphs; what is indented below a colon stays as it is
    """
    return re.sub(r':\n\n?(?=  )', '::\n\n', text)


def with_links_to_pages(app, page, source):
    """Link pages from the index, whose links also work on a code host."""
    if page == 'index':
        source[0] = re.sub(r'`([^`]+) <([\w/-]+)\.rst>`__', r':doc:`\1 <\2>`', source[0])


def setup(app):
    # reno and the theme look for the repository from the current folder on.
    os.chdir(Path(__file__).parents[2])
    described, ended = sphinxext._format_description, sphinxext._format_epilog

    def description(parser):
        parser.description = with_literal_blocks(parser.description)
        return described(parser)

    def epilog(parser):
        parser.epilog = parser.epilog and with_literal_blocks(parser.epilog)
        return ended(parser)

    sphinxext._format_description, sphinxext._format_epilog = description, epilog
    app.add_directive('command-group', CommandGroup)
    app.add_directive('command-statuses', CommandStatuses)
    app.connect('builder-inited', write_command_pages)
    app.connect('source-read', with_links_to_pages)
