# SPDX-License-Identifier: Apache-2.0
"""The commands that the page on logging in has for a service without Keystone."""

import re
import shlex

from placementclient.cli import shell
from tests.functional import guide

PAGE = guide.page('authentication')
URL = 'http://127.0.0.1:8778'


def test_the_page_logs_in_without_keystone(service_url, monkeypatch, capsys):
    text = PAGE.replace(URL, service_url)
    commands = re.findall(rf'^   placement (.*{re.escape(service_url)}.*)$', text, re.MULTILINE)
    [variables] = re.findall(rf'^   export (.*{re.escape(service_url)})$', text, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        assert shell.main(shlex.split(command)) == 0, capsys.readouterr().err
    for variable in shlex.split(variables):
        monkeypatch.setenv(*variable.split('=', 1))
    assert shell.main(['resource', 'provider', 'list']) == 0
