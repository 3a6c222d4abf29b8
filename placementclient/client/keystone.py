"""Keystone: its exceptions as errors of this package, and the caller that a token describes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from placementclient.client import errors


@contextmanager
def translated(session: Any = None) -> Iterator[None]:
    """Turn keystoneauth's exceptions in this block into errors of this package.

    The request must not raise for what the service itself answers (``raise_exc=False``).

    :param session: of keystoneauth; its URL, user and project are in a refusal of Keystone
    :raises errors.NoAnswer: if the connection is not to be trusted
    :raises errors.NotSent: if there is no connection
    :raises errors.Unreachable: if the connection breaks, or Keystone gives no answer
    :raises errors.AuthenticationFailed: if Keystone refuses
    :raises errors.NoEndpoint: if the catalog does not have the service
    """
    from keystoneauth1 import exceptions

    from placementclient.client import refusals, unreachable

    try:
        yield
    except exceptions.SSLError as failure:
        raise errors.NoAnswer(unreachable.sentence(failure)) from failure
    except exceptions.ConnectionError as failure:
        error = unreachable.kind(failure)(unreachable.sentence(failure))
        error.url = unreachable.url(failure)
        raise error from failure
    except (exceptions.HttpServerError, exceptions.RequestTimeout) as failure:
        # Of Keystone: the service's own answers raise nothing.
        raise errors.Unreachable(f'No token: {unreachable.sentence(failure)}') from failure
    except exceptions.CatalogException as failure:
        raise errors.NoEndpoint(
            f'{failure} With auth type none give --os-endpoint, with Keystone look at '
            '"openstack catalog show placement"'
        ) from failure
    except exceptions.HttpError as failure:
        keystone, who = _credentials(session.auth if session else None)
        sentence = f'{keystone} refuses to authenticate{who}: {unreachable.sentence(failure)}'
        if isinstance(failure, exceptions.NotFound) and 'token' in str(failure):
            # Keystone's answer to a token that it does not know is no 401.
            sentence = f'Keystone does not accept the token: {refusals.REMEDY}'
        raise errors.AuthenticationFailed(sentence) from failure
    except exceptions.ClientException as failure:
        refusal = errors.AuthenticationFailed(unreachable.sentence(failure))
        refusal.url = unreachable.url(failure)
        raise refusal from failure


def caller(session: Any) -> str:
    """Return user, roles and scope of a session's token; empty if the token has none."""
    get_access = getattr(session.auth, 'get_access', None)
    access = get_access(session) if get_access else None
    if access is None:
        return ''
    roles = ', '.join(access.role_names) or 'none'
    return f'user {access.username or access.user_id}, roles {roles}, scope {_scope(access)}'


def _credentials(auth: Any) -> tuple[str, str]:
    """Return ``Keystone at URL`` and `` user NAME of project NAME`` of an auth plugin.

    :param auth: a plugin of keystoneauth; parts that it does not have are left out
    """
    elements: dict[str, Any] = getattr(auth, 'get_cache_id_elements', dict)()
    url, user, project = (
        next((elements[name] for name in names if elements.get(name)), None)
        for names in (
            ('auth_url',),
            ('username', 'password_username', 'user_id', 'password_user_id'),
            ('project_name', 'project_id'),
        )
    )
    who = f' user {user}' if user else ''
    return f'Keystone at {url}' if url else 'Keystone', (
        f'{who} of project {project}' if who and project else who
    )


def _scope(access: Any) -> str:
    if getattr(access, 'system_scoped', False):
        return 'system'
    if access.project_id:
        return f'project {access.project_name or access.project_id}'
    return f'domain {access.domain_name or access.domain_id}' if access.domain_id else 'none'
