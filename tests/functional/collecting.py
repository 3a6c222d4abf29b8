# SPDX-License-Identifier: Apache-2.0
"""Hosts whose programs print what those of a real one do, and the collector under a shell."""

import os
import subprocess

from tests.unit.hosts.libvirt_output import CAPABILITIES, domain, mdevctl, nodedev, pci

SECRET = "passwd='do-not-tell'"


def make_host(folder, name, servers, parents):
    """A folder with a virsh and an mdevctl that print what a host's would.

    :param servers: the mediated devices of each
    :param parents: of the mediated devices
    """
    answers = folder / 'answers'
    answers.mkdir(parents=True)
    files = {
        'hostname': f'{name}\n\n',
        'capabilities': CAPABILITIES,
        'list --all --uuid': '\n'.join([*servers, '']),
        'nodedev-list': '\n'.join(f'mdev_{mdev}' for mdev in parents),
        'nodedev-list --cap mdev': '\n'.join(f'mdev_{mdev}' for mdev in parents),
        'nodedev-list --cap mdev_types': '\n'.join({*parents.values()}),
        **{f'dumpxml {uuid}': domain(uuid, *mdevs) for uuid, mdevs in servers.items()},
        **{f'nodedev-dumpxml mdev_{m}': nodedev(m, parent) for m, parent in parents.items()},
        **{f'nodedev-dumpxml {parent}': pci(parent) for parent in parents.values()},
    }
    for command, text in files.items():
        (answers / command).write_text(text)
    defined = [
        (parent[4:].replace('_', ':', 2).replace('_', '.'), m) for m, parent in parents.items()
    ]
    (answers / 'mdevctl').write_text(mdevctl(*defined))
    programs = folder / 'bin'
    programs.mkdir()
    # As virsh: secrets only where they are asked for, and the same global options.
    (programs / 'virsh').write_text(f"""#!/bin/sh
while :; do
    case $1 in
        --readonly | --quiet) shift ;;
        --connect) shift 2 ;;
        *) break ;;
    esac
done
case "$*" in *--security-info*) echo "{SECRET}" ;; esac
cat '{answers}'/"$*" || exit 1
""")
    (programs / 'mdevctl').write_text(f"#!/bin/sh\ncat '{answers}/mdevctl'\n")
    for program in programs.iterdir():
        program.chmod(0o755)
    return programs


def collect(placement, programs, target, shell='sh'):
    script = placement('resource', 'provider', 'reshape', 'collector').stdout
    with open(target, 'wb') as stream:
        done = subprocess.run(
            shell.split(),
            input=script.encode(),
            stdout=stream,
            stderr=subprocess.PIPE,
            env={'PATH': f'{programs}:{os.environ["PATH"]}'},
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, b'')
