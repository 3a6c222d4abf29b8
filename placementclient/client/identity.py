"""The caller, as the token describes it."""

from __future__ import annotations

from typing import Any


def caller(session: Any) -> str:
    """Return user, roles and scope of the token of a session; empty where no token says them."""
    get_access = getattr(session.auth, 'get_access', None)
    access = get_access(session) if get_access else None
    if access is None:
        return ''
    roles = ', '.join(access.role_names) or 'none'
    return f'user {access.username or access.user_id}, roles {roles}, scope {_scope(access)}'


def _scope(access: Any) -> str:
    if getattr(access, 'system_scoped', False):
        return 'system'
    if access.project_id:
        return f'project {access.project_name or access.project_id}'
    return f'domain {access.domain_name or access.domain_id}' if access.domain_id else 'none'
