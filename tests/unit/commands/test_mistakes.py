# SPDX-License-Identifier: Apache-2.0
"""Typical mistakes: each message says what to type next."""

import pytest

from placementclient.producers import names
from tests.unit.dialogue import CONSUMER, RP, Exchange, fault, get, provider, put

PROVIDERS = {'resource_providers': [provider(RP, 'compute1')]}
INVENTORIES = {
    'resource_provider_generation': 1,
    'inventories': {
        'MEMORY_MB': {
            'total': 64,
            'reserved': 0,
            'min_unit': 1,
            'max_unit': 64,
            'step_size': 1,
            'allocation_ratio': 1.0,
        }
    },
}
CLASSES = {'resource_classes': [{'name': name} for name in ('VCPU', 'MEMORY_MB')]}


@pytest.mark.parametrize('beginning', [RP[:8], RP[:8].upper(), RP[:35]])
def test_a_part_of_a_uuid_is_answered_with_the_uuids_that_begin_so(
    placement, service, beginning, tmp_path
):
    service.answer(
        get(f'/resource_providers?name={beginning}', {'resource_providers': []}),
        get('/resource_providers', PROVIDERS),
    )
    sentence = f'UUIDs that begin with it: {RP} (compute1)'
    assert sentence in placement(f'resource provider show {beginning}').stderr


def test_a_part_of_a_consumer_is_no_consumer(placement, service):
    service.answer(get(f'/allocations/{CONSUMER[:8]}', {'allocations': {}}))
    result = placement(f'resource provider allocation show {CONSUMER[:8]}')
    assert result.stderr.endswith(
        f'. {CONSUMER[:8]} is not a whole UUID. Look for it: placement resource usage list --by '
        f'consumer -f value -c subject | grep ^{CONSUMER[:8]}\n'
    )
    service.answer(get('/allocations/web-1', {'allocations': {}}))
    result = placement('resource provider allocation show web-1')
    assert result.stderr.endswith(
        '. web-1 is no UUID, and consumers have no names. The UUID of a server: openstack server '
        'show web-1 -f value -c id\n'
    )


@pytest.mark.parametrize(
    ('options', 'query', 'sentence', 'existing', 'meant'),
    [
        (
            '--resource MEM=4',
            'resources=MEM:4',
            'Invalid resource class in resources parameter: No such resource class MEM.',
            get('/resource_classes', CLASSES),
            'MEMORY_MB',
        ),
        (
            '--required compute_node',
            'required=compute_node',
            'Invalid trait(s) in "required" parameter: No such trait(s): compute_node.',
            get('/traits', {'traits': ['COMPUTE_NODE']}),
            'COMPUTE_NODE',
        ),
    ],
)
def test_a_refused_name_is_answered_with_the_one_that_is_meant(
    placement, service, options, query, sentence, existing, meant
):
    service.answer(Exchange(f'GET /resource_providers?{query}', fault(400, sentence)), existing)
    refused = placement(f'resource provider list {options}', version='1.39').stderr
    assert f'Did you mean "{meant}"?' in refused


def test_the_form_of_an_allocation_is_named(placement):
    owner = '--project-id p --user-id u'
    result = placement(
        f'resource provider allocation set {CONSUMER} --allocation compute1,VCPU=2 {owner}',
        version='1.28',
    )
    assert result.stderr.endswith('compute1,VCPU=2. Expected rp=PROVIDER,CLASS=AMOUNT\n')


OWN = 'Names of your own begin with CUSTOM_'
GPUS = ['CUSTOM_GPU', 'HW_GPU_API_VULKAN', 'HW_CPU_X86_AVX']
COMMON = ['COMPUTE_NODE', 'MEMORY_MB', 'VCPU', 'CUSTOM_RAW']


