"""Measure what twenty rules cost on a snapshot of many hosts.

python -m benchmarks.check --hosts 10000
"""

from __future__ import annotations

import argparse
import json
import resource

from benchmarks.assume import FLAVORS
from benchmarks.audit_scale import Clock
from placementclient.insight.rules.rules import check, parse
from tests.functional.clouds import used
from tests.functional.planted import planted

RULES = """
- {rule: owned, hosts: {match: compute*}, traits: {required: [OWNER_NOVA]}}
- {rule: enabled, hosts: all, traits: {forbidden: [COMPUTE_STATUS_DISABLED, CUSTOM_OLD]}}
- {rule: any of, hosts: all, traits: {required: ["OWNER_NOVA,COMPUTE_NODE"]}}
- {rule: ratio, hosts: {match: compute*}, inventories: {VCPU: {allocation_ratio: 4.0}}}
- {rule: reserved, hosts: {match: compute*}, inventories: {MEMORY_MB: {reserved: ">= 512"}}}
- {rule: room, providers: {with_class: VCPU}, inventories: {VCPU: {capacity: "> 0"}}}
- {rule: no gpus, hosts: {match: compute*}, inventories: {VGPU: none}}
- {rule: pools, providers: {with_trait: MISC_SHARES_VIA_AGGREGATE}, inventories: {DISK_GB: {}}}
- {rule: cells, hosts: {match: "compute*0"}, children: {match: "*numa*", count: "= 2"}}
- {rule: few below, hosts: all, children: {count: "<= 8"}}
- {rule: nobody, hosts: {without_trait: OWNER_NOVA}, consumers: 0}
- {rule: few, hosts: all, consumers: "<= 10"}
- {rule: usage of hosts, hosts: all, usage: {VCPU: "< 80 %", MEMORY_MB: "< 80 %"}}
- {rule: usage of all, usage: {VCPU: "< 80 %", DISK_GB: "< 80 %"}}
- {rule: hosts are there once, hosts: all, names: unique}
- {rule: providers are there once, providers: all, names: unique}
- {rule: aggregate, hosts: {match: compute00*}, aggregates: {required: [AGGREGATE]}}
- {rule: large, fits: {flavor: m1.large, count: ">= 1000"}}
- {rule: large here, hosts: {match: compute1*}, fits: {flavor: m1.large, count: ">= 40"}}
- {rule: gpu, fits: {flavor: gpu, count: 0}}
""".replace('AGGREGATE]', '7f3d2b14-35f1-4f7c-8d2c-0c7e86d7a5d1]')


def main() -> None:
    """Make a cloud, and check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--hosts', type=int, default=10000)
    arguments = parser.parse_args()
    clock, cloud = Clock(), used(planted(arguments.hosts).snapshot)
    clock.stop('make')
    rules = parse(RULES, 'rules.yaml', lambda _: FLAVORS)
    found = check(cloud, rules)
    clock.stop('check')
    facts = {
        'providers': len(cloud.providers),
        'consumers': len(cloud.consumers),
        'rules': len(rules),
        'broken in': {each.rule.name: len(each.breaches) for each in found if each.breaches},
        'about nothing': [each.rule.name for each in found if each.note],
        'seconds': clock.times,
        'megabytes': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    print(json.dumps(facts, indent=2))


if __name__ == '__main__':
    main()
