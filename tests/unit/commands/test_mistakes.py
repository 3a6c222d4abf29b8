# SPDX-License-Identifier: Apache-2.0
"""Typical mistakes: each message says what to type next."""

import pytest

from placementclient.producers import names
from tests.unit.commands.clouds import save, small
from tests.unit.dialogue import CONSUMER, RP, Exchange, fault, get, post, provider, put

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
NO_COLUMN = (
    'There is no column tre. Did you mean "tree"? Columns: tree, resource_class, shared_by, '
    'providers, capacity, used, free, largest_fit\n'
)
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
    assert (
        f'{CONSUMER[:8]} is not a whole UUID, and consumers have no names: placement resource '
        'usage list --by consumer prints their UUIDs'
    ) in result.stderr


def test_the_beginning_of_a_class_is_answered_with_the_class(placement, service, tmp_path):
    refusal = fault(
        400, 'Invalid resource class in resources parameter: No such resource class MEM.'
    )
    service.answer(
        Exchange('GET /resource_providers?resources=MEM:4', refusal),
        get('/resource_classes', CLASSES),
    )
    refused = placement('resource provider list --resource MEM=4').stderr
    assert 'Did you mean "MEMORY_MB"?' in refused


def test_a_ratio_below_zero_is_refused(placement):
    edit = 'inventory set --all --amend --resource VCPU:allocation_ratio=-8 --dry-run'
    result = placement(f'resource provider {edit}')
    assert result.status == 1
    assert 'VCPU:allocation_ratio=-8' in result.stderr


def test_the_form_of_an_allocation_is_named(placement):
    owner = '--project-id p --user-id u'
    result = placement(
        f'resource provider allocation set {CONSUMER} --allocation compute1,VCPU=2 {owner}',
        version='1.28',
    )
    assert result.stderr.endswith('compute1,VCPU=2. Expected rp=PROVIDER,CLASS=AMOUNT\n')


def test_a_trait_without_its_prefix_is_answered_with_whole_names():
    existing = ['CUSTOM_GPU', 'HW_GPU_API_VULKAN', 'HW_CPU_X86_AVX']
    answer = names.suggest_remedy(['GPU'], existing, 'placement trait create')
    own = 'Names of your own begin with CUSTOM_'
    assert answer == f'. Did you mean "CUSTOM_GPU" or "HW_GPU_API_VULKAN"? {own}'
    assert names.suggest_remedy(['QWX'], existing, 'x') == '. Names of your own begin with CUSTOM_'


def test_a_class_without_its_prefix_is_answered_with_the_whole_name(placement, service):
    sentence = "JSON does not validate: 'gold' does not match '^CUSTOM_[A-Z0-9_]+$'"
    service.answer(post('/resource_classes', {'name': 'gold'}, fault(400, sentence)))
    result = placement('resource class create gold', version='1.39')
    assert result.stderr.endswith('. Did you mean "CUSTOM_GOLD"?\n')


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
    assert ('Next: Add --amend, which keeps the other classes' in result.stderr) is not bool(
        options
    )


@pytest.mark.parametrize('command', ['resource class list', 'resource provider list'])
def test_an_empty_argument_is_refused_as_any_other(placement, command):
    result = placement(f"{command} ''")
    assert (result.status, 'unrecognized arguments: ' in result.stderr) == (2, True)


def test_a_dry_run_names_the_classes_that_an_inventory_would_lose(placement, service):
    live = {'inventories': {'DISK_GB': {'total': 9}}, 'resource_provider_generation': 1}
    service.answer(get(f'/resource_providers/{RP}/inventories', live))
    result = placement(f'resource provider inventory set {RP} --resource VCPU=64 --dry-run')
    assert 'This removes DISK_GB; --amend keeps the other classes' in result.stderr


@pytest.mark.parametrize(
    ('command', 'form'),
    [
        ('inventory set {} VCPU --total 64', 'inventory class set {} VCPU --total 64'),
        ('inventory delete {} VCPU', 'inventory delete {} --resource-class VCPU'),
        ('aggregate set {} a b', 'aggregate set {} --aggregate a --aggregate b'),
        ('list {}', 'show {}'),
    ],
)
def test_an_argument_too_many_is_answered_with_the_form_that_takes_it(placement, command, form):
    result = placement(f'resource provider {command.format(RP)}')
    assert result.status == 2
    assert f'. Type: placement resource provider {form.format(RP)}\n' in result.stderr


