# SPDX-License-Identifier: Apache-2.0
"""The answers of a Keystone that grants everything."""

DOMAIN = {'id': 'default', 'name': 'Default'}


def version(url):
    links = [{'rel': 'self', 'href': url}]
    return {'version': {'id': 'v3.14', 'status': 'stable', 'links': links}}


def token(urls):
    """Return a token with a catalog of Placement: the URLs by region and interface."""
    endpoints = [
        {
            'id': f'{region}-{interface}',
            'interface': interface,
            'region': region,
            'region_id': region,
            'url': url,
        }
        for (region, interface), url in urls.items()
    ]
    return {
        'token': {
            'methods': ['password'],
            'expires_at': '2099-01-01T00:00:00.000000Z',
            'issued_at': '2026-01-01T00:00:00.000000Z',
            'user': {'id': 'u', 'name': 'admin', 'domain': DOMAIN},
            'project': {'id': 'p', 'name': 'admin', 'domain': DOMAIN},
            'catalog': [{'id': 's', 'type': 'placement', 'name': 'p', 'endpoints': endpoints}],
        }
    }