@pytest.mark.parametrize(
    ('typed', 'existing', 'answer'),
    [
        ('GPU', GPUS, f'. Did you mean "CUSTOM_GPU" or "HW_GPU_API_VULKAN"? {OWN}'),
        ('QWX', GPUS, f'. {OWN}'),
        ('compute_node', COMMON, '. Did you mean "COMPUTE_NODE"?'),
        ('mem', COMMON, '. Did you mean "MEMORY_MB"?'),
        ('RAM', COMMON, '. Did you mean "MEMORY_MB"?'),
        ('CUSTOM_SDS', ['COMPUTE_NODE', 'CUSTOM_SSD'], '. Did you mean "CUSTOM_SSD"?'),
        # A custom name is not taken for a standard one.
        ('CUSTOM_NODE', ['COMPUTE_NODE'], ''),
        (
            'custom_gpu',
            GPUS[2:],
            '. A name is CUSTOM_ and then A to Z, 0 to 9, _. Did you mean "CUSTOM_GPU"?',
        ),
    ],
)
def test_an_unknown_name_is_answered_with_names_that_are_meant(typed, existing, answer):
    assert names.suggest_remedy([typed], existing, '') == answer


UUID_OF_RACK = (
    '. The UUID of the aggregate: openstack --os-compute-api-version 2.41 aggregate show rack1 -c '
    'uuid\n'
)


@pytest.mark.parametrize(
    ('command', 'request_line', 'status', 'sentence', 'answer'),
    [
        (
            'resource class create gold',
            'POST /resource_classes',
            400,
            "'gold' does not match '^CUSTOM_[A-Z0-9_]+$' (field name)",
            '. Did you mean "CUSTOM_GOLD"?\n',
        ),
        (
            'resource class create CUSTOM_gold',
            'POST /resource_classes',
            400,
            "'CUSTOM_gold' does not match '^CUSTOM_[A-Z0-9_]+$'",
            '. Did you mean "CUSTOM_GOLD"?\n',
        ),
        (
            f'resource provider inventory class set {RP} vcpu --total 1 --generation 1',
            f'PUT /resource_providers/{RP}/inventories/vcpu',
            400,
            "'vcpu' does not match any of the regexes: '^[A-Z0-9_]+$' (field resources)",
            '. Did you mean "VCPU"?\n',
        ),
        (
            'resource class delete VCPU',
            'DELETE /resource_classes/VCPU',
            400,
            'Cannot delete standard resource class VCPU.',
            '. Only names that begin with CUSTOM_ can be deleted\n',
        ),
        (
            'trait list --name GPU',
            'GET /traits?name=GPU',
            400,
            'Badly formatted name parameter. Expected in form: ?name=[in|startswith]:. Got: "GPU"',
            '. Type: --name startswith:GPU\n',
        ),
        (
            'resource provider list --member-of rack1',
            'GET /resource_providers?member_of=rack1',
            400,
            "Expected 'member_of' parameter to contain valid UUID(s). Got: rack1",
            UUID_OF_RACK,
        ),
        (
            f'resource provider aggregate set {RP} --aggregate rack1 --generation 1',
            f'PUT /resource_providers/{RP}/aggregates',
            400,
            "'rack1' is not a 'uuid' (field aggregates.0)",
            UUID_OF_RACK,
        ),
        (
            'resource provider create compute1',
            'POST /resource_providers',
            409,
            'Conflicting resource provider name: compute1 already exists.',
            '\nNext: See it: placement resource provider show compute1\n',
        ),
        (
            f"resource provider set {RP} --name 'a b'",
            f'PUT /resource_providers/{RP}',
            409,
            'Conflicting resource provider a b already exists.',
            "\nNext: See it: placement resource provider show 'a b'\n",
        ),
    ],
)
def test_a_refusal_is_answered_with_what_to_type(
    placement, service, command, request_line, status, sentence, answer
):
    service.answer(Exchange(request_line, fault(status, sentence)))
    result = placement(command, version='1.39')
    assert (result.status, result.stderr.endswith(answer)) == (1, True), result.stderr


def test_a_parent_that_is_deleted_is_answered_with_purge(placement, service):
    refusal = fault(409, 'It has children.', 'placement.resource_provider.cannot_delete_parent')
    service.answer(Exchange(f'DELETE /resource_providers/{RP}', refusal))
    result = placement(f'resource provider delete {RP}')
    assert result.stderr.endswith(f': placement resource provider purge {RP} --dry-run\n')