def test_aggregates_without_a_generation_are_answered_with_add(placement, service):
    result = placement(f'resource provider aggregate set {RP} --aggregate {RP}', version='1.39')
    step = f'Next: Add without a generation: placement resource provider aggregate add {RP} {RP}\n'
    assert result.stderr.endswith(step)


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


@pytest.mark.parametrize(
    ('command', 'answer'),
    [
        ('trait add compute1 --trait X', '--trait. Type the trait without --trait\n'),
        ('show --provider compute1', '. Type the provider without --provider\n'),
        ('inventory set compute1 --amend VCPU=64', '. Type: --resource VCPU=64\n'),
        ('list VCPU=4', '. Type: --resource VCPU=4\n'),
        (
            'inventory set b --match a --amend --resource VCPU:allocation_ratio 8',
            '. A value follows its = without a blank: NAME=8\n',
        ),
    ],
)
def test_a_word_in_the_wrong_place_is_answered_with_the_right_one(placement, command, answer):
    result = placement(f'resource provider {command}')
    assert (result.status, answer in result.stderr) == (2, True), result.stderr


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


@pytest.mark.parametrize(
    ('typed', 'meant'),
    [('compute_node', 'COMPUTE_NODE'), ('mem', 'MEMORY_MB'), ('RAM', 'MEMORY_MB')],
)
def test_a_name_in_lower_case_and_a_common_word_are_answered_with_the_name(typed, meant):
    existing = ['COMPUTE_NODE', 'MEMORY_MB', 'VCPU', 'CUSTOM_RAW']
    assert names.suggest_remedy([typed], existing, '') == f'. Did you mean "{meant}"?'


def test_a_trait_in_lower_case_is_answered_with_the_trait(placement, service):
    sentence = 'Invalid trait(s) in "required" parameter: No such trait(s): compute_node.'
    service.answer(
        Exchange('GET /resource_providers?required=compute_node', fault(400, sentence)),
        get('/traits', {'traits': ['COMPUTE_NODE']}),
    )
    refused = placement('resource provider list --required compute_node', version='1.39')
    assert 'Did you mean "COMPUTE_NODE"?' in refused.stderr


def test_a_custom_class_in_lower_case_is_answered_with_the_class(placement, service):
    sentence = "JSON does not validate: 'CUSTOM_gold' does not match '^CUSTOM_[A-Z0-9_]+$'"
    service.answer(Exchange('POST /resource_classes', fault(400, sentence)))
    refused = placement('resource class create CUSTOM_gold', version='1.2')
    assert 'Did you mean "CUSTOM_GOLD"?' in refused.stderr


def test_a_part_of_a_consumer_that_is_deleted_is_no_consumer(placement, service):
    refusal = fault(404, f"No allocations for consumer '{CONSUMER[:8]}'")
    service.answer(Exchange(f'DELETE /allocations/{CONSUMER[:8]}', refusal))
    result = placement(f'resource provider allocation delete {CONSUMER[:8]}')
    assert f'{CONSUMER[:8]} is not a whole UUID, and consumers have no names' in result.stderr


def test_a_trait_against_the_rule_is_answered_with_the_rule_and_a_name(placement, service):
    sentence = 'The trait is invalid. A valid trait must be no longer than 255 characters'
    service.answer(Exchange('PUT /traits/gold-a', fault(400, sentence)))
    refused = placement('trait create gold-a', version='1.39')
    rule = 'A name is CUSTOM_ and then A to Z, 0 to 9, _. Did you mean "CUSTOM_GOLD_A"?'
    assert rule in refused.stderr


def test_an_unknown_column_to_sort_by_is_named_where_the_table_is_printed(placement, tmp_path):
    snapshot = save(tmp_path, 'cloud.json', small())
    result = placement(f'resource capacity show --snapshot {snapshot} --sort-column tre')
    assert (result.status, result.stderr) == (
        0,
        f'Not sorted. {NO_COLUMN}',
    )


@pytest.mark.parametrize(
    ('command', 'answer'),
    [
        ('provider list --with-class VCPU', 'Did you mean "--resource"?'),
        ('provider list --json', 'Did you mean "--format"?'),
        ('provider drain plan --servers s.json', 'Did you mean "--requests"?'),
        ('provider show a --fits VCPU=1', '. --fits is an option of: resource capacity show\n'),
        (
            'provider show a --required X',
            '? --required is an option of other commands, not of this one\n',
        ),
        ('usage list --by server', '. Did you mean "consumer"?\n'),
        ('usage list --by tenant', '. Did you mean "project"?\n'),
        ('usage list --by node', '. Did you mean "host"?\n'),
        ('provider list -f jsn', '. Did you mean "json"?\n'),
    ],
)
def test_an_option_of_another_command_is_answered_with_the_option(placement, command, answer):
    result = placement(f'resource {command}')
    assert (result.status, answer in result.stderr) == (2, True), result.stderr


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


