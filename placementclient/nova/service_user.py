# SPDX-License-Identifier: Apache-2.0
"""The user of ``[placement]`` of a ``nova.conf``, and the endpoint that Nova finds with it."""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from placementclient.basis import errors
from placementclient.nova import configuration
from placementclient.nova.settings import BOOLEANS

if TYPE_CHECKING:
    from keystoneauth1.loading import Opt
    from keystoneauth1.plugin import BaseAuthPlugin
    from keystoneauth1.session import Session

SECTION = 'placement'
#: The order in which Nova looks for an endpoint.
_INTERFACES = 'internal,public'


class EndpointSelection(TypedDict):
    """The conditions on an endpoint in the catalog, as keystoneauth's sessions take them."""

    service_type: str
    service_name: str | None
    interface: list[str]
    region_name: str | None


class ServiceUser(NamedTuple):
    """The session of a service such as Nova, and the conditions by which it finds Placement."""

    session: Session
    endpoint_override: str | None
    selection: EndpointSelection


def load_service_user(text: str, path: str) -> ServiceUser:
    """Return the service user that the text of a configuration file describes.

    :raises errors.BadFile: if the file, or the authentication that it describes, cannot be read; no
        value of an option is in its message
    """
    sections: dict[str, dict[str, str]] = {}
    for option in configuration.parse_options(text, path):
        sections.setdefault(option.section, {})[option.name.replace('-', '_')] = option.value
    values = {
        name: {
            key: string.Template(value).safe_substitute(sections.get('DEFAULT', {}))
            for key, value in options.items()
        }
        for name, options in sections.items()
    }
    placement = values.get(SECTION, {})
    section = placement.get('auth_section', SECTION).lower()
    session = _load_session(placement, _load_auth(values.get(section, {}), section, path), path)
    interfaces = placement.get('valid_interfaces', _INTERFACES)
    return ServiceUser(
        session,
        placement.get('endpoint_override'),
        {
            'service_type': placement.get('service_type', 'placement'),
            'service_name': placement.get('service_name'),
            'interface': [name.strip() for name in interfaces.split(',') if name.strip()],
            'region_name': placement.get('region_name'),
        },
    )


def _load_auth(values: Mapping[str, str], section: str, path: str) -> BaseAuthPlugin:
    from keystoneauth1 import exceptions, loading

    kind = values.get('auth_type') or values.get('auth_plugin')
    if kind is None:
        raise errors.BadFile(path, f'[{section}] has no auth_type, such as password')

    def find_value(option: Opt) -> str | None:
        """Return the value in the section for an option, by any of the option's names."""
        names = [option.name, *(other.name for other in option.deprecated)]
        spelled = (name.replace('-', '_') for name in (option.dest, *names))
        return next((values[name] for name in spelled if name in values), None)

    try:
        return loading.get_plugin_loader(kind).load_from_options_getter(find_value)
    except exceptions.NoMatchingPlugin:
        raise errors.BadFile(path, f'[{section}] auth_type: keystoneauth has no {kind!r}') from None
    except exceptions.MissingRequiredOptions as failure:
        names = ', '.join(option.dest for option in failure.options)
        raise errors.BadFile(path, f'[{section}] lacks {names}') from None
    except (exceptions.ClientException, ValueError, TypeError) as failure:
        # Its message may have the value.
        kind_of = type(failure).__name__
        raise errors.BadFile(
            path, f'[{section}] has a value that keystoneauth cannot read ({kind_of})'
        ) from None


def _load_session(options: Mapping[str, str], auth: BaseAuthPlugin, path: str) -> Session:
    from keystoneauth1 import loading

    timeout = options.get('timeout')
    if timeout is not None and not timeout.isdecimal():
        raise errors.BadFile(path, '[placement] timeout is no number of seconds')
    return loading.session.Session().load_from_options(
        insecure=BOOLEANS.get(options.get('insecure', 'false').lower(), False),
        cacert=options.get('cafile'),
        cert=options.get('certfile'),
        key=options.get('keyfile'),
        timeout=int(timeout) if timeout else None,
        auth=auth,
    )
