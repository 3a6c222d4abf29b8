# SPDX-License-Identifier: Apache-2.0
"""As much of Neutron as Nova asks for: ``python neutron.py PORT FILE``.

The ports are in the file, a JSON list, which tests write; a PUT changes a port there.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

number, path = int(sys.argv[1]), sys.argv[2]
EXTENSIONS = ('port-resource-request', 'port-resource-request-groups', 'binding')


class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def _answer(self, body, status=200):
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self):
        url = urlsplit(self.path)
        kind, _, uuid = (
            url.path.removeprefix('/v2.0').strip('/').removesuffix('.json').partition('/')
        )
        if not kind:
            link = {'rel': 'self', 'href': f'http://127.0.0.1:{number}/v2.0/'}
            self._answer({'versions': [{'id': 'v2.0', 'status': 'CURRENT', 'links': [link]}]})
        elif kind == 'extensions':
            self._answer({'extensions': [{'alias': name, 'name': name} for name in EXTENSIONS]})
        elif kind == 'ports':
            query = {key: set(values) for key, values in parse_qs(url.query).items()}
            query.pop('fields', None)
            ports = [
                port
                for port in _ports()
                if all(port[key] in values for key, values in query.items() if key in port)
                and uuid in ('', port['id'])
            ]
            self._answer({'port': ports[0]} if uuid and ports else {'ports': ports})
        else:
            self._answer({kind.replace('-', '_'): []})

    def do_PUT(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        uuid = urlsplit(self.path).path.removesuffix('.json').rpartition('/')[2]
        ports = _ports()
        (port,) = [port for port in ports if port['id'] == uuid]
        port.update(json.loads(body)['port'])
        with open(path, 'w') as file:
            json.dump(ports, file)
        self._answer({'port': port})

    def log_request(self, code='-', size='-'):
        print(self.command, self.path, code, flush=True)


def _ports():
    try:
        with open(path) as file:
            return json.load(file)
    except FileNotFoundError:
        return []


ThreadingHTTPServer(('127.0.0.1', number), Handler).serve_forever()
