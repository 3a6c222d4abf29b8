# SPDX-License-Identifier: Apache-2.0
"""The server with one database: how it starts and answers."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import re
import shlex
import tempfile
import threading
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import webob
from oslo_config import cfg
from oslo_context import context
from oslo_db import exception
from oslo_db.sqlalchemy import enginefacade
from placement import conf as options
from placement import db_api, policy
from placement.db.sqlalchemy import models
from placement.objects import resource_class, trait
from sqlalchemy import URL, Connection, Engine, event, inspect, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError

from placementclient.basis import errors
from placementclient.basis.wording import join_names, suggest_similar
from placementclient.embedded import database_url, tables
from placementclient.embedded.transactions import Transactions, translate_database_errors
from placementclient.model.providers import Provider
from placementclient.model.snapshots import Snapshot

LOG = logging.getLogger(__name__)

#: How long a request waits for others that write to the same SQLite file, in seconds.
LOCK_TIMEOUT = 300

#: The scripts of the installed server; Alembic, which would read them, loads slowly.
_SCRIPTS = Path(str(models.__file__)).with_name('alembic') / 'versions'
_REVISION = re.compile(r'^(down_)?revision = [\'"](\w+)[\'"]', re.MULTILINE)
#: Tables by which a database is known. That of nova_api has those of Placement's beginnings too.
_PLACEMENT_TABLE, _NOVA_API_TABLE = 'resource_providers', 'cell_mappings'
_READ_METHODS = frozenset({'GET', 'HEAD', 'OPTIONS'})


def is_running() -> bool:
    """Return whether this process has a running server; it can have only one."""
    is_started: bool = db_api.placement_context_manager.is_started
    return is_started


def start(database: str | None, conf_file: str | None) -> Service:
    """Start the service on the operator's database; without arguments, on the user's own.

    :param database: a URL, which wins over the connection in the file
    :param conf_file: the path of a ``placement.conf``
    """
    if not (database or conf_file):
        return _start_on_user_database()
    subject = database_url.hide_password(database) if database else str(conf_file)
    with _explain_failures(subject):
        conf = make_configuration(database, conf_file)
    with _explain_failures(subject, str(conf.placement_database.connection)):
        return _start(Service(conf), Service.check_schema)


def start_scratch(folder: Path) -> Service:
    """Start the service on the database of a folder, or on a new one without providers."""
    with _explain_failures(str(folder)):
        path = folder / 'placement.sqlite'
        if not path.exists():
            path.write_bytes(make_empty_database())
        return _start(Service(make_configuration(_make_sqlite_url(path), durable=False)))


def _start_on_user_database() -> Service:
    data = os.environ.get('XDG_DATA_HOME') or Path.home() / '.local' / 'share'
    folder = Path(data, 'placementclient')
    with _explain_failures(str(folder)):
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        return _start_on_migrated_file(folder / 'placement.sqlite')


def _start_on_migrated_file(path: Path, durable: bool = True) -> Service:
    """Start the service on a SQLite file, made or migrated first, and crash-safe if ``durable``."""
    from oslo_concurrency import lockutils

    # One process at a time, because SQLite's locks do not span a migration.
    with lockutils.external_lock('migration.lock', lock_path=str(path.parent)):
        return _start(
            Service(make_configuration(_make_sqlite_url(path), durable=durable)),
            Service.migrate_schema,
        )


def _start(service: Service, prepare: Callable[[Service], None] | None = None) -> Service:
    """Start a service and return it; close it if it cannot start.

    :param prepare: checks or migrates the schema of the database
    """
    try:
        if prepare:
            prepare(service)
        service.start_server()
    except BaseException:
        service.close()
        raise
    return service


@functools.cache
def make_empty_database() -> bytes:
    """Return the bytes of a SQLite file without providers, at the newest schema."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, 'placement.sqlite')
        _start_on_migrated_file(path, durable=False).close()
        return path.read_bytes()


@contextlib.contextmanager
def _explain_failures(subject: str, url: str = '') -> Iterator[None]:
    """Turn any error of the block into a DatabaseError that explains it without the password.

    :param subject: the database or its file, as the error names it
    :param url: the URL of the database, if it is known; it may have a password
    """
    try:
        yield
    except errors.DirectError:
        raise
    except Exception as error:
        # Its place, not its text: that may have the URL.
        stack = ''.join(traceback.format_tb(error.__traceback__))
        LOG.debug('%s:\n%s', type(error).__name__, stack)
        reason = database_url.describe_failure(error, url)
        if subject == database_url.UNREADABLE:
            raise errors.DatabaseError(f'Cannot parse the database URL: {reason}') from None
        raise errors.DatabaseError(f'No embedded Placement on {subject}: {reason}') from None


