# SPDX-License-Identifier: Apache-2.0
"""Check an installation that has osc-placement too: ``beside.py OPENSTACK``."""

import os
import subprocess
import sys
import tempfile

SENTENCE = 'osc-placement is installed too: this is the command of python-placementclient'
#: Words of a command, what it prints on stderr, a word of its output.
CASES = (
    ('--version', '', 'openstack'),
    ('help server list', '', '--all-projects'),
    ('complete', '', 'server'),
    ('resource provider list --help', '', '--forbidden-member-of'),
    ('resource provider create compute1', SENTENCE, 'compute1'),
    ('resource provider list -f value -c name', SENTENCE, 'compute1'),
    ('resource provider tree list', SENTENCE, 'compute1'),
)


def main(program: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for words, stderr, word in CASES:
            ended = subprocess.run(
                [program, *words.split()],
                capture_output=True,
                text=True,
                timeout=120,
                env={**os.environ, 'OS_AUTH_TYPE': 'placement_direct', 'XDG_DATA_HOME': folder},
            )
            seen = (ended.returncode, ended.stderr.strip())
            assert seen == (0, stderr), (words, seen)
            assert word in ended.stdout, (words, ended.stdout)
    print(f'{program}: {len(CASES)} commands are as expected')


if __name__ == '__main__':
    main(sys.argv[1])
