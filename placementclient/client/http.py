# SPDX-License-Identifier: Apache-2.0
"""The client: sends a request to an endpoint of the service and reads the answer."""

from __future__ import annotations

import copy
import functools
import logging
import re
import threading
import urllib.parse
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from placementclient.basis.errors import BadArgument, PlacementError
from placementclient.basis.printable import escape_text
from placementclient.client import decoding, endpoints, errors, microversion, retries
from placementclient.client.decoding import Answer
from placementclient.client.endpoints import Endpoint
from placementclient.client.keystone import describe_caller, explain_wrong_scope, translate_failures
from placementclient.client.microversion import Microversion
from placementclient.client.sent_changes import SentChange, SentChanges

if TYPE_CHECKING:
    import requests

#: Query parameters; a list sends its parameter once for each element.
Query = Mapping[str, str | int | list[str] | None]

#: The end of a URL of the service that is one of another kind of service.
_VERSIONED = re.compile(r'/v[0-9]+(\.[0-9]+)?/?$')
USER_AGENT = 'python-placementclient'


class VersionRange(msgspec.Struct):
    """The lowest and the highest microversion of an API version."""

    min_version: str
    max_version: str


class VersionDocument(msgspec.Struct):
    """The answer to ``GET /``."""

    versions: Annotated[list[VersionRange], msgspec.Meta(min_length=1)]


