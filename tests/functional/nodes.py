# SPDX-License-Identifier: Apache-2.0
"""Compute nodes that are not there: what a playbook asks of them, answered on one machine."""

import os
import sys

#: One host of the inventory: everything of it is told apart by its name.
INVENTORY = """\
[computes]
{hosts}

[computes:vars]
ansible_connection=local
ansible_python_interpreter={python}
libvirt_uri=qemu:///{{{{ inventory_hostname }}}}
nova_compute_unit=nova-compute-{{{{ inventory_hostname }}}}
"""
#: libvirt, with the facts of a host in a folder as the collector writes it.
VIRSH = """\
while :; do
    case $1 in
        --readonly | --quiet) shift ;;
        --connect) cd "{nodes}/${{2##*/}}" || exit 1; shift 2 ;;
        *) break ;;
    esac
done
case "$*" in
    hostname) cat hostname; echo ;;
    capabilities) cat capabilities.xml ;;
    'list --all --uuid') ls domains | sed 's/.xml$//' ;;
    nodedev-list*) ls nodedevs | sed 's/.xml$//' ;;
    dumpxml*) cat "domains/$2.xml" ;;
    nodedev-dumpxml*) cat "nodedevs/$2.xml" 2>&- || echo "<device><name>$2</name></device>" ;;
    *) exit 1 ;;
esac
"""
MDEVCTL = """\
echo '[]'
"""
#: systemd: a file for each unit, "active enabled" or the like.
SYSTEMCTL = """\
cd "{nodes}" && read -r active enabled < "units/$2" || exit 4
case $1 in
    show)
        load=loaded
        [ "$enabled" = masked ] && load=masked
        printf 'LoadState=%s\\nActiveState=%s\\n' "$load" "$active"
        exit ;;
    is-enabled) echo "$enabled"; [ "$enabled" = enabled ]; exit ;;
    stop) active=inactive ;;
    start) [ "$enabled" = masked ] && exit 1; active=active ;;
    mask) enabled=masked ;;
    unmask) enabled=enabled ;;
    *) exit 1 ;;
esac
echo "$1 $2" >> calls
echo "$active $enabled" > "units/$2"
"""
#: The compute API: a file for each service, "enabled" or "disabled REASON".
OPENSTACK = """\
cd "{nodes}/services" || exit 1
case "$*" in
    'compute service list --service nova-compute --long -f json')
        between='['
        for host in *; do
            read -r status reason < "$host"
            state=down
            grep -q ^active "../units/nova-compute-$host" && state=up
            printf '%s{{"Binary": "nova-compute", "Host": "%s", "Status": "%s"' \\
                "$between" "$host" "$status"
            printf ', "State": "%s", "Disabled Reason": "%s"}}' "$state" "$reason"
            between=', '
        done
        echo ']'
        exit ;;
    'compute service set --disable --disable-reason '*' nova-compute')
        echo "disabled $6" > "$7"
        echo "disable $7" >> ../calls ;;
    'compute service set --enable '*' nova-compute')
        echo enabled > "$5"
        echo "enable $5" >> ../calls ;;
    *) exit 1 ;;
esac
"""
PLACEMENT = """\
exec '{python}' -m placementclient "$@"
"""


class Nodes:
    """Some compute nodes.

    :param folder: what they are made of, one folder for each with the facts of it beside others
    :param names: of the nodes whose nova-compute runs and is enabled
    """

    def __init__(self, folder, names):
        self.folder, self.names = folder, list(names)
        self.programs = folder / 'bin'
        for part in ('bin', 'units', 'services'):
            (folder / part).mkdir(parents=True)
        for name, text in (
            ('virsh', VIRSH),
            ('mdevctl', MDEVCTL),
            ('systemctl', SYSTEMCTL),
            ('openstack', OPENSTACK),
            ('placement', PLACEMENT),
        ):
            program = self.programs / name
            program.write_text('#!/bin/sh\n' + text.format(nodes=folder, python=sys.executable))
            program.chmod(0o755)
        for name in self.names:
            (folder / 'units' / f'nova-compute-{name}').write_text('active enabled\n')
            (folder / 'services' / name).write_text('enabled\n')
        self.inventory = folder / 'inventory'
        self.inventory.write_text(
            INVENTORY.format(hosts='\n'.join(self.names), python=sys.executable)
        )

    def on(self, name):
        """The environment of a program that is to see one of them, as libvirt tells of it."""
        path = f'{self.programs}:{os.environ["PATH"]}'
        return {**os.environ, 'PATH': path, 'LIBVIRT_URI': f'qemu:///{name}'}

    def calls(self):
        """What was changed since this was asked last: ``disable gpu1``."""
        log = self.folder / 'calls'
        changes = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return changes

    def state(self):
        """Of each node, the unit and the service."""
        return {
            name: (
                (self.folder / 'units' / f'nova-compute-{name}').read_text().strip(),
                (self.folder / 'services' / name).read_text().strip(),
            )
            for name in self.names
        }
