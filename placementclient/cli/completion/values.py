"""Names of providers, resource classes and traits for completion, cached for a minute.

``placement complete --values KIND WORD`` prints those that begin with a word; the command line so
far, a word a line, comes on stdin, where no list of processes shows a password.
"""

import contextlib
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable
from typing import Any

#: How long values are good, and after how long without use they are removed, in seconds.
FRESH, FORGOTTEN = 60.0, 86_400.0
#: How long a key press waits for the service, in seconds.
TIMEOUT = 2.0

COMMANDS = {
    'providers': 'resource provider list',
    'classes': 'resource class list',
    'traits': 'trait list',
    'consumers': 'resource provider tree list --allocations',
}
#: The variables that select the cloud, beside OS_*.
_PLACES = ('HOME', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME')
#: The variables that do not select a service.
_IRRELEVANT = ('OS_PLACEMENT_API_VERSION',)


def main(argv: list[str]) -> int:
    """Print values; the arguments are ``KIND WORD``."""
    if len(argv) != 2 or argv[0] not in COMMANDS:
        return 2
    os.environ.update(_settings(sys.stdin.read().split('\n')))
    for value in _values(argv[0]):
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


def _path(kind: str) -> str:
    """Return the file with the values of one kind for one cloud and user."""
    facts = {
        name: value
        for name, value in os.environ.items()
        if (name.startswith('OS_') or name in _PLACES) and name not in _IRRELEVANT
    }
    if os.path.exists('clouds.yaml') or os.path.exists('clouds.yml'):
        facts['folder'] = os.getcwd()
    key = hashlib.sha256(json.dumps(facts, sort_keys=True).encode(errors='replace'))
    caches = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
    return os.path.join(caches, 'placementclient', f'{key.hexdigest()[:32]}.{kind}')


def _values(kind: str) -> list[str]:
    """Return the values; ask the service if they are older than a minute."""
    path, cached = _path(kind), list[str]()
    with contextlib.suppress(OSError):
        with open(path, encoding='utf-8') as file:
            cached = file.read().splitlines()
        if 0 <= time.time() - os.stat(path).st_mtime < FRESH:
            return cached
    answer = _ask(kind)
    names = {*_standard(kind), *(cached if answer is None else answer)}
    # A name with control characters could not be typed.
    values = sorted(name for name in names if name.isprintable())
    with contextlib.suppress(OSError):
        _write(path, values)
    return values


def _write(path: str, values: Iterable[str]) -> None:
    """Cache values, for the user alone, and remove values that are no longer used."""
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    new = f'{path}.{os.getpid()}'
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, 'w', encoding='utf-8') as file:
        file.writelines(f'{value}\n' for value in values)
    os.replace(new, path)
    with os.scandir(folder) as entries:
        for entry in entries:
            if time.time() - entry.stat().st_mtime > FORGOTTEN:
                os.unlink(entry)


def _ask(kind: str) -> list[str] | None:
    """Return the names that the service has; ``None`` without an answer in time."""
    import subprocess

    insecure = ['--insecure'] if os.environ.get('OS_INSECURE') else []
    try:
        listed = subprocess.run(  # noqa: S603
            [sys.executable, '-P', '-m', 'placementclient', *insecure, *COMMANDS[kind].split(),
             '-f', 'json', *([] if kind == 'consumers' else ['-c', 'name'])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=TIMEOUT,
        )  # fmt: skip
        document = json.loads(listed.stdout)
        return _consumers(document) if kind == 'consumers' else [row['name'] for row in document]
    except (subprocess.TimeoutExpired, ValueError):
        return None


def _consumers(document: Any) -> list[str]:
    """Return the consumers of trees, which the service does not list."""
    if isinstance(document, list):
        return [uuid for tree in document for uuid in _consumers(tree)]
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
