# SPDX-License-Identifier: Apache-2.0
"""What all tests stand on."""

import signal

# Who starts the tests in the background of a shell lets them ignore Ctrl-C, and their children too.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter):
    """Say that slow tests were left out, and how to run them."""
    if terminalreporter.config.option.markexpr == 'not slow':
        terminalreporter.section('slow tests are left out')
        terminalreporter.line('NOT run: the tests marked slow. "pytest -n auto -m slow" runs them')