@pytest.mark.parametrize('options', ['', ' --amend'])
def test_inventories_that_would_go_while_in_use_are_answered_with_amend(
    placement, service, options
):
    inventories = {'inventories': {}, 'resource_provider_generation': 1}
    refusal = fault(409, 'Inventory in use.', 'placement.inventory.inuse')
    path = f'/resource_providers/{RP}/inventories'
    body = {'inventories': {'VCPU': {'total': 64}}, 'resource_provider_generation': 1}
    service.answer(get(path, inventories), put(path, body, refusal))
    result = placement(f'resource provider inventory set {RP} --resource VCPU=64{options}')
    step = (
        'Next: Keep the other classes: placement resource provider inventory set '
        f'{RP} --amend --resource VCPU=64\n'
    )
    assert result.stderr.endswith(step) is not bool(options)


def test_a_dry_run_names_the_classes_and_values_that_placement_would_not_keep(placement, service):
    live = {'inventories': {'DISK_GB': {'total': 9}}, 'resource_provider_generation': 1}
    service.answer(get(f'/resource_providers/{RP}/inventories', live))
    result = placement(f'resource provider inventory set {RP} --resource VCPU=64 --dry-run')
    assert 'This removes DISK_GB; --amend keeps the other classes' in result.stderr
    service.answer(get(f'/resource_providers/{RP}/inventories', live))
    result = placement(f'resource provider inventory set {RP} --resource VCPU=0 --dry-run')
    refused = 'Placement would refuse this: VCPU:total=0 is not between 1 and 2147483647\n'
    assert (result.status, result.stderr.startswith(refused)) == (0, True)


def test_aggregates_without_a_generation_are_answered_with_add(placement, service):
    result = placement(f'resource provider aggregate set {RP} --aggregate {RP}', version='1.39')
    step = f'1. Add without a generation: placement resource provider aggregate add {RP} {RP}\n'
    assert step in result.stderr


@pytest.mark.parametrize(
    ('command', 'where'),
    [
        (f'allocation resize {CONSUMER} --resource VCPU=+2', 'VCPU=+2'),
        (f'allocation set {CONSUMER} --allocation rp={RP},VCPU=+2', 'VCPU=+2'),
        ('inventory set compute1 --amend --resource VCPU=+2', 'VCPU=+2'),
        ('inventory set --all --amend --resource VCPU:reserved=+2 --dry-run', 'VCPU:reserved=+2'),
        ('inventory class set compute1 VCPU --total +2', 'argument --total: +2'),
        ('list --resource VCPU=+2', 'VCPU=+2'),
    ],
)
def test_an_amount_with_a_plus_is_no_difference(placement, command, where):
    owner = ' --project-id p --user-id u' if 'rp=' in command else ''
    result = placement(f'resource provider {command}{owner}', version='1.28')
    assert result.status in {1, 2}
    assert f'{where}: give the new amount, not a difference' in result.stderr


@pytest.mark.parametrize('ratio', ['0', '0.0', '-1'])
@pytest.mark.parametrize(
    'command',
    [
        'inventory set compute1 --amend --resource VCPU:allocation_ratio={}',
        'inventory set compute1 --amend --resource VCPU:allocation_ratio={} --dry-run',
        'inventory set --all --amend --resource VCPU:allocation_ratio={} --plan plan.json',
        'inventory class set compute1 VCPU --total 4 --allocation_ratio={}',
    ],
)
def test_a_ratio_is_above_zero(placement, command, ratio):
    result = placement(f'resource provider {command.format(ratio)}')
    assert result.status in {1, 2}
    assert f'{ratio}: an allocation ratio is above 0' in result.stderr


def test_resize_asks_for_an_amount_of_at_least_one(placement):
    result = placement(f'resource provider allocation resize {CONSUMER} --resource VCPU=-2')
    assert (result.status, result.stderr) == (1, 'VCPU=-2: an amount is at least 1\n')


@pytest.mark.parametrize(('dry_run', 'status'), [('', 1), (' --dry-run', 0)])
def test_amend_suggests_a_class_that_the_provider_has(placement, service, dry_run, status):
    refusal = fault(400, "JSON does not validate: 'total' is a required property")
    service.answer(
        get('/resource_providers?name=compute1', PROVIDERS),
        get(f'/resource_providers/{RP}/inventories', INVENTORIES),
        *([] if dry_run else [Exchange(f'PUT /resource_providers/{RP}/inventories', refusal)]),
    )
    edit = 'inventory set compute1 --amend --resource MEM:allocation_ratio=1.2'
    result = placement(f'resource provider {edit}{dry_run}')
    sentence = 'compute1 has no inventory of MEM. Did you mean "MEMORY_MB"?\n'
    assert (result.status, result.stderr.startswith(sentence)) == (status, True), result.stderr


