# SPDX-License-Identifier: Apache-2.0
"""What pages show: their blocks, and the clouds of the reshape that they show it on."""

import contextlib
import itertools
import os
import re
import shlex
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from placementclient.commands.framework import base
from placementclient.files import disk
from placementclient.hosts import archive, assignments
from placementclient.model.consumers import Resources
from tests.unit.planner.clouds import cloud

SOURCE = Path(__file__).parents[2] / 'doc' / 'source'
#: What the guides of the hosts look at.
HOSTS = SOURCE / 'examples' / 'hosts'

_UNDERLINE = re.compile(r'=+|-+')
_INCLUDE = re.compile(r'^\.\. include:: (.+)$', re.MULTILINE)
#: Identifiers that differ each time.
_VOLATILE = re.compile(r'(req-)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')
_SERVER: Resources = {'VCPU': 4, 'MEMORY_MB': 8192, 'DISK_GB': 80}


@dataclass(frozen=True)
class Block:
    """A block of code.

    :param caption: the name of the file that it is
    """

    language: str
    caption: str | None
    text: str


def page(name):
    """Return the text of a page, with what it includes."""
    text = (SOURCE / f'{name}.rst').read_text()
    return _INCLUDE.sub(lambda match: (SOURCE / match[1]).read_text(), text)


def pages():
    """Return the names of the pages, in the order of the index."""
    trees = re.findall(r'^\.\. toctree::\n(?:   :.*\n)*\n((?:   .+\n)+)', page('index'), re.M)
    return [name for tree in trees for name in tree.split()]


def consoles(text):
    """Return the commands that a page shows, each with what it prints."""
    shown = [steps(block) for block in blocks(text) if block.language == 'console']
    return list(itertools.chain.from_iterable(shown))


def section(page, title):
    """The text below a title, up to the next one of its kind."""
    lines = page.splitlines()
    start = lines.index(title)
    underline = lines[start + 1]
    assert _UNDERLINE.fullmatch(underline)
    body = lines[start + 2 :]
    for number, line in enumerate(body):
        if line and line[0] == underline[0] and _UNDERLINE.fullmatch(line):
            return '\n'.join(body[: number - 1])
    return '\n'.join(body)


