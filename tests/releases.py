# SPDX-License-Identifier: Apache-2.0
"""The main jobs on real older releases of Placement: ``python tests/releases.py [series …]``.

Each release runs in an environment of its own, with an interpreter of its time that this machine
has: ``python3.8`` on the path, or one that uv or pyenv knows. Nothing is downloaded for that.
"""

import glob
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

TESTS = 'tests/functional/main_jobs.py'
#: Placement up to Antelope needs a SQLAlchemy of its time, and pkg_resources.
_OF_THE_TIME = ('SQLAlchemy<1.4', 'setuptools<81', 'oslo.policy<4')


class Release(NamedTuple):
    """A release of Placement, the Python of its time, and what else it needs."""

    version: str
    python: str
    requirements: tuple[str, ...] = ()


RELEASES = {
    'train': Release('2.0.1', '3.7', _OF_THE_TIME),
    'ussuri': Release('3.0.0', '3.8', _OF_THE_TIME),
    'wallaby': Release('5.0.1', '3.8', _OF_THE_TIME),
    'xena': Release('6.0.0', '3.9', _OF_THE_TIME),
    '2023.1': Release('9.0.0', '3.10', ('SQLAlchemy<2', *_OF_THE_TIME[1:])),
    '2024.2': Release('12.0.0', '3.11', ('SQLAlchemy<2.1', 'oslo.policy<4.5')),
    '2026.2': Release('16.0.0', '3.11'),
}


def interpreter(version):
    """Return the path of a Python of this version that runs here, or ``None``."""
    pyenv = os.environ.get('PYENV_ROOT', Path.home() / '.pyenv')
    names = [shutil.which(f'python{version}')]
    names += sorted(glob.glob(f'{pyenv}/versions/{version}.*/bin/python'))
    find = ['python', 'find', '--no-python-downloads', '--no-project', version]
    names.append(uv(*find, capture_output=True, text=True, check=False).stdout.strip())
    return next((name for name in names if name and is_working(name)), None)


def is_working(python):
    """Whether a file runs: a shim of pyenv may stand for a version that is not chosen."""
    return subprocess.run([python, '-c', ''], capture_output=True).returncode == 0


def uv(*arguments, check=True, **options):
    return subprocess.run([sys.executable, '-m', 'uv', *arguments], check=check, **options)


def environment(folder, release):
    """Return the Python of an environment with a release, which is made where it is missing."""
    python = folder / 'bin/python'
    if not python.exists():
        found = interpreter(release.python)
        if found is None:
            return None
        uv('venv', '--quiet', '--python', found, str(folder))
    wanted = (f'openstack-placement=={release.version}', 'waitress', *release.requirements)
    uv('pip', 'install', '--quiet', '--python', str(python), *wanted)
    return python


def run(series):
    """Run the tests on a release; return how it ended."""
    release = RELEASES[series]
    name = f'{series} (openstack-placement {release.version}, Python {release.python})'
    python = environment(Path(sys.prefix) / 'releases' / series, release)
    if python is None:
        return f'did NOT run: {name}: there is no Python {release.python}'
    command = [sys.executable, '-m', 'pytest', '-q', '-m', '', '-p', 'no:cacheprovider', TESTS]
    done = subprocess.run(command, env={**os.environ, 'PLACEMENT_TEST_PYTHON': str(python)})
    return f'{"failed" if done.returncode else "passed"}: {name}'


def main(*series):
    results = [run(name) for name in series or RELEASES]
    print(*results, sep='\n')
    return int(any(result.startswith('failed') for result in results))


if __name__ == '__main__':
    raise SystemExit(main(*sys.argv[1:]))