class Client:
    """A Placement service, reached through a keystoneauth session.

    :param session: a ``keystoneauth1.session.Session``; ``None`` where nothing is sent
    :param version: the microversion to use; ``None`` uses the highest that both sides know
    :param endpoint_override: the URL of the service, where the catalog's is not to be used
    :param max_retries: how often a read is repeated that was not answered
    :param timeout: the wait for a connection, and then for each next part of an answer, in seconds;
        by default that of the endpoint. The whole answer may take ten times as long
    :param answer_limit: the most bytes of an answer, once it is decompressed
    :param list_limit: the most bytes of all pages of a list of another service together
    :param list_timeout: how long all pages of such a list may take, in seconds
    :param endpoint_filter: ``service_type``, ``interface``, ``region_name``
    """

    def __init__(
        self,
        session: Any,
        version: Microversion | None = None,
        *,
        endpoint_override: str | None = None,
        max_retries: int = endpoints.MAX_RETRIES,
        timeout: float | None = None,
        answer_limit: int = endpoints.ANSWER_LIMIT,
        list_limit: int = endpoints.LIST_LIMIT,
        list_timeout: float = endpoints.LIST_TIMEOUT,
        **endpoint_filter: str | list[str] | None,
    ) -> None:
        # urllib3 prints a traceback where an answer is cut in its headers; an error has it.
        logging.getLogger('urllib3.connection').addFilter(_is_no_header_warning)
        if session is not None:
            from placementclient.client import transport  # loads what requests need

            session = transport.limit_session(session, answer_limit)
        self.session = session
        self.max_retries = max_retries
        self.timeout = timeout
        self.list_limit, self.list_timeout = list_limit, list_timeout
        self.endpoint_override = endpoint_override
        self.endpoint_filter = {'service_type': 'placement', **endpoint_filter}
        #: Whether the operator chose the microversion, or left it to the client.
        self.version_is_chosen = version is not None
        self._require_feature = functools.partial(
            microversion.require_feature, is_chosen=self.version_is_chosen
        )
        self._changes = SentChanges()
        #: The names that the operator used for providers, by UUID; errors print them.
        self.names: dict[str, str] = {}
        #: Sent with every request, so that the service's log has it beside each request's own ID.
        self.global_request_id = f'req-{uuid.uuid4()}'
        #: Whether an answer was an error, so that the service's log says more.
        self.has_error_answer = False
        self._thread = threading.local()
        self._is_warned = False
        self._settled = version
        self._supported: tuple[Microversion, Microversion] | None = None
        self._requirements: list[tuple[str, Microversion, Microversion | None]] = []

    def copy_without_history(self) -> Client:
        """Return a client for the next command.

        It knows the microversions of the service, but not the changes, the names and the errors of
        the command before.
        """
        client = copy.copy(self)
        client._requirements, client._changes, client.names = [], SentChanges(), {}
        client.has_error_answer = False
        return client

    @property
    def microversion(self) -> Microversion:
        """The microversion in use, which a request negotiates, unless an answer has settled it."""
        if self._settled is None:
            lowest, highest = self.read_version_range()
            self._settle_microversion(microversion.choose_version(lowest, highest))
        assert self._settled is not None
        return self._settled

    @property
    def is_microversion_settled(self) -> bool:
        """Return whether the microversion in use is known: chosen or negotiated."""
        return self._settled is not None

    @property
    def assumed_microversion(self) -> Microversion:
        """The microversion in use; before negotiation the highest one known. Sends no request."""
        return self._settled or microversion.HIGHEST

    def read_version_range(self) -> tuple[Microversion, Microversion]:
        """Return the lowest and the highest microversion of the service; ask for them once."""
        if self._supported is not None:
            return self._supported
        # Without a version: every release answers that.
        answer = self._send_or_retry(endpoints.SHOW_API, '/', VersionDocument)
        document = answer.body.versions[0]
        lowest, highest = document.min_version, document.max_version
        self._supported = Microversion.parse(lowest), Microversion.parse(highest)
        return self._supported

    @property
    def url(self) -> str | None:
        """The URL of the service, of the options or of the catalog; ``None`` if neither has one."""
        with translate_failures(self.session):
            url: str | None = self.endpoint_override or self.session.get_endpoint(
                **self.endpoint_filter
            )
        return url

    @property
    def snapshot_reader(self) -> Any:
        """A :class:`placementclient.model.snapshots.SnapshotReader`; ``None`` over HTTP.

        It checks neither microversion nor policy: first send a request that needs them.
        """
        return self._get_plugin_attribute('snapshot_reader')

    @property
    def transaction(self) -> Callable[[], AbstractContextManager[None]] | None:
        """The function that puts a thread's requests into one transaction; ``None`` over HTTP."""
        begin: Callable[[], AbstractContextManager[None]] | None = self._get_plugin_attribute(
            'transaction'
        )
        return begin

    @property
    def service_label(self) -> str:
        """The service in words: a URL, or the database of the embedded service."""
        url = urllib.parse.urlsplit(self.url or '')
        shown = url._replace(netloc=url.netloc.rpartition('@')[2], query='').geturl()
        return self._get_plugin_attribute('database') or shown

    def _get_plugin_attribute(self, attribute: str) -> Any:
        """Return an attribute of the embedded service's plugin; ``None`` over HTTP."""
        return None if self.endpoint_override else getattr(self.session.auth, attribute, None)

    def require_feature(
        self, what: str, since: Microversion, until: Microversion | None = None
    ) -> None:
        """Raise an error if the microversion in use lacks a feature, without sending a request.

        A version that is still to be negotiated is assumed to be the highest, and checked again
        when it is known.

        :param what: an option, as the operator knows it; empty for the command as a whole
        :param since: the first version with the feature
        :param until: the last one, where a later version took the feature away
        """
        if since > microversion.LOWEST or until is not None:
            self._requirements.append((what, since, until))
        self._require_feature(self.assumed_microversion, what, since, until)

    def send(
        self,
        endpoint: Endpoint,
        *,
        answer: object = None,
        query: Query | None = None,
        body: object = None,
        version: Microversion | None = None,
        **parts: str,
    ) -> Answer:
        """Send a request; repeat it if it is a read without an answer, or was never sent.

        :param answer: the type of the body of the answer; without it, there is none
        :param query: the query parameters; those that are ``None`` are left out
        :param version: the microversion of this request, where it must not be the one in use; an
            older service is asked at its highest, unless the operator chose the version
        :param parts: the parts of the path: ``provider='…'``
        :raises errors.HTTPError: if the answer's status is 400 or more
        :raises errors.NoAnswer: if the service says nothing: a write may be carried out or not
        :raises errors.AuthenticationFailed: if the request could not be sent
        :raises errors.UnsupportedVersion: if the service lacks the version or the endpoint
        """
        path = endpoint.format_path(**parts)
        # Read once: another thread may settle the version while this request is under way.
        settled = self._settled
        sent_at = version or settled or microversion.HIGHEST
        if settled is not None and not self.version_is_chosen:
            sent_at = min(sent_at, settled)
        self._require_feature(sent_at, str(endpoint), endpoint.since)
        try:
            response = self._send_or_retry(endpoint, path, answer, query, body, sent_at)
        except errors.NotAcceptable as refusal:
            if settled is not None:
                raise self._make_refused_version_error(sent_at, refusal) from refusal
            # Nothing was carried out: the service looks at the version first.
            self._settle_microversion(microversion.choose_version(*self.read_version_range()))
            return self.send(
                endpoint, answer=answer, query=query, body=body, version=version, **parts
            )
        if self._settled is None and version is None:
            self._settle_microversion(microversion.HIGHEST)
        return response

    def _settle_microversion(self, version: Microversion) -> None:
        """Use a microversion from now on; raise an error if it lacks a required feature."""
        for what, since, until in self._requirements:
            self._require_feature(version, what, since, until)
        self._settled = version

    def _make_refused_version_error(
        self, version: Microversion, refusal: errors.NotAcceptable
    ) -> PlacementError:
        """Return the error for a refused microversion, with those that the service has."""
        try:
            lowest, highest = self.read_version_range()
        except PlacementError:
            return refusal
        return errors.UnsupportedVersion(
            f'The service supports microversions {lowest} to {highest}, not {version}'
        )

    def _send_or_retry(
        self,
        endpoint: Endpoint,
        path: str,
        kind: object,
        query: Query | None = None,
        body: object = None,
        version: Microversion | None = None,
    ) -> Answer:
        """Send a request; repeat a read after any lost answer, a write only if it was not sent.

        :param version: the microversion; ``None``: no header
        """
        attempt = functools.partial(
            self._send_and_decode, endpoint, path, kind, query, body, version
        )
        if endpoint.is_read:
            return retries.repeat_request(attempt, self.max_retries, self._warn_once)
        if self.session.auth is not None:
            # Authenticate first: after a later failure, the request may have reached the service.
            with translate_failures(self.session):
                self.session.get_auth_headers()
        write = functools.partial(self._changes.record_write, f'{endpoint.method} {path}', attempt)
        return retries.repeat_request(write, self.max_retries, self._warn_once, errors.NoConnection)

    def _send_and_decode(
        self,
        endpoint: Endpoint,
        path: str,
        kind: object,
        query: Query | None,
        body: object,
        version: Microversion | None,
    ) -> Answer:
        """Send a request once and return the answer; add advice to a refusal (403 and 404).

        :param kind: the type of the body of the answer; ``None``: there is none
        :param version: the microversion; ``None``: no header
        """
        response = self._send_once(endpoint, path, query, body, version)
        try:
            return decoding.decode_response(f'{endpoint.method} {path}', endpoint, kind, response)
        except errors.Forbidden as refusal:
            who = describe_caller(self.session)
            asker = f'; you are {who}{explain_wrong_scope(self.session)}' if who else ''
            raise refusal.with_sentence(
                f'{refusal.sentence.rstrip(".")}. The default policy requires the role '
                f'{endpoint.roles}{asker}'
            ) from None
        except errors.NotFound as refusal:
            if not _VERSIONED.search(self.url or ''):
                raise
            raise refusal.with_sentence(
                f'{refusal.sentence.rstrip(".")}. The URL of the service ends in a version, '
                f'which URLs of Placement do not: {self.service_label}. Correct it in the catalog '
                'or in your settings'
            ) from None

    @property
    def request_id(self) -> str:
        """The ID that the service gave this thread's last request; empty without an answer."""
        identity: str = getattr(self._thread, 'request_id', '')
        return identity

    @property
    def last_change(self) -> SentChange | None:
        """A write with an unknown outcome, if any; else the last write that was not refused."""
        return self._changes.last

    def _warn_once(self, sentence: str) -> None:
        """Log the first warning about retries; the client logs no other."""
        if not self._is_warned:
            retries.LOG.warning(escape_text(sentence))
        self._is_warned = True

    def _send_once(
        self,
        endpoint: Endpoint,
        path: str,
        query: Query | None,
        body: object,
        version: Microversion | None,
    ) -> requests.Response:
        """Send a request through the session without retries, and note the ID of the answer.

        :param version: the microversion; ``None``: no header
        """
        self._thread.request_id = ''
        with translate_failures(self.session):
            response: requests.Response = self.session.request(
                path,
                endpoint.method,
                params=list(_iterate_query_parameters(query or {})),
                json=body,
                headers={'Accept': 'application/json'},
                microversion=str(version) if version else None,
                endpoint_filter=self.endpoint_filter,
                endpoint_override=self.endpoint_override,
                user_agent=USER_AGENT,
                global_request_id=self.global_request_id,
                raise_exc=False,
                # A write that may have been carried out is not sent again.
                connect_retries=0,
                timeout=self.timeout or endpoint.timeout,
            )
        # A microversion that the service does not know (406) is negotiated.
        self.has_error_answer |= response.status_code >= 400 and response.status_code != 406
        self._thread.request_id = response.headers.get('x-openstack-request-id', '')
        return response


def _is_no_header_warning(record: logging.LogRecord) -> bool:
    """Return False for urllib3's warning of headers that it cannot parse."""
    return not str(record.msg).startswith('Failed to parse headers')


def _iterate_query_parameters(query: Query) -> Iterable[tuple[str, str]]:
    """Yield the query parameters that are sent; refuse text that is not UTF-8."""
    for key, value in query.items():
        elements = value if isinstance(value, list) else [] if value is None else [str(value)]
        for element in elements:
            if not element.isascii() and re.search('[\ud800-\udfff]', element):
                # Python's replacement for a byte of an argument that is not UTF-8.
                raise BadArgument(f'{element!r} is not UTF-8 text')
            yield key, element
