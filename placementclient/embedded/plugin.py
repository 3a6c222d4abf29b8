# SPDX-License-Identifier: Apache-2.0
"""The plugin of keystoneauth: the loader, the plugin, and its transport."""

from __future__ import annotations

import contextlib
import io
import operator
import shutil
import tempfile
import threading
import uuid
import weakref
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

import requests
import urllib3
from keystoneauth1 import loading, plugin
from requests.adapters import HTTPAdapter

from placementclient.basis import errors
from placementclient.basis.wording import format_install_command

if TYPE_CHECKING:
    from keystoneauth1.session import Session

    from placementclient.embedded.service import Service
    from placementclient.model.snapshots import SnapshotReader

#: The default policy requires an administrator, and for ``POST /reshaper`` a service.
ROLES = 'admin,service'
#: The token, the user and the project of the caller.
CALLER = 'admin'
#: Held while a service starts or stops: a process can have only one.
_STARTING = threading.Lock()


class DirectLoader(loading.BaseLoader['Direct']):
    """Loads `Direct` from options, for ``--os-auth-type placement_direct``."""

    @property
    def plugin_class(self) -> type[Direct]:
        return Direct

    def get_options(self) -> list[loading.Opt]:
        return [
            *super().get_options(),
            loading.Opt(
                'placement-database',
                help='URL of the database of the embedded Placement; never created or migrated',
                secret=True,
            ),
            loading.Opt(
                'placement-conf',
                help='placement.conf of the deployment that the embedded Placement stands in for',
            ),
            loading.Opt(
                'placement-roles',
                default=ROLES,
                help=f'Roles that the embedded Placement sees; default={ROLES}',
            ),
        ]

    def load_from_options(self, **kwargs: object) -> Direct:
        """Return the plugin; raise UsageError if there are options of another plugin."""
        foreign = sorted(kwargs.keys() - {option.dest for option in self.get_options()})
        if foreign:
            raise errors.UsageError(
                f'placement_direct needs no cloud and takes no {", ".join(foreign)}: every command '
                'would work on a database of this host; name a cloud (OS_CLOUD, --os-cloud) or '
                'placement_direct, not both'
            )
        loaded: Direct = super().load_from_options(**kwargs)
        return loaded


class Direct(plugin.FixedEndpointPlugin):
    """Placement in this process, with one database.

    The service starts with the first request. Without arguments it works on a SQLite file in the
    user's data directory, which it creates and migrates; a named database is never created or
    migrated. Requests raise `placementclient.basis.errors.DirectError` where it cannot start.

    :param placement_database: an SQLAlchemy URL; wins over the connection in the file
    :param placement_conf: a deployment's ``placement.conf``: its options and its policy apply,
        but no user is authenticated
    :param placement_roles: the roles of the caller, with commas between
    :param transport: only for :meth:`scratch`
    """

    def __init__(
        self,
        placement_database: str | None = None,
        placement_conf: str | None = None,
        placement_roles: str | None = None,
        *,
        transport: _Transport | None = None,
    ) -> None:
        # HTTP, because requests encodes nothing in URLs of schemes that it does not know.
        super().__init__(f'http://{uuid.uuid4().hex}.placement-direct.invalid')
        self._headers = {
            'X-Auth-Token': CALLER,
            'X-User-Id': CALLER,
            'X-Tenant-Id': CALLER,
            'X-Roles': placement_roles or ROLES,
        }
        self._transport = transport or _Transport(
            operator.methodcaller('start', placement_database, placement_conf)
        )

    @classmethod
    def scratch(cls, folder: Path | None = None) -> Direct:
        """Return Placement with an empty database.

        :param folder: the folder of the database, which stays; ``None``: :meth:`close` deletes it
        """
        made = folder or Path(tempfile.mkdtemp(prefix='placement-'))
        start = operator.methodcaller('start_scratch', made)
        return cls(transport=_Transport(start, None if folder else made))

    @property
    def snapshot_reader(self) -> SnapshotReader:
        """The reader of snapshots from the tables of the database: faster than requests."""
        return self._transport.get_service()

    def transaction(self) -> AbstractContextManager[None]:
        """Put all requests of this thread in the block into one transaction.

        If a request is refused, or the block raises an error, nothing is changed.
        """
        return self._transport.get_service().transaction(self._headers)

    @property
    def database(self) -> str:
        """The URL of the database, without the password."""
        return self._transport.get_service().database

    def close(self) -> None:
        """Close the database, and delete a scratch one; further requests are refused."""
        self._transport.stop()

    def __enter__(self) -> Direct:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def get_headers(self, session: Session) -> dict[str, str]:
        """Return the headers that make the service trust the caller."""
        return dict(self._headers)

    def get_connection_params(self, session: Session) -> plugin.ConnectionParams:
        """Mount the transport, and return the parameters of keystoneauth for a connection.

        A session calls this before each request.
        """
        adapters, url = session.session.adapters, str(self.endpoint)
        if url not in adapters:
            # Not mount(): it moves the adapters about while other threads may look through them.
            session.session.adapters = OrderedDict([(url, self._transport), *adapters.items()])
        return super().get_connection_params(session)

    def get_user_id(self, session: Session) -> str:
        return CALLER

    def get_project_id(self, session: Session) -> str:
        return CALLER