def blocks(text):
    """The blocks of code of a text, those in lists too."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        match = re.fullmatch(r'( *)\.\. code-block:: (\w+)', line)
        if match is None:
            continue
        inside: list[str] = []
        for following in lines[number + 1 :]:
            if following.strip() and len(following) - len(following.lstrip()) <= len(match[1]):
                break
            inside.append(following)
        dedented = textwrap.dedent('\n'.join(inside))
        caption = re.match(r'\n*:caption: (.+)\n', dedented)
        body = dedented[caption.end() :] if caption else dedented
        yield Block(match[2], caption and caption[1], body.strip('\n') + '\n')


def written(text, folder):
    """Write the blocks that are files."""
    files = [block for block in blocks(text) if block.caption]
    for block in files:
        (folder / str(block.caption)).write_text(block.text)
    return [str(block.caption) for block in files]


def steps(block):
    """The commands of a console, each with what it prints."""
    result: list[tuple[str, str]] = []
    lines = iter(block.text.splitlines())
    for line in lines:
        if line.startswith('$ '):
            command = line[2:]
            while command.endswith('\\'):
                command = command[:-1] + next(lines).lstrip()
            result.append((command, ''))
        else:
            command, printed = result[-1]
            result[-1] = (command, f'{printed}{line}\n')
    return result


def follow(text, run, *, same_ids=True):
    """Write the files of a text, type its commands, and compare what they print.

    :param same_ids: whether UUIDs are those of the text
    :return: how many commands of this package there were
    """
    status, typed = 0, 0
    for block in blocks(text):
        if block.caption:
            Path(block.caption).write_text(block.text)
        for command, expected in steps(block) if block.language == 'console' else ():
            program, *argv = shlex.split(command)
            if program in ('placement', 'openstack'):
                typed += 1
            if program in ('placement', 'openstack') and not {'>', '|'} & set(argv):
                status, printed = shown(run, argv)
            else:
                printed = _in_bash(command, status)
            if not same_ids:
                expected, printed = _VOLATILE.sub('ID', expected), _VOLATILE.sub('ID', printed)
            assert is_printed(expected, printed), f'{command}\n{printed}'
    return typed


def _in_bash(command, status):
    """Type a command into bash: its folder and its variables are those of this process afterwards.

    :param status: the exit status of the command before
    """
    script = f'(exit {status}); {{ {command}; }} 2>&1; pwd -P >&2; env -0 >&2'
    done = subprocess.run(['bash', '-c', script], capture_output=True, text=True, check=True)
    folder, variables = done.stderr.split('\n', 1)
    os.chdir(folder)
    after = dict(variable.split('=', 1) for variable in variables.split('\0') if variable)
    for name in os.environ.keys() - after.keys():
        del os.environ[name]
    os.environ.update(after)
    return done.stdout


def _format_on_a_terminal(command):
    return 'text' if command.formatter_namespace == base.LINES else 'table'


def shown(run, argv):
    """Run a command as on a terminal: its messages and its table come in their order.

    :return: the exit status, and all that was printed
    """
    with (
        contextlib.redirect_stderr(sys.stdout),
        mock.patch.object(base.Lister, 'formatter_default', property(_format_on_a_terminal)),
    ):
        result = run(*argv)
    assert not result.stderr
    return result.status, result.stdout


def is_printed(expected, actual):
    """Whether a text was printed, where ``…`` stands for anything in one line."""
    expected_lines, got = _lines(expected), _lines(actual)
    return len(expected_lines) == len(got) and all(
        re.fullmatch('.*'.join(map(re.escape, line.split('…'))), printed)
        for line, printed in zip(expected_lines, got, strict=True)
    )


def _lines(text):
    return [line.rstrip() for line in text.splitlines() if line.strip()]


# The clouds


def hosts():
    """The hosts of the guides, as they are shipped with them."""
    return disk.read_snapshot(str(HOSTS / 'before.json'))


def write_map(path):
    """The assignments of the upgrade guide, from the facts that are shipped with it."""
    facts = [archive.read_host(str(HOSTS / name)) for name in ('gpu1', 'gpu2')]
    rows, _ = assignments.split_findings(assignments.assign_mediated_devices(facts, hosts()))
    path.write_text(assignments.format_assignments(rows))


def other_hosts(servers):
    """The hosts of the other kinds of reshape.

    :param servers: the consumers that are mapped, by file
    """
    pinned, migration = servers['pcpu-map.csv']
    two, one = servers['mig-map.csv']
    sharing = {**_provider(DISK_GB=20000), 'traits': ['MISC_SHARES_VIA_AGGREGATE']}
    trees = {
        'sev1': _host(MEM_ENCRYPTION_CONTEXT=15, traits=['HW_CPU_X86_AMD_SEV']),
        'net1': _host(NET_BW_EGR_KILOBIT_PER_SEC=10_000_000, NET_BW_IGR_KILOBIT_PER_SEC=10_000_000),
        'pinned1': _host(),
        'numa1': _host(ratio=1.0),
        'mig1': _host(VGPU=4),
        'disk1': _host(),
        'disk2': _host(),
        'ceph': sharing,
        'fpga1': _host(CUSTOM_FPGA_A=2, children={'fpga1_slot': _provider(CUSTOM_FPGA_A=4)}),
        'back1': _host(
            children={f'back1_pci_0000_{bus}_00_0': _provider(VGPU=4) for bus in (84, 85)}
        ),
    }
    consumers = {
        'sev': {'sev1': {**_SERVER, 'MEM_ENCRYPTION_CONTEXT': 1}},
        'plain': {'sev1': _SERVER},
        'net': {'net1': {**_SERVER, 'NET_BW_EGR_KILOBIT_PER_SEC': 1000}},
        pinned: {'pinned1': _SERVER},
        migration: {'pinned1': _SERVER, 'type': 'MIGRATION'},
        'unpinned': {'pinned1': _SERVER},
        **{uuid: {'numa1': _SERVER} for uuid in servers['numa-map.csv']},
        two: {'mig1': {**_SERVER, 'VGPU': 2}},
        one: {'mig1': {**_SERVER, 'VGPU': 1}},
        'disk one': {'disk1': _SERVER},
        'disk two': {'disk2': _SERVER},
        'shared': {'ceph': {'DISK_GB': 100}},
        'fpga': {'fpga1': {**_SERVER, 'CUSTOM_FPGA_A': 1}, 'fpga1_slot': {'CUSTOM_FPGA_A': 2}},
        'back': {
            'back1': _SERVER,
            'back1_pci_0000_84_00_0': {'VGPU': 3},
            'back1_pci_0000_85_00_0': {'VGPU': 2},
        },
    }
    return cloud(
        trees, {name: {'type': 'INSTANCE', **amounts} for name, amounts in consumers.items()}
    )


def _host(*, ratio=16.0, traits=(), children=None, **more):
    provider = _provider(VCPU=48, MEMORY_MB=65536, DISK_GB=1900, **more)
    provider['inventories']['VCPU']['allocation_ratio'] = ratio
    provider['inventories']['MEMORY_MB']['reserved'] = 512
    return {**provider, 'traits': ['COMPUTE_NODE', *traits], 'children': children or {}}


def _provider(**totals):
    inventories = {name: {'total': total, 'max_unit': total} for name, total in totals.items()}
    return {'inventories': inventories}
