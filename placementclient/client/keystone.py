# SPDX-License-Identifier: Apache-2.0
"""Keystone: its exceptions as errors of this package, and the caller that a token describes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from placementclient.basis.errors import PlacementError
from placementclient.client import errors

if TYPE_CHECKING:
    from keystoneauth1.access.access import AccessInfo
    from keystoneauth1.session import Session


@contextmanager
def translate_failures(session: Session | None = None) -> Iterator[None]:
    """Turn keystoneauth's exceptions in this block into errors of this package.

    Answers of the service itself must raise none in the block (``raise_exc=False``).

    :param session: whose settings the errors name
    :raises errors.NoAnswer: if there is no connection, or it is not to be trusted, or breaks
    :raises errors.AuthenticationFailed: if Keystone refuses, or the catalog lacks the service
    """
    try:
        yield
    except Exception as failure:
        error = _translate_failure(failure, session)
        if error is None:
            raise
        raise error from failure


def _translate_failure(failure: Exception, session: Session | None) -> PlacementError | None:
    """Return the error of this package for an exception of keystoneauth; None for any other.

    :param session: whose settings the error names
    """
    from keystoneauth1 import exceptions

    from placementclient.client import decoding, unreachable

    if isinstance(failure, exceptions.ConnectionError):
        return unreachable.make_connection_error(failure)
    if isinstance(failure, exceptions.HttpServerError | exceptions.RequestTimeout):
        # Only Keystone's refusals are raised: the service's own answers raise nothing.
        return errors.Unreachable(f'No token: {unreachable.describe_failure(failure)}')
    if isinstance(failure, exceptions.CatalogException):
        url = _get_authentication_settings(session).get('auth_url')
        if url and not unreachable.has_scheme(url):
            return unreachable.make_missing_scheme_error(url)
        return errors.NoEndpoint(
            f'{failure} With auth type none give --os-endpoint, with Keystone look at '
            '"openstack catalog show placement"'
        )
    if isinstance(failure, exceptions.HttpError):
        sentence = f'{_describe_keystone_refusal(session)}: {unreachable.describe_failure(failure)}'
        if isinstance(failure, exceptions.NotFound) and 'token' in str(failure):
            # Keystone's answer to a token that it does not know is no 401.
            sentence = f'Keystone does not accept the token: {decoding.REMEDY}'
        return errors.AuthenticationFailed(sentence)
    if isinstance(failure, exceptions.InvalidResponse):
        # What answers is no Keystone.
        return errors.AuthenticationFailed(_describe_malformed_url_or_answer(session, failure))
    if isinstance(failure, exceptions.ClientException):
        refusal = errors.AuthenticationFailed(unreachable.describe_failure(failure))
        refusal.url = unreachable.find_request_url(failure)
        return refusal
    if isinstance(failure, LookupError | TypeError | AttributeError | ValueError):
        # keystoneauth takes the token as it comes, and URLs as they are.
        return errors.AuthenticationFailed(_describe_malformed_url_or_answer(session, failure))
    return None


def _describe_malformed_url_or_answer(session: Session | None, failure: Exception) -> str:
    """Return a sentence about a malformed URL, or a malformed answer of Keystone.

    :param session: whose URL of Keystone the sentence names; ``None``: unknown
    """
    url = _get_authentication_settings(session).get('auth_url')
    found = f'{failure.args[0]} is missing' if isinstance(failure, KeyError) else ''
    if not url:
        return f'A URL of a service cannot be read: {failure}; expected https://host:port/path'
    if isinstance(failure, ValueError):
        found = str(failure)
    return (
        f'No token from {url}: expected the URL of Keystone, such as https://host:5000/v3, which '
        'answers with a token, its expires_at and a catalog of URLs'
        f'{f"; {found}" if found else ""}'
    )


def _get_authentication_settings(session: Session | None) -> Mapping[str, str | None]:
    """Return the settings of authentication, ``auth_url``, ``username``…; empty if not known."""
    elements: Mapping[str, str | None] = getattr(
        session and session.auth, 'get_cache_id_elements', dict
    )()
    return elements


def _find_token_facts(session: Session) -> AccessInfo | None:
    """Return the facts about a session's token; None if the auth type takes none from Keystone."""
    get_access = getattr(session.auth, 'get_access', None)
    access: AccessInfo | None = get_access(session) if get_access else None
    return access


def describe_caller(session: Session) -> str:
    """Return user, roles and scope of a session's token; empty if the token has none."""
    access = _find_token_facts(session)
    if access is None:
        return ''
    roles = ', '.join(access.role_names or ()) or 'none'
    scope = 'none'
    if getattr(access, 'system_scoped', False):
        scope = 'system'
    elif access.project_id or access.domain_id:
        kind = 'project' if access.project_id else 'domain'
        name = getattr(access, f'{kind}_name') or getattr(access, f'{kind}_id')
        scope = f'{kind} {name}'
    return f'user {access.username or access.user_id}, roles {roles}, scope {scope}'


def explain_wrong_scope(session: Session) -> str:
    """Return advice for a token that is not of a project, as Placement requires; else nothing."""
    access = _find_token_facts(session)
    if access is None or access.project_id:
        return ''
    return (
        ': Placement takes only tokens of a project. Give --os-project-name, and neither '
        '--os-system-scope nor --os-domain-name'
    )


def _describe_keystone_refusal(session: Session | None) -> str:
    """Return a clause that Keystone refuses, with its URL, the user and the project."""
    elements = _get_authentication_settings(session)

    def format_setting(before: str, *names: str) -> str:
        """Return the first setting of these names that is set, behind ``before``; else nothing."""
        value = next(filter(None, map(elements.get, names)), None)
        return f' {before} {value}' if value else ''

    url = format_setting('at', 'auth_url')
    user = format_setting('user', 'username', 'password_username', 'user_id', 'password_user_id')
    project = format_setting('of project', 'project_name', 'project_id') if user else ''
    return f'Keystone{url} refuses to authenticate{user}{project}'