class _Transport(HTTPAdapter):
    """Carries requests to the service, which it starts for the first one.

    :param start: starts the service, given its module
    :param temporary: a folder that is deleted after the service has been closed
    """

    def __init__(
        self, start: Callable[[ModuleType], Service], temporary: Path | None = None
    ) -> None:
        super().__init__()
        self._start = start
        self._service: Service | None = None
        self._resources = contextlib.ExitStack()
        if temporary:
            self._resources.callback(shutil.rmtree, temporary, ignore_errors=True)
        #: Called by :meth:`stop`, else when the transport is garbage or the program ends.
        self._release = weakref.finalize(self, self._resources.close)

    def send(self, request: Any, *args: object, **kwargs: object) -> requests.Response:
        """Return the answer of the service, as if it had come from a server."""
        body = request.body or b''
        content = body.encode() if isinstance(body, str) else body
        answer = self.get_service().answer(request.method, request.url, request.headers, content)
        raw = urllib3.HTTPResponse(
            body=io.BytesIO(answer.body),
            headers=urllib3.HTTPHeaderDict(answer.headerlist),
            status=answer.status_int,
            reason=answer.status.partition(' ')[2],
            preload_content=False,
        )
        return self.build_response(request, raw)

    def get_service(self) -> Service:
        """Return the service; the first call starts it."""
        with _STARTING:
            if self._service is None:
                self._service = self._start(_import_unused_service())
                self._resources.callback(self._service.close)
            return self._service

    def close(self) -> None:
        """Do nothing: a session closes its adapters, but other sessions may use this one."""

    def stop(self) -> None:
        """Close the service; later requests raise DirectError instead of starting it again."""
        with _STARTING:
            self._service, self._start = None, _refuse_start_after_close
        self._release()


def is_running() -> bool:
    """Return whether this process runs a service: it can run only one."""
    running: bool = _import_service().is_running()
    return running


def _refuse_start_after_close(_service: ModuleType) -> NoReturn:
    raise errors.DirectError('The embedded Placement has been closed')


def _import_unused_service() -> ModuleType:
    """Return the module of the service; raise DirectError if this process runs one already."""
    if is_running():
        raise errors.DirectError(
            'This process runs a Placement already and cannot run a second one: close the '
            'first, or run this command or program in a process of its own'
        )
    return _import_service()


def _import_service() -> ModuleType:
    """Return the module of the service; raise DirectError if the server is not installed."""
    try:
        from placementclient.embedded import service
    except ImportError as error:
        raise errors.DirectError(
            f'The embedded Placement is not installed ({error}): {format_install_command("direct")}'
        ) from error
    return service
