# SPDX-License-Identifier: Apache-2.0
"""Requests to the server's own handlers, many of them in one transaction of the database.

A function of the server that writes begins a transaction, or takes part in the one that its request
context has begun. So requests that share a context are one transaction. The handlers are behind the
server's own middleware, but for that of Keystone: the headers name the caller, who is trusted.
"""

import contextlib
import threading
from collections.abc import Iterator, Mapping

import webob
from microversion_parse.middleware import MicroversionMiddleware
from oslo_config import cfg
from oslo_db.exception import DBError
from placement import db_api, fault_wrap, handler, microversion, requestlog, util
from placement.context import RequestContext
from sqlalchemy.exc import SQLAlchemyError

from placementclient.client import errors


class Transactions:
    """The transactions of the threads that use one service."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        application = MicroversionMiddleware(
            handler.PlacementHandler(config=conf),
            microversion.SERVICE_TYPE,
            microversion.VERSIONS,
            json_error_formatter=util.json_error_formatter,
        )
        self._application = requestlog.RequestLog(fault_wrap.FaultWrapper(application))
        self._open = _ThreadTransaction()

    @property
    def is_open(self) -> bool:
        """Return whether this thread is in a transaction."""
        return self._open.context is not None

    @contextlib.contextmanager
    def begin(self, headers: Mapping[str, str]) -> Iterator[None]:
        """Put all requests of this thread into one transaction; a refusal rolls it back."""
        environ = {f'HTTP_{name.upper().replace("-", "_")}': text for name, text in headers.items()}
        request_context = RequestContext.from_environ(environ, overwrite=False)
        with (
            translate_database_errors(),
            db_api.placement_context_manager.writer.using(request_context),
        ):
            self._open.context, self._open.refusal = request_context, None
            try:
                yield
            finally:
                self._open.context = None
            if self._open.refusal is not None:
                # The writes before the error are still part of the transaction.
                raise errors.ServerError(500, f'Taken back: {self._open.refusal}')

    def answer(self, request: webob.Request) -> webob.Response:
        """Return the server's answer to a request within the thread's transaction."""
        request_context = self._open.context
        request.environ['placement.context'] = request_context or (
            RequestContext.from_environ(request.environ)
        )
        answer: webob.Response = request.get_response(self._application)
        if request_context is None:
            return answer
        if answer.status_int >= 400:
            self._open.refusal = f'{request.method} {request.path}: {answer.status}'
        else:
            # The next request has to see the result of this one.
            request_context.session.flush()
            request_context.session.expire_all()
        return answer


@contextlib.contextmanager
def translate_database_errors() -> Iterator[None]:
    """Turn errors of the database in this block into errors of this package."""
    try:
        yield
    except (DBError, SQLAlchemyError) as error:
        raise errors.ServerError(500, str(error)) from error


class _ThreadTransaction(threading.local):
    """The transaction of a thread, and the refused request because of which it is rolled back."""

    context: RequestContext | None = None
    refusal: str | None = None
