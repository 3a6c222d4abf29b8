# SPDX-License-Identifier: Apache-2.0
"""osc-placement's own functional tests, run on this plugin in its place.

python tests/peer.py [arguments of pytest]

Its source distribution has them. Only they are unpacked, so that OpenStackClient finds our commands
alone. They start the real Placement service in their own process.
"""

import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

RELEASE = 'osc-placement==4.9.1'
TESTS = 'osc_placement/tests/'
#: How many tests that release has; fewer would mean that some were not found, or skipped.
NUMBER = 160


def unpack(folder):
    """Have the tests, and nothing else of osc-placement, in a folder."""
    download = ['download', '-q', '--no-deps', '--no-binary', ':all:', '-d', str(folder), RELEASE]
    subprocess.run([sys.executable, '-m', 'pip', *download], check=True)
    (sdist,) = folder.glob('*.tar.gz')
    with tarfile.open(sdist) as archive:
        # Python 3.11.3 and earlier have no filters.
        archive.extraction_filter = getattr(tarfile, 'data_filter', lambda member, path: member)
        for member in archive:
            member.name = member.name.partition('/')[2]
            if member.name.startswith(TESTS):
                archive.extract(member, folder)


def run(folder, argv):
    """Run the tests and return what pytest says of them."""
    programs = str(Path(sys.executable).parent)
    environment = os.environ | {
        'PATH': os.pathsep.join([programs, os.environ.get('PATH', os.defpath)]),
        'PYTHONPATH': os.pathsep.join([str(folder), os.environ.get('PYTHONPATH', '')]),
    }
    options = ['-q', '--tb=short', '-p', 'no:cacheprovider', '-p', 'no:warnings', '-n', 'auto']
    with subprocess.Popen(
        [sys.executable, '-m', 'pytest', *options, *argv, folder / TESTS / 'functional'],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        output = []
        for line in process.stdout:
            print(line, end='', flush=True)
            output.append(line)
    return ''.join(output)


def main():
    """Succeed if all of them pass."""
    with tempfile.TemporaryDirectory() as folder:
        unpack(Path(folder))
        output = run(Path(folder), sys.argv[1:])
    return 0 if re.search(rf'^{NUMBER} passed in', output, re.MULTILINE) else 1


if __name__ == '__main__':
    sys.exit(main())