def _make_missing_database_error(path: Path) -> errors.DatabaseError:
    """Return the error for a SQLite file that does not exist, with a file of a similar name."""
    folder = path.parent
    near = suggest_similar(path.name, os.listdir(folder)) if folder.is_dir() else ''
    absent = '' if folder.is_dir() else f': the folder {folder} does not exist'
    missing = errors.DatabaseError(
        f'There is no database {path}{absent}{near or ". Check the path"}'
    )
    if not near:
        url = shlex.quote(_make_sqlite_url(path.absolute()))
        variable = f'OS_PLACEMENT_DATABASE__CONNECTION={url}'
        missing.next_steps = (f'For an empty Placement: {variable} placement-manage db sync',)
    return missing


def _make_sqlite_url(path: Path) -> str:
    return URL.create('sqlite', database=str(path)).render_as_string()


def make_configuration(
    database: str | None, conf_file: str | None = None, durable: bool = True
) -> cfg.ConfigOpts:
    """Return the server's configuration; no other files are read.

    :param database: a URL, which wins over the connection in the file
    :param conf_file: the path of a ``placement.conf``; ``None``: the defaults
    :param durable: whether the database must survive a crash of the machine
    """
    conf = cfg.ConfigOpts()
    root, silent = logging.getLogger(), logging.NullHandler()
    # oslo.log, as it registers options, would make an unconfigured root logger talk.
    root.addHandler(silent)
    options.register_opts(conf)
    root.removeHandler(silent)
    # The modules share their groups of options, with earlier values.
    conf.reset()
    # By default the server tries for 100 seconds to reach a database that does not answer.
    settings: dict[str, object] = {'max_retries': 0, 'sync_on_startup': False}
    if database:
        settings |= {
            'connection': database.replace('$', '$$'),
            'connection_parameters': '',
            'slave_connection': None,
        }
    if not durable:
        settings['sqlite_synchronous'] = False
    for name, value in settings.items():
        conf.set_override(name, value, 'placement_database')
    conf.set_override('auth_strategy', 'noauth2', 'api')
    if not conf_file:
        # Else oslo.policy reads files in the home directory and in /etc.
        conf.set_override('policy_file', os.devnull, 'oslo_policy')
        conf.set_override('policy_dirs', [], 'oslo_policy')
    conf(
        args=[],
        prog='placement',
        project='placement',
        default_config_files=[conf_file] if conf_file else [],
        default_config_dirs=[],
        use_env=bool(conf_file),
    )
    return conf


class _ThreadRequest(threading.local):
    """The request that this thread carries out.

    :ivar writes: whether it may write, so that its outermost transaction begins as a writer
    :ivar writer: the connection of that transaction to SQLite, while it is open
    """

    writes = False
    writer: Connection | None = None


