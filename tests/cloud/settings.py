# SPDX-License-Identifier: Apache-2.0
"""The configuration files of the services."""

import configparser
import json
from collections.abc import Mapping

from tests.cloud import layout

Settings = Mapping[str, Mapping[str, object]]
#: How long the tokens of ``keystone-short`` live, in seconds: keystoneauth renews a token that has
#: less than 120 s left at every request.
SHORT_TOKEN = 135
#: How long Placement trusts a token that it has asked Keystone about, in seconds.
CACHED = 3
#: The IDs of a virtual function.
FUNCTION = {'vendor_id': '8086', 'product_id': '1565'}


def database(name):
    return f'mysql+pymysql://cloud:cloud@127.0.0.1:{layout.ports()["mariadb"]}/{name}?charset=utf8'


def account(user):
    """The options of keystoneauth for a service's own account."""
    return {
        'auth_type': 'password',
        'auth_url': layout.url('keystone') + '/v3',
        'username': user,
        'password': layout.PASSWORD,
        'project_name': 'service',
        'user_domain_name': 'Default',
        'project_domain_name': 'Default',
        'region_name': layout.REGION,
    }


def _middleware(user, keystone='keystone'):
    url = layout.url(keystone)
    return {
        **account(user),
        'auth_url': f'{url}/v3',
        'www_authenticate_uri': url,
        'region_name': layout.SHORT_REGION if keystone.endswith(layout.SHORT) else layout.REGION,
        'service_token_roles_required': 'true',
    }


def _default(**options):
    return {'use_stderr': 'true', 'debug': 'false', **options}


def rabbit():
    return f'rabbit://guest:guest@127.0.0.1:{layout.ports()["rabbitmq"]}/'


def keystone(**token):
    return {
        'DEFAULT': _default(public_endpoint=layout.url('keystone')),
        'database': {'connection': database('keystone')},
        'token': {'provider': 'fernet', **token},
        'fernet_tokens': {'key_repository': layout.state() / 'keystone/fernet'},
        # Keystone looks for this folder whether or not it gives receipts.
        'fernet_receipts': {'key_repository': layout.state() / 'keystone/fernet'},
        # The cheapest: each command of a test authenticates.
        'identity': {'password_hash_rounds': 4},
        'credential': {'key_repository': layout.state() / 'keystone/credentials'},
        'cache': {'enabled': 'true', 'backend': 'dogpile.cache.memory'},
    }


def placement(keystone='keystone'):
    return {
        'DEFAULT': _default(),
        'api': {'auth_strategy': 'keystone'},
        'placement_database': {'connection': database('placement')},
        # A token that was revoked is refused soon.
        'keystone_authtoken': {**_middleware('placement', keystone), 'token_cache_time': CACHED},
    }


def glance():
    return {
        'DEFAULT': _default(enabled_backends='files:file'),
        'database': {'connection': database('glance')},
        'keystone_authtoken': _middleware('glance'),
        'paste_deploy': {
            'flavor': 'keystone',
            'config_file': layout.environment() / 'etc/glance/glance-api-paste.ini',
        },
        'glance_store': {'default_backend': 'files'},
        **{
            group: {'filesystem_store_datadir': layout.state() / 'glance' / group}
            for group in ('files', 'os_glance_tasks_store', 'os_glance_staging_store')
        },
    }


def nova(keystone='keystone'):
    return {
        'DEFAULT': _default(
            transport_url=rabbit(),
            state_path=layout.state() / 'nova',
            my_ip='127.0.0.1',
            compute_driver='placementclient_driver.Driver',
            # A server that is shelved stays on its host until it is offloaded.
            shelved_offload_time=-1,
            allow_resize_to_same_host='false',
            # A server that runs is not stopped because the fake driver forgets it.
            sync_power_state_interval=-1,
            # In seconds: nova-compute writes when it starts, and not in the middle of a test.
            update_resources_interval=600,
            # The scheduler looks for new hosts at once, and not within a minute.
            periodic_fuzzy_delay=0,
            graceful_shutdown_timeout=1,
            report_interval=5,
            service_down_time=120,
            initial_cpu_allocation_ratio=4.0,
            initial_ram_allocation_ratio=1.0,
            initial_disk_allocation_ratio=1.0,
            reserved_host_memory_mb=512,
            cpu_allocation_ratio=4.0,
        ),
        'api': {'auth_strategy': 'keystone'},
        'api_database': {'connection': database('nova_api')},
        'database': {'connection': database('nova')},
        'keystone_authtoken': _middleware('nova', keystone),
        'placement': account('nova'),
        'neutron': account('nova'),
        'glance': account('nova'),
        'service_user': {**account('nova'), 'send_service_user_token': 'true'},
        'quota': {'instances': -1, 'cores': -1, 'ram': -1},
        'scheduler': {
            'workers': 1,
            'discover_hosts_in_cells_interval': 1,
            # They ask for more only of the images and projects that tests make for it.
            'image_metadata_prefilter': 'true',
            'query_placement_for_image_type_support': 'true',
            'limit_tenants_to_placement_aggregate': 'true',
        },
        'conductor': {'workers': 1},
        'filter_scheduler': {'track_instance_changes': 'true'},
        'oslo_concurrency': {'lock_path': layout.state() / 'nova/locks'},
        'oslo_messaging_notifications': {'driver': 'noop'},
        'vnc': {'enabled': 'false'},
        'cinder': {'catalog_info': 'volumev3::publicURL'},
        'compute': {'resource_provider_association_refresh': 30},
        # Servers ask for virtual functions by this name.
        'pci': {'alias': json.dumps({'name': 'vf', 'device_type': 'type-VF', **FUNCTION})},
    }


def compute(host, **pci):
    folder = layout.state() / 'hosts' / host
    return {
        'DEFAULT': {'host': host, 'state_path': folder},
        'compute': {'provider_config_location': folder / 'provider_config'},
        'pci': pci,
    }


def path(name):
    return layout.state() / 'etc' / name


def write():
    files: dict[str, Settings] = {
        'keystone/keystone.conf': keystone(),
        'keystone-short/keystone.conf': keystone(expiration=SHORT_TOKEN),
        'placement/placement.conf': placement(),
        'placement-short/placement.conf': placement('keystone-short'),
        'glance/glance-api.conf': glance(),
        'nova/nova.conf': nova(),
        'nova-short/nova.conf': nova('keystone-short'),
    }
    files |= {f'nova/{host}.conf': compute(host) for host in layout.HOSTS}
    for name, settings in files.items():
        save(name, settings)
    paste = layout.environment() / 'etc/nova/api-paste.ini'
    for folder in ('nova', 'nova-short'):
        path(f'{folder}/api-paste.ini').write_bytes(paste.read_bytes())
    for host in layout.HOSTS:
        (layout.state() / 'hosts' / host / 'provider_config').mkdir(parents=True, exist_ok=True)


def save(name, settings):
    parser = configparser.RawConfigParser()
    parser.read_dict(settings)
    path(name).parent.mkdir(parents=True, exist_ok=True)
    with open(path(name), 'w') as file:
        parser.write(file)