def test_a_trait_against_the_rule_is_answered_with_the_rule_and_a_name(placement, service):
    sentence = 'The trait is invalid. A valid trait must be no longer than 255 characters'
    service.answer(Exchange('PUT /traits/gold-a', fault(400, sentence)))
    refused = placement('trait create gold-a', version='1.39')
    rule = 'A name is CUSTOM_ and then A to Z, 0 to 9, _. Did you mean "CUSTOM_GOLD_A"?'
    assert rule in refused.stderr


def test_a_trait_in_place_of_the_provider_is_answered_with_the_order(placement, service):
    service.answer(
        get('/resource_providers?name=CUSTOM_RACK_1', {'resource_providers': []}),
        get('/resource_providers', PROVIDERS),
    )
    refused = placement('resource provider trait add CUSTOM_RACK_1 compute1')
    assert 'The provider comes first, then classes or traits' in refused.stderr


def test_inventory_in_use_is_answered_with_the_command_that_shows_its_consumers(placement, service):
    refusal = fault(409, 'Inventory in use.', 'placement.inventory.inuse')
    service.answer(Exchange(f'DELETE /resource_providers/{RP}/inventories', refusal))
    refused = placement(f'resource provider inventory delete {RP}')
    show = f'Next: See who uses it: placement resource provider tree show {RP} --allocations\n'
    assert refused.stderr.endswith(show)


def test_a_consumer_without_allocations_is_named(placement, service):
    service.answer(get(f'/allocations/{CONSUMER}', {'allocations': {}}))
    result = placement(f'resource provider allocation show {CONSUMER}')
    assert (result.status, result.stderr) == (0, f'No consumer {CONSUMER} has allocations\n')


def test_an_unknown_project_is_named(placement, service):
    service.answer(get('/usages?project_id=admin', {'usages': {}}))
    result = placement('resource usage show admin', version='1.9')
    assert (result.status, result.stderr) == (0, 'No usage of a project with the ID admin\n')


@pytest.mark.parametrize('command', ['resize {} --resource VCPU=1', 'unset {}', 'delete {}'])
def test_a_part_of_a_consumer_in_an_error_is_said_to_be_one(placement, service, command):
    path = f'/allocations/{CONSUMER[:8]}'
    nothing = {'allocations': {}, 'project_id': 'p', 'user_id': 'u', 'consumer_generation': 1}
    refusal = fault(404, f"No allocations for consumer '{CONSUMER[:8]}'")
    is_read = not command.startswith('delete')
    service.answer(get(path, nothing) if is_read else Exchange(f'DELETE {path}', refusal))
    refused = placement(f'resource provider allocation {command.format(CONSUMER[:8])}')
    assert f'{CONSUMER[:8]} is not a whole UUID. Look for it: placement ' in refused.stderr


@pytest.mark.parametrize(
    ('command', 'sentence'),
    [
        (
            f'set {RP} --resource MEMORY_MB=8GB',
            "MEMORY_MB:total: '8GB' is not a whole number. MEMORY_MB:total=8GB: give a whole "
            'number of MiB, without a unit: MEMORY_MB:total=8192',
        ),
        (
            f'set {RP} --resource DISK_GB:reserved=1.5TiB',
            'give a whole number of GiB, without a unit: DISK_GB:reserved=1536',
        ),
        (
            f'set {RP} --resource DISK_GB=512m',
            'DISK_GB:total=512m: give a whole number of GiB, without a unit\n',
        ),
        (f'set {RP} --resource VGPU=8k', 'VGPU:total=8k: give a whole number, without a unit\n'),
        (
            f'class set {RP} MEMORY_MB --total 8GB',
            "invalid int value: '8GB'. amount=8GB: give a whole number, without a unit\n",
        ),
    ],
)
def test_an_amount_with_a_unit_is_answered_with_the_number_of_units(placement, command, sentence):
    result = placement(f'resource provider inventory {command}')
    assert sentence in result.stderr


def test_a_resource_without_an_amount_is_answered_with_an_example(placement):
    refused = placement(f'resource provider allocation resize {CONSUMER} --resource VCPU')
    assert 'of form <resource_class>=<value>, such as VCPU=4' in refused.stderr
