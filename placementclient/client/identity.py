"""The caller, as the token describes it."""

from __future__ import annotations

from typing import Any


def caller(session: Any) -> str:
    """Return user, roles and scope of a session's token; empty if the token has none."""
    get_access = getattr(session.auth, 'get_access', None)
    access = get_access(session) if get_access else None
    if access is None:
        return ''
    roles = ', '.join(access.role_names) or 'none'
    return f'user {access.username or access.user_id}, roles {roles}, scope {_scope(access)}'


def credentials(auth: Any) -> tuple[str, str]:
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