class Service:
    """The Placement server, run in this process with one database until :meth:`close`."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        for log in map(logging.getLogger, ('placement', 'alembic')):
            # The answers have the same warnings.
            if not (log.level or log.handlers or log.isEnabledFor(logging.DEBUG)):
                log.setLevel(logging.CRITICAL)
        # Its messages about an engine have the URL.
        logging.getLogger('oslo_db').setLevel(logging.CRITICAL)
        self._thread = _ThreadRequest()
        self._conf, self._transactions = conf, Transactions(conf)
        settings = dict(self._conf.placement_database.items())
        del settings['sync_on_startup']
        manager = enginefacade.transaction_context()
        # The pauses at each use of a connection are meant for eventlet.
        manager.configure(**settings, thread_checkin=False)
        manager.append_on_engine_create(self._order_writers)
        self._engine = manager.writer.get_engine()
        self._release = db_api.placement_context_manager.patch_factory(manager)
        # Other databases may lack the traits and classes that the server has added to one.
        trait._TRAITS_SYNCED = resource_class._RESOURCE_CLASSES_SYNCED = False
        policy.reset()

    @property
    def database(self) -> str:
        """The URL of the database, without a password."""
        # Drivers take one in the query too.
        return str(self._engine.url.set(query={}).render_as_string())

    def check_schema(self) -> None:
        """Raise an error if the database has another schema than the installed server needs."""
        url = self._engine.url
        sync = 'run `OS_PLACEMENT_DATABASE__CONNECTION=URL placement-manage db sync` with its URL'
        if url.get_backend_name() == 'sqlite' and url.database not in (None, '', ':memory:'):
            path = Path(url.database.removeprefix('file:'))
            if not path.exists():  # SQLite would create it
                raise _make_missing_database_error(path)
        revision, (head, revisions) = _read_revision(self._engine), _list_revisions()
        if revision == head:
            return
        if others := _describe_foreign_tables(
            self._engine, has_placement_schema=revision in revisions
        ):
            fault = f"is not Placement's, but has tables of {others}: check its URL"
        elif revision is None:
            fault = f'has no schema of Placement: {sync}'
        elif revision in revisions:
            fault = f'has an old schema ({revision}, not {head}): {sync}'
        else:
            fault = f'has a schema that this openstack-placement does not know ({revision})'
        raise errors.DatabaseError(f'The database {database_url.hide_password(url)} {fault}')

    def migrate_schema(self) -> None:
        """Create the schema, or upgrade it."""
        if _read_revision(self._engine) != _list_revisions()[0]:
            from placement.db.sqlalchemy import migration

            self._thread.writes = True
            migration.upgrade('head')

    def start_server(self) -> None:
        """Start the server, which adds missing standard traits and classes."""
        self._thread.writes = True
        policy.init(self._conf)
        database_context = db_api.DbContext()
        try:
            trait.ensure_sync(database_context)
            resource_class.ensure_sync(database_context)
        except exception.DBConnectionError:
            raise
        except (exception.DBError, DBAPIError):
            raise errors.DirectError(
                f'The database {database_url.hide_password(self._engine.url)} lacks standard '
                'traits or classes, which Placement writes when it starts, and this user may only '
                'read: run a command once as a user who may write'
            ) from None

    def answer(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> webob.Response:
        """Return the server's answer to a request."""
        caller = context.get_current()
        request = webob.Request.blank(url, method=method, headers=headers, body=body)
        if not self._transactions.is_open:
            self._thread.writes, self._thread.writer = method not in _READ_METHODS, None
        try:
            return self._transactions.answer(request)
        finally:
            if caller:
                caller.update_store()  # the server has put its own in place of the thread's

    def transaction(self, headers: Mapping[str, str]) -> AbstractContextManager[None]:
        """Put this thread's requests in the block into one transaction of the ``headers``' user."""
        self._thread.writes, self._thread.writer = True, None
        return self._transactions.begin(headers)

    def snapshot(self, roots: Collection[str] | None = None, *, types: bool = True) -> Snapshot:
        """Return the trees of some roots, or all, with their consumers.

        :param types: whether consumers have their types
        """
        self._thread.writes = False
        with translate_database_errors():
            return tables.read_snapshot(self._engine, roots, types=types)

    def providers(self, roots: Collection[str]) -> list[Provider]:
        """Return the providers of the trees of some roots."""
        self._thread.writes = False
        with translate_database_errors():
            return tables.read_providers(self._engine, roots)

    def close(self) -> None:
        """Close the database and reset the server's modules."""
        self._engine.dispose()
        self._conf.reset()
        self._release()

    def _order_writers(self, engine: Engine) -> None:
        """Make processes that write to one SQLite file wait for each other."""
        if engine.dialect.name != 'sqlite':
            return
        # The server's transactions begin by reading. If another process has written since, SQLite
        # refuses to let them write (database is locked). So those of a request that may write begin
        # as writers; but only the outermost, within which the server opens a second one to read.
        thread = self._thread

        @event.listens_for(engine, 'connect')
        def set_busy_timeout(connection: DBAPIConnection, _record: object) -> None:
            connection.execute(f'PRAGMA busy_timeout = {LOCK_TIMEOUT * 1000}')

        @event.listens_for(engine, 'before_cursor_execute', retval=True)
        def begin_as_writer(
            connection: Connection, _cursor: object, statement: str, parameters: object, *_: object
        ) -> tuple[str, object]:
            """Return the statement and parameters; a request that may write begins as a writer."""
            if statement == 'BEGIN' and thread.writes and thread.writer is None:
                thread.writer = connection
                statement = 'BEGIN IMMEDIATE'
            return statement, parameters

        @event.listens_for(engine, 'commit')
        @event.listens_for(engine, 'rollback')
        def forget_writer(connection: Connection) -> None:
            if thread.writer is connection:
                thread.writer = None


def _read_revision(engine: Engine) -> str | None:
    """Return the schema revision of a database, or ``None`` without a schema of Placement."""
    with engine.connect() as connection:
        if not inspect(connection).has_table('alembic_version'):
            return None
        version: str | None = connection.scalar(text('SELECT version_num FROM alembic_version'))
        return version


def _describe_foreign_tables(engine: Engine, *, has_placement_schema: bool) -> str:
    """Return whose tables, other than Placement's, a database has; empty: nobody's."""
    names = sorted({*inspect(engine).get_table_names()} - {'alembic_version'})
    if has_placement_schema or not names:
        return ''
    if _NOVA_API_TABLE in names:
        return f'nova_api, such as {_NOVA_API_TABLE}'
    if _PLACEMENT_TABLE in names:
        return ''
    return f'something else, such as {join_names(names, 3)}'


def _list_revisions() -> tuple[str, set[str]]:
    """Return the newest schema revision of the installed server, and all that it can upgrade."""
    names = [
        match for script in _SCRIPTS.glob('*.py') for match in _REVISION.findall(script.read_text())
    ]
    revisions = {name for down, name in names if not down}
    [newest] = revisions - {name for down, name in names if down}
    return newest, revisions