def test_an_unknown_custom_name_is_not_answered_with_a_standard_one():
    existing = ['COMPUTE_NODE', 'CUSTOM_SSD']
    assert names.suggest_remedy(['CUSTOM_NODE'], ['COMPUTE_NODE'], '') == ''
    assert names.suggest_remedy(['CUSTOM_SDS'], existing, '') == '. Did you mean "CUSTOM_SSD"?'


def test_an_argument_too_many_is_said_to_be_one(placement):
    result = placement('resource provider show compute1 compute2')
    assert 'unrecognized arguments: compute2. The command takes no more arguments' in result.stderr


@pytest.mark.parametrize(
    ('columns', 'sentence'),
    [
        ('-c tre', NO_COLUMN),
        (
            '-c tree,used',
            NO_COLUMN.replace('tre.', 'tree,used.').replace(
                'Did you mean "tree"?', 'Type: -c tree -c used.'
            ),
        ),
    ],
)
def test_a_column_that_does_not_exist_is_answered_with_those_that_do(
    placement, tmp_path, columns, sentence
):
    snapshot = save(tmp_path, 'cloud.json', small())
    refused = placement(f'resource capacity show --snapshot {snapshot} {columns}')
    assert (refused.status, refused.stderr) == (1, sentence)


@pytest.mark.parametrize(
    ('command', 'answer'),
    [
        ('tree show compute1 -c name', 'The text has no columns. Type: -f yaml -c name\n'),
        ('delete compute1 -c name', '-c name. The command prints no table\n'),
    ],
)
def test_columns_are_refused_where_no_table_is_printed(placement, service, command, answer):
    result = placement(f'resource provider {command}')
    assert (result.status, answer in result.stderr, service.requests) == (2, True, [])


def test_an_unknown_project_is_named(placement, service):
    service.answer(get('/usages?project_id=admin', {'usages': {}}))
    result = placement('resource usage show admin', version='1.9')
    assert (result.status, result.stderr) == (0, 'No usage of a project with the ID admin\n')


@pytest.mark.parametrize(
    ('typed', 'meant'),
    [
        ('resource provider tree delete compute1', 'resource provider purge'),
        ('resource provider rename compute1 compute2', 'resource provider set'),
    ],
)
def test_a_command_of_another_name_is_answered_with_the_command(placement, typed, meant):
    assert f'Did you mean "{meant}"?' in placement(typed).stderr


def test_an_option_before_the_command_is_answered_with_its_place(placement):
    refused = placement('-f json resource provider list')
    assert 'Options of a command come after its name' in refused.stderr


def test_a_mistyped_option_in_place_of_a_required_one_is_answered(placement):
    refused = placement('resource provider inventory class set compute1 VCPU --totl 64')
    assert 'required: --total. Did you mean "--total"?' in refused.stderr


def test_a_custom_name_in_small_letters_is_answered_in_capitals():
    answer = names.suggest_remedy(['custom_gpu'], ['HW_CPU_X86_AVX'], 'placement trait create')
    assert answer.endswith('Did you mean "CUSTOM_GPU"?')


@pytest.mark.parametrize('command', ['resize {} --resource VCPU=1', 'unset {}'])
def test_a_part_of_a_consumer_in_an_error_is_said_to_be_one(placement, service, command):
    answer = {'allocations': {}, 'project_id': 'p', 'user_id': 'u', 'consumer_generation': 1}
    service.answer(get(f'/allocations/{CONSUMER[:8]}', answer))
    refused = placement(f'resource provider allocation {command.format(CONSUMER[:8])}')
    assert f'{CONSUMER[:8]} is not a whole UUID, and consumers have no names' in refused.stderr


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


def test_a_blank_in_place_of_the_equals_sign_of_a_ratio_is_answered(placement):
    edit = "inventory set --match 'compute*' --amend --resource VCPU:allocation_ratio 8"
    refused = placement(f'resource provider {edit}')
    assert '8 was taken as a provider. Write VCPU:allocation_ratio=8' in refused.stderr


def test_a_resource_without_an_amount_is_answered_with_an_example(placement):
    refused = placement(f'resource provider allocation resize {CONSUMER} --resource VCPU')
    assert 'of form <resource_class>=<value>, such as VCPU=4' in refused.stderr
