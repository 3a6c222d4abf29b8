# SPDX-License-Identifier: Apache-2.0
"""AMD SEV: encryption contexts, and the trait, to a provider of their own."""

from nova.tests.functional.libvirt import test_reshape

from tests.nova.judge import Judged


class SEVTests(Judged, test_reshape.SevResphapeTests):
    def specification(self, hostname):
        return {
            'trees': {'name': [hostname]},
            'providers': [
                {
                    'name': '{root}_amd_sev',
                    'inventories': {'MEM_ENCRYPTION_CONTEXT': {'total': 100, 'max_unit': 1}},
                    'traits': ['OWNER_NOVA'],
                }
            ],
            'moves': [
                {
                    'from_resource_provider': '{root}',
                    'to_resource_provider': '{root}_amd_sev',
                    'moved_resources': {'MEM_ENCRYPTION_CONTEXT': 100},
                    'moved_traits': ['HW_CPU_X86_AMD_SEV'],
                }
            ],
        }
