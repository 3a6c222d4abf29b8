# SPDX-License-Identifier: Apache-2.0
"""Names of providers, resource classes and traits for completion, cached for a minute.

``placement complete --values KIND WORD`` prints those that begin with a word; the command line so
far, a word a line, comes on stdin, where no list of processes shows a password. Without a word it
asks the service, caches the names, and prints all.
"""

import contextlib
import hashlib
import json
import os
import stat
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

#: How long names are used before the service is asked again.
FRESH_SECONDS = 60.0
#: How long names stay that nothing has asked for.
REMOVED_AFTER_SECONDS = 86_400.0
#: How long a key press waits for the names.
KEY_PRESS_SECONDS = 2.0
#: How long the service has to answer the process that a key press has started.
SERVICE_SECONDS = 30.0

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
#: The options of a connection that have no variable.
_FLAGS = ('--insecure', '--verify')
#: The most bytes of a cache that are read.
_MOST_BYTES = 1 << 24


def main(argv: list[str]) -> int:
    """Print names for completion; return the exit status.

    :param argv: ``KIND WORD`` for a key press, or ``KIND`` to renew the cache; a key press does so
        in another process if the names in the cache are too old
    """
    if len(argv) not in (1, 2) or argv[0] not in COMMANDS:
        return 2
    variables, tls_flags = _parse_connection_options(sys.stdin.read().split('\n'))
    os.environ.update(variables)
    kind, *words = argv
    if words:
        names = [name for name in _read_names(kind, tls_flags) if name.startswith(words[0])]
    else:
        names = _renew_names(kind, tls_flags)
    for name in names:
        print(name)
    return 0


def _parse_connection_options(words: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Return a command line's options ``--os-*`` as variables, and ``--insecure, --verify``."""
    settings, tls_flags, pending = dict[str, str](), list[str](), ''
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
        elif word == '--':
            break
        elif word in _FLAGS:
            tls_flags.append(word)
    return settings, tls_flags


def _locate_cache(kind: str, tls_flags: Sequence[str] = ()) -> str:
    """Return the path of the cache for a kind of names of the selected cloud."""
    facts: dict[str, object] = {
        name: value
        for name, value in os.environ.items()
        if (name.startswith('OS_') or name in _PLACES) and name not in _IRRELEVANT
    }
    if tls_flags:
        facts['flags'] = tls_flags
    if os.path.exists('clouds.yaml') or os.path.exists('clouds.yml'):
        facts['folder'] = os.getcwd()
    key = hashlib.sha256(json.dumps(facts, sort_keys=True).encode(errors='replace'))
    caches = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
    return os.path.join(caches, 'placementclient', f'{key.hexdigest()[:32]}.{kind}')


def _read_names(kind: str, tls_flags: Sequence[str]) -> list[str]:
    """Return the names of a kind from the cache; ask the service if the cache is a minute old."""
    path, cached = _locate_cache(kind, tls_flags), list[str]()
    with contextlib.suppress(OSError, ValueError):
        cached, age = _read_cache(path)
        if 0 <= age < FRESH_SECONDS:
            return _sort_printable_names(cached)
    # The old names are cached as new ones: if the service is silent, only one key press a minute
    # waits for it. The answer of the service, even if it comes later, replaces them.
    known = [*_list_standard_names(kind), *cached]
    with contextlib.suppress(OSError):
        _write_cache(path, _sort_printable_names(known))
    return _sort_printable_names(_renew_names_in_other_process(kind, tls_flags) or known)


def _renew_names(kind: str, tls_flags: Sequence[str]) -> list[str]:
    """Ask the service for the names of a kind, cache and return them; empty: it does not answer."""
    answer = _request_names(kind, tls_flags)
    if answer is None:
        return []
    names = _sort_printable_names([*_list_standard_names(kind), *answer])
    with contextlib.suppress(OSError):
        _write_cache(_locate_cache(kind, tls_flags), names)
    return names


def _sort_printable_names(names: Iterable[str]) -> list[str]:
    """Return names sorted, without those that have control characters."""
    return sorted({name for name in names if name.isprintable()})


def _read_cache(path: str) -> tuple[list[str], float]:
    """Return the names in a cache, and their age in seconds.

    :raises OSError: if the cache is not a plain file of this user
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, encoding='utf-8') as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            raise OSError(f'{path} is not a file of this user')
        return file.read(_MOST_BYTES).splitlines(), time.time() - status.st_mtime


def _write_cache(path: str, names: Iterable[str]) -> None:
    """Write names to a cache that only the user reads; remove caches that are no longer used."""
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    new = f'{path}.{os.getpid()}'
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(descriptor, 'w', encoding='utf-8') as file:
        file.writelines(f'{name}\n' for name in names)
    os.replace(new, path)
    with os.scandir(folder) as entries:
        for entry in entries:
            if time.time() - entry.stat(follow_symlinks=False).st_mtime > REMOVED_AFTER_SECONDS:
                os.unlink(entry)


def _renew_names_in_other_process(kind: str, tls_flags: Sequence[str]) -> list[str]:
    """Let another process renew the names, and return them; empty: it takes too long."""
    import subprocess

    process = subprocess.Popen(  # noqa: S603
        [sys.executable, '-P', '-m', 'placementclient', 'complete', '--values', kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        return process.communicate('\n'.join(tls_flags), timeout=KEY_PRESS_SECONDS)[0].splitlines()
    except subprocess.TimeoutExpired:
        return []


def _request_names(kind: str, tls_flags: Sequence[str]) -> list[str] | None:
    """Return the names of a kind that the service has; ``None`` without an answer."""
    import subprocess

    try:
        listed = subprocess.run(  # noqa: S603
            [sys.executable, '-P', '-m', 'placementclient', *tls_flags, *COMMANDS[kind].split(),
             '-f', 'json', *([] if kind == 'consumers' else ['-c', 'name'])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=SERVICE_SECONDS,
        )  # fmt: skip
        document = json.loads(listed.stdout)
        return (
            _collect_consumer_uuids(document)
            if kind == 'consumers'
            else [row['name'] for row in document]
        )
    except (subprocess.TimeoutExpired, ValueError):
        return None


def _collect_consumer_uuids(document: dict[str, list[Any]]) -> list[str]:
    """Return the UUIDs of all consumers in the output of ``tree list --allocations``."""
    below = [*document.get('trees', ()), *document.get('children', ())]
    consumers = [uuid for tree in below for uuid in _collect_consumer_uuids(tree)]
    return [*document.get('allocations', ()), *consumers]


def _list_standard_names(kind: str) -> list[str]:
    """Return the standard resource classes or traits; empty for another kind of names."""
    if kind == 'classes':
        import os_resource_classes

        return list(os_resource_classes.STANDARDS)
    if kind == 'traits':
        import os_traits

        return list(os_traits.get_traits())
    return []
