# SPDX-License-Identifier: Apache-2.0
"""Command lines without files of their own: ``{name}`` is filled in with what there is."""

#: Lines that change nothing, whatever happens on the way.
READING = {
    'allocation candidate explain': '--resource VCPU=1 --resource VGPU={number}',
    'allocation candidate list': '--resource VCPU={number} --resource MEMORY_MB=512',
    'resource api check': '',
    'resource api show': '',
    'resource capacity export': '-o {file}',
    'resource capacity show': '--fits VCPU=1,MEMORY_MB=1024',
    'resource class list': '',
    'resource class show': '{class}',
    'resource provider aggregate list': '{provider}',
    'resource provider allocation list': '{provider}',
    'resource provider allocation show': '{consumer}',
    'resource provider audit': '',
    'resource provider drain plan': '{host}',
    'resource provider inventory list': '{provider}',
    'resource provider inventory show': '{host} VCPU',
    'resource provider list': '--resource VCPU={number}',
    'resource provider report': '-o {file}',
    'resource provider reshape collector': '',
    'resource provider reshape schema': 'plan',
    'resource provider reshape show': '{plan}',
    'resource provider reshape status': '{plan} -f json',
    'resource provider reshape verify': '{plan} -f json',
    'resource provider show': '{provider} --allocations',
    'resource provider snapshot diff': '{snapshot} live',
    'resource provider snapshot save': '{new_snapshot}',
    'resource provider snapshot show': '{snapshot}',
    'resource provider trait list': '{provider}',
    'resource provider tree export': '--tree {host} -o {file}',
    'resource provider tree graph': '--tree {host} --format dot -o {file}',
    'resource provider tree list': '--allocations',
    'resource provider tree show': '{host}',
    'resource provider usage show': '{provider}',
    'resource usage list': '',
    'resource usage show': '{project}',
    'trait list': '--associated',
    'trait show': '{trait}',
}

_OWNER = '--project-id {project} --user-id {user} --consumer-type INSTANCE'

#: Lines that change something.
WRITING = {
    'resource class create': ('{class}',),
    'resource class set': ('{class}',),
    'resource class delete': ('{class}',),
    'trait create': ('{trait}',),
    'trait delete': ('{trait}',),
    'resource provider create': (
        '{spare_name} --uuid {uuid}',
        '{spare_name} --uuid {uuid} --parent-provider {provider}',
    ),
    'resource provider set': ('{spare} --name {spare_name}',),
    'resource provider delete': ('{spare}', '{provider}'),
    'resource provider purge': ('{spare} --yes -f json', '{provider} --yes -f json'),
    'resource provider inventory set': (
        '{host} --amend --resource VCPU:total={total} -f json',
        "--match 'host*' --with-class VCPU --amend --yes -f json "
        '--resource VCPU:allocation_ratio={ratio}',
    ),
    'resource provider inventory class create': ('{host} {class} --total {number}',),
    'resource provider inventory class set': (
        '{host} VCPU --total {total} --allocation_ratio 8',
    ),
    'resource provider inventory delete': (
        '{host} --resource-class VGPU', '{host} --resource-class {class}',
    ),
    'resource provider trait set': ('{host} --trait {cpu_trait}',),
    'resource provider trait delete': ('{host}',),
    'resource provider trait add': (
        '{host} {cpu_trait}', "--match 'host*' {cpu_trait} --yes -f json",
    ),
    'resource provider trait remove': (
        '{host} {cpu_trait}', "--match 'host*' {cpu_trait} --yes -f json",
    ),
    'resource provider aggregate add': ('{host} {aggregate}',),
    'resource provider aggregate remove': ('{host} {aggregate}',),
    'resource provider aggregate set': (
        '{host_uuid} --aggregate {aggregate} --generation {generation}',
    ),
    'resource provider allocation set': (
        f'{{uuid}} {_OWNER} --allocation rp={{host_uuid}},VCPU=1,MEMORY_MB=256',
    ),
    'resource provider allocation unset': (
        '{own_consumer} --provider {host_uuid} --resource-class VCPU',
    ),
    'resource provider allocation delete': ('{own_consumer}',),
    'resource provider allocation move': (
        '{consumer} --class VCPU --from {host_uuid} --to {target}',
    ),
    'resource provider allocation resize': (
        '{own_consumer} --provider {host_uuid} --resource VCPU=2',
    ),
    'resource provider allocation transfer': ('{own_consumer} --to-consumer {uuid}',),
    'resource provider allocation claim': (
        f'{{uuid}} {_OWNER} --resource VCPU=1 --resource MEMORY_MB=256 --alternates 1',
    ),
    'resource provider snapshot restore': ('{snapshot} --missing -f json',),
}  # fmt: skip
