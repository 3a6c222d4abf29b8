# SPDX-License-Identifier: Apache-2.0
"""Serve the WSGI application of a module: ``python serve.py MODULE PORT``.

Nova and Keystone read ``sys.argv``, so a program like waitress-serve cannot serve them. The log
has a line for each request.
"""

import importlib
import sys

module, port = sys.argv[1:]
sys.argv = [module]
served = importlib.import_module(module).application

import waitress  # noqa: E402


def application(environ, start_response):
    print(environ['REQUEST_METHOD'], environ['PATH_INFO'], flush=True)
    return served(environ, start_response)


waitress.serve(application, host='127.0.0.1', port=int(port), threads=8, _quiet=True)
