"""Names of providers, resource classes and traits, kept for a short time, for a key press.

``placement complete --values KIND WORD`` prints those that begin with a word; the command line so
far, a word a line, comes on stdin, where no list of processes shows a password. What is kept is
printed at once, and renewed by another process if it is old. Only what was never known is waited
for.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

#: How long values are good, and after how long without use they are removed.
FRESH, FORGOTTEN = 60.0, 86_400.0
#: How long a key press waits for values that were never known, and how long the service may take,
#: in the background; all in seconds.
KEY_PRESS_TIMEOUT, SERVICE_TIMEOUT = 0.7, 20.0

#: Consumers are read provider by provider: with more than so many providers they are left out.
MOST_PROVIDERS = 1000

COMMANDS = {
    'providers': 'resource provider list',
    'classes': 'resource class list',
    'traits': 'trait list',
    'consumers': 'resource provider tree list --allocations',
}
#: Variables that say which cloud it is, beside OS_*.
_PLACES = ('HOME', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME')
#: They do not lead to another service.
_IRRELEVANT = ('OS_PLACEMENT_API_VERSION',)


def main(argv: list[str]) -> int:
    """Print values, or renew those that are kept.

    :param argv: ``KIND WORD``, or ``--renew KIND``
    """
    started = time.monotonic()
    if len(argv) != 2 or argv[argv[0] == '--renew'] not in COMMANDS:
        return 2
    os.environ.update(_settings(sys.stdin.read().split('\n')))
    if argv[0] == '--renew':
        ValueCache(argv[1], os.environ).renew()
        return 0
    cache = ValueCache(argv[0], os.environ)
    if not cache.is_fresh():
        cache.renew_elsewhere()
        while not cache.exists() and time.monotonic() - started < KEY_PRESS_TIMEOUT:
            time.sleep(0.02)
    for value in cache.read() if cache.exists() else _standard(argv[0]):
        if value.startswith(argv[1]):
            print(value)
    return 0


def _settings(words: Iterable[str]) -> dict[str, str]:
    """The variables that stand for the options of a command line."""
    settings, pending = {}, ''
    for word in words:
        if pending:
            settings[pending], pending = word, ''
        elif word.startswith('--os-'):
            option, equals, value = word.partition('=')
            variable = option.removeprefix('--').replace('-', '_').upper()
            if equals:
                settings[variable] = value
            else:
                pending = variable
        elif word == '--insecure':
            settings['OS_INSECURE'] = 'true'
    return settings


def _folder(environment: Mapping[str, str]) -> str:
    caches = environment.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
    return os.path.join(caches, 'placementclient')


class ValueCache:
    """The values of a kind that are kept for one cloud and one user of it.

    :param kind: one of :data:`COMMANDS`
    :param environment: what leads to the cloud
    """

    def __init__(self, kind: str, environment: Mapping[str, str]) -> None:
        facts = {
            name: value
            for name, value in environment.items()
            if (name.startswith('OS_') or name in _PLACES) and name not in _IRRELEVANT
        }
        if os.path.exists('clouds.yaml') or os.path.exists('clouds.yml'):
            facts['folder'] = os.getcwd()
        key = hashlib.sha256(json.dumps(facts, sort_keys=True).encode(errors='replace'))
        self._kind, self._folder = kind, _folder(environment)
        self._path = os.path.join(self._folder, f'{key.hexdigest()[:32]}.{kind}')

    def exists(self) -> bool:
        """Return whether there is something to print."""
        return os.path.exists(self._path)

    def is_fresh(self) -> bool:
        """Return whether it need not be renewed."""
        try:
            return 0 <= time.time() - os.stat(self._path).st_mtime < FRESH
        except OSError:
            return False

    def read(self) -> list[str]:
        """The values."""
        try:
            with open(self._path, encoding='utf-8') as file:
                return file.read().splitlines()
        except OSError:
            return []

    def renew_elsewhere(self) -> None:
        """Have another process renew the values, unless one is about it."""
        import subprocess

        with contextlib.suppress(OSError):
            with self._alone():
                pass
            subprocess.Popen(  # noqa: S603
                [sys.executable, '-P', '-m', 'placementclient', 'complete', '--values', '--renew',
                 self._kind],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip

    def renew(self) -> None:
        """Ask the service; where it does not answer, what was known is kept for as long again."""
        with contextlib.suppress(OSError), self._alone():
            asked = _ask(self._kind)
            names = {*_standard(self._kind), *(self.read() if asked is None else asked)}
            # What a terminal would take for more than text could not be typed either.
            self._write(sorted(name for name in names if name.isprintable()))
            self._forget()

    def _write(self, values: Iterable[str]) -> None:
        new = f'{self._path}.new'
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, 'w', encoding='utf-8') as file:
            file.writelines(f'{value}\n' for value in values)
        os.replace(new, self._path)

    def _forget(self) -> None:
        with os.scandir(self._folder) as entries:
            for entry in entries:
                if time.time() - entry.stat().st_mtime > FORGOTTEN:
                    os.unlink(entry)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Be the only process that renews these values.

        :raises OSError: if one is about it
        """
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        descriptor = os.open(f'{self._path}.lock', os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        finally:
            os.close(descriptor)


def _ask(kind: str) -> list[str] | None:
    """Return the names that the service has; None without an answer."""
    import subprocess

    if kind == 'consumers' and len(_ask('providers') or ()) > MOST_PROVIDERS:
        return []
    insecure = ['--insecure'] if os.environ.get('OS_INSECURE') else []
    try:
        listed = subprocess.run(  # noqa: S603
            [sys.executable, '-P', '-m', 'placementclient', *insecure, *COMMANDS[kind].split(),
             '-f', 'json', *([] if kind == 'consumers' else ['-c', 'name'])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=SERVICE_TIMEOUT,
        )  # fmt: skip
        document = json.loads(listed.stdout)
        return _consumers(document) if kind == 'consumers' else [row['name'] for row in document]
    except (subprocess.TimeoutExpired, ValueError):
        return None


def _consumers(document: Any) -> list[str]:
    """Return the consumers of trees, which the service does not list."""
    if isinstance(document, list):
        return [uuid for each in document for uuid in _consumers(each)]
    below = [*document.get('trees', ()), *document.get('children', ())]
    return [*document.get('allocations', ()), *_consumers(below)]


def _standard(kind: str) -> list[str]:
    """The names that every cloud has."""
    if kind == 'classes':
        import os_resource_classes

        return list(os_resource_classes.STANDARDS)
    if kind == 'traits':
        import os_traits

        return list(os_traits.get_traits())
    return []
