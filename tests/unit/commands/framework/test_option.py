# SPDX-License-Identifier: Apache-2.0
"""Options that know their microversion."""

import argparse
import os
from argparse import Namespace

import pytest

from placementclient.commands.framework import option
from placementclient.commands.framework.option import Option


@pytest.mark.parametrize(
    ('settings', 'help'),
    [
        ({}, 'X.'),
        ({'since': '1.14'}, 'X (from API version 1.14 on).'),
        ({'until': '1.6'}, 'X (up to API version 1.6).'),
        ({'required_since': '1.8'}, 'X (required from 1.8 on).'),
        (
            {'since': '1.2', 'until': '1.6', 'required_since': '1.3'},
            'X (from API version 1.2 on, up to API version 1.6, required from 1.3 on).',
        ),
    ],
)
def test_the_help_of_an_option_names_its_versions(settings, help):
    assert Option('--x', help='X', **settings).help == help


def test_a_command_shows_a_shared_option_under_its_own_heading():
    shared = Option('--x', help='X')
    [grouped] = option.group_options('changes', shared)
    assert (shared.heading, grouped.heading) == (None, 'changes')


@pytest.mark.parametrize(
    ('settings', 'value', 'is_set'),
    [
        ({}, None, False),
        ({}, '', True),
        ({}, 'x', True),
        ({'type': int}, 0, True),
        ({'action': 'store_true'}, False, False),
        ({'action': 'store_true'}, True, True),
        ({'action': 'append', 'default': []}, [], False),
        ({'action': 'append', 'default': []}, [''], True),
        ({'default': 'none'}, 'none', False),
        ({'default': 'none'}, 'isolate', True),
    ],
)
def test_option_is_set_only_if_it_was_given(settings, value, is_set):
    assert Option('--x', help='X', **settings).is_set(Namespace(x=value)) is is_set


def test_workers_are_a_number_or_auto(monkeypatch):
    monkeypatch.setattr(os, 'cpu_count', lambda: 6)
    parser = argparse.ArgumentParser()
    option.make_workers_option('trees to read').add_to(parser)
    parsed = [parser.parse_args(words) for words in ([], ['--workers', '9'], ['--workers', 'auto'])]
    assert [args.workers for args in parsed] == [4, 9, 12]
