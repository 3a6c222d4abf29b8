# SPDX-License-Identifier: Apache-2.0
"""The services of a catalog that are asked for lists: their words on a command line."""

NOVA, KEYSTONE, IRONIC, NEUTRON = 'nova', 'keystone', 'ironic', 'neutron'
CYBORG, GLANCE = 'cyborg', 'glance'
#: The compute service as the source of a list, in place of the path of a file.
COMPUTE_SERVICE = 'the compute service'
#: The services as the sources of lists, by their words.
SOURCES = {
    NOVA: COMPUTE_SERVICE,
    KEYSTONE: 'the identity service',
    IRONIC: 'the bare metal service',
    NEUTRON: 'the network service',
    CYBORG: 'the accelerator service',
}
