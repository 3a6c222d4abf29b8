# SPDX-License-Identifier: Apache-2.0
"""Names of providers, and patterns of names."""

import pytest

from placementclient.basis import errors
from placementclient.model import patterns

ROOTS = {'compute1': 'c1', 'compute2': 'c2', 'compute2_gpu': 'c2', 'odd[1]': 'odd'}


@pytest.mark.parametrize(
    ('names', 'expected'),
    [
        (['compute1', 'no such'], ['compute1', 'no such']),
        (['compute2*'], ['c2']),
        (['compute*', 'compute1'], ['c1', 'c2', 'compute1']),
        (['*_gpu', 'compute?'], ['c2', 'c1']),
        # A name that looks like a pattern, and matches nothing as one.
        (['odd[1]'], ['odd']),
    ],
)
def test_a_pattern_selects_the_trees_that_it_matches(names, expected):
    assert patterns.expand_patterns(names, lambda: ROOTS) == expected


def test_names_without_a_pattern_need_no_list_of_providers():
    def root_uuids():
        raise AssertionError('nobody has to be asked')

    assert patterns.expand_patterns(['compute1'], root_uuids) == ['compute1']


@pytest.mark.parametrize(
    ('pattern', 'sentence'),
    [
        ('compte*', '"compte*" matches no tree. Did you mean "compute*"?'),
        ('Compute*', '"Compute*" matches no tree. Did you mean "compute*"?'),
        ('[x]', '"[x]" matches no tree'),
    ],
)
def test_a_pattern_without_a_match_is_an_error(pattern, sentence):
    with pytest.raises(errors.NoSuchProvider) as refused:
        patterns.expand_patterns([pattern], lambda: ROOTS, 'tree')
    assert str(refused.value) == sentence


def test_a_beginning_of_several_names_is_answered_with_the_pattern():
    names = {'compute1', 'compute2', 'storage'}
    assert patterns.find_similar_names('comp', names) == {'comp*'}
    assert patterns.find_similar_names('stor', names) == names
