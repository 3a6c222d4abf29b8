# SPDX-License-Identifier: Apache-2.0
"""What virsh and mdevctl print, as of a host with two cards."""

import json

GPU0, GPU1 = 'pci_0000_84_00_0', 'pci_0000_85_00_0'
SERVERS = [f'{n}c6c1a1c-23e4-44d7-b7ab-15cbc5b5e5a8' for n in range(4)]
MDEVS = [f'{n}b20d080-1b54-4048-85b3-a6a62d165c01' for n in range(4)]


def domain(uuid, *mdevs, inside=''):
    devices = ''.join(
        f"""
    <hostdev mode='subsystem' type='mdev' managed='no' model='vfio-pci' display='off'>
      <source>
        <address uuid='{mdev}'/>
      </source>
      <alias name='hostdev{number}'/>
      <address type='pci' domain='0x0000' bus='0x06' slot='0x00' function='0x0'/>
    </hostdev>"""
        for number, mdev in enumerate(mdevs)
    )
    return f"""<domain type='kvm' id='7'>
  <name>instance-00000007</name>
  <uuid>{uuid}</uuid>
  <memory unit='KiB'>8388608</memory>
  <vcpu placement='static'>4</vcpu>
  {inside}
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <graphics type='vnc' port='5900' autoport='yes' listen='0.0.0.0'/>{devices}
  </devices>
</domain>
"""


def nodedev(mdev, parent, *, kind='nvidia-699', uuid=True):
    element = f'<uuid>{mdev}</uuid>' if uuid else ''
    return f"""<device>
  <name>mdev_{mdev.replace('-', '_')}_{parent[4:]}</name>
  <path>/sys/devices/pci0000:80/0000:80:02.0/0000:84:00.0/{mdev}</path>
  <parent>{parent}</parent>
  <driver><name>vfio_mdev</name></driver>
  <capability type='mdev'>
    <type id='{kind}'/>
    {element}
    <iommuGroup number='12'/>
  </capability>
</device>
"""


def pci(name):
    return f"""<device>
  <name>{name}</name>
  <parent>pci_0000_80_02_0</parent>
  <capability type='pci'><domain>0</domain><bus>132</bus></capability>
</device>
"""


def mdevctl(*pairs):
    return json.dumps(
        [
            {address: [{mdev: {'mdev_type': 'nvidia-699', 'start': 'auto'}}]}
            for address, mdev in pairs
        ]
    )


CAPABILITIES = """<capabilities>
  <host>
    <uuid>4c4c4544-0035-4a10-8031-b4c04f4b4a33</uuid>
    <topology>
      <cells num='2'>
        <cell id='0'><memory unit='KiB'>65798144</memory>
          <cpus num='2'><cpu id='0' socket_id='0' core_id='0' siblings='0'/><cpu id='1'/></cpus>
        </cell>
        <cell id='1'><cpus num='2'><cpu id='2'/><cpu id='3'/></cpus></cell>
      </cells>
    </topology>
  </host>
</capabilities>
"""
