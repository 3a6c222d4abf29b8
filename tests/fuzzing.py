# SPDX-License-Identifier: Apache-2.0
"""How much is tried: a little and always the same, or much and each time something else.

``HYPOTHESIS_PROFILE=fuzz`` is the latter; ``tox -e fuzz`` sets it.
"""

import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

PROFILE = os.environ.get('HYPOTHESIS_PROFILE', 'usual')
#: How many times as many examples there are.
MORE = {'usual': 1, 'fuzz': 100}[PROFILE]

for _name, _is_usual in (('usual', True), ('fuzz', False)):
    settings.register_profile(
        _name,
        database=None,
        deadline=None,
        derandomize=_is_usual,
        print_blob=not _is_usual,
        suppress_health_check=list(HealthCheck),
    )


def examples(number):
    """The settings of a test.

    :param number: how many examples it has in every run
    """
    return settings(settings.get_profile(PROFILE), max_examples=number * MORE)


#: What somebody who means harm, or a script with a fault, puts where a name or a number belongs.
HOSTILE = [
        '', ' ', '.', '..', '../../x', '../..', '%2e%2e', '%2F', '%', '%s', '%(name)s', '{}',
    '{0}', '{provider}', '$HOME', '`id`', ';', '&', '?x=1', '#x', '*', '[', '\\', '"', "'", '=',
    '==', ',', ':', 'a=b=c', '-', '--', '-1', '0', '1.5', '1e999', 'NaN', 'nan', 'inf', '-inf',
    '1_000', '0x10', '٣', '²', '9' * 30, '9' * 5000, f'-{"9" * 30}', '2147483648', '1e308', 'null',
    'None', 'true', '[]', '\0', '\n', '\r\n', '\t', 'a\nb', '\x1b[2J', '\x1b]0;x\x07', '\x9b2J',
    '\u202e', '\u2028', '\ufeff', '\udcff', '\U0001f600', 'é', 'e\u0301', '\uff0f', 'x' * 300,
    'x' * 100_000, '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff',
    'all', 'nova', 'in:', 'in:,', '!in:', '!', '=1', 'VCPU=', 'VCPU=-1', 'VCPU=9' + '9' * 30,
    'VCPU:=1', 'VCPU=NaN', 'VCPU:allocation_ratio=inf', 'VCPU:total=', 'rp=', 'rp=,VCPU=1',
    'a' * 70_000, '/', '/dev/full', '/nonexistent/x',
]  # fmt: skip
TEXTS = (
    st.sampled_from(HOSTILE) | st.text(max_size=12) | st.integers().map(str) | st.floats().map(str)
)
#: What JSON can say, and what it should not.
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(['\x1b[2J', 'a\nb', '{root}', 'VGPU', '9' * 5000, -(10**30), 1e308]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


def replaced(value, choose, new):
    """A document in which something, somewhere, is something else."""
    if isinstance(value, dict) and value:
        key = choose(sorted(value))
        what = choose(['inside', 'inside', 'inside', 'value', 'key', 'gone'])
        rest = {name: item for name, item in value.items() if name != key}
        if what == 'gone':
            return rest
        if what == 'key':
            return {**rest, str(new)[:20]: value[key]}
        return {**value, key: new if what == 'value' else replaced(value[key], choose, new)}
    if isinstance(value, list) and value:
        index = choose(range(len(value)))
        return [*value[:index], replaced(value[index], choose, new), *value[index + 1 :]]
    return new
