# SPDX-License-Identifier: Apache-2.0
"""A Placement that stops at a request: ``unreliable.py PORT SQLITE_FILE FOLDER``.

The file ``stop`` in the folder says where: ``3 after`` at the third write, when it is done but not
answered; ``3 before`` before it is done. A third word tells an order from the last one. Then there
is a file ``reached``, and nothing more happens to that request until there is a file ``go``: one
that was not done is then refused.
"""

import sys
import threading
import time
from pathlib import Path

import waitress

from tests.functional.service import application


def unreliable(service, folder):
    """The service behind something that stops."""
    lock, writing = threading.Lock(), threading.Lock()
    writes, order = [0], ['']

    def is_reached():
        with lock:
            stop = folder / 'stop'
            now = stop.read_text() if stop.exists() else '0 never'
            if now != order[0]:
                order[0], writes[0] = now, 0
            writes[0] += 1
            number, when, *_ = now.split()
            return when if int(number) == writes[0] else None

    def wait():
        (folder / 'reached').touch()
        while not (folder / 'go').exists():
            time.sleep(0.005)

    def answer(environ, start_response):
        when = is_reached() if environ['REQUEST_METHOD'] != 'GET' else None
        if when == 'before':
            wait()
            start_response('503 Service Unavailable', [('Content-Length', '0')])
            return [b'']
        if environ['REQUEST_METHOD'] == 'GET':
            return list(service(environ, start_response))
        with writing:
            # SQLite refuses those who have read before somebody else wrote.
            body = list(service(environ, start_response))
        if when == 'after':
            wait()
        return body

    return answer


if __name__ == '__main__':
    port, path, control = sys.argv[1:]
    stopping = unreliable(application(Path(path)), Path(control))
    waitress.serve(stopping, host='127.0.0.1', port=int(port), threads=8)
