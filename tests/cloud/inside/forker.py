# SPDX-License-Identifier: Apache-2.0
"""Start programs of Nova from one process that has loaded them: ``python forker.py SOCKET``.

To load Nova takes two seconds, to fork a tenth of one. A request is a line of JSON: ``arguments``
(the first one is the module, which has a function ``main`` or is run), ``environment``, ``folder``
and ``log``. The answer is a line with the ID of the process, and one with its exit status.
"""

import contextlib
import importlib
import json
import os
import random
import runpy
import signal
import socket
import sys

#: What the programs load by themselves, sooner or later; not the managers, which take intervals
#: from the settings as soon as they are loaded.
MODULES = (
    *('nova.cmd.compute', 'nova.cmd.conductor', 'nova.cmd.manage', 'nova.cmd.scheduler'),
    *('nova.api.openstack.wsgi_app', 'nova.api.openstack.compute', 'nova.compute.claims'),
    *('nova.compute.resource_tracker', 'nova.scheduler.request_filter', 'nova.virt.fake'),
    *('oslo_messaging._drivers.impl_rabbit', 'pymysql', 'waitress'),
)
#: nova-manage would load eventlet, which the others do not bear beside them.
NO_EVENTLET = {'OS_NOVA_DISABLE_EVENTLET_PATCHING': 'true'}


def _run(request):
    """Be the program, in a session of its own."""
    os.setsid()
    os.chdir(request['folder'])
    null = os.open(os.devnull, os.O_RDONLY)
    log = os.open(request['log'], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for source, target in ((null, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.environ.clear()
    os.environ.update(NO_EVENTLET | request['environment'])
    random.seed()
    program, *arguments = request['arguments']
    sys.argv = [program, *arguments]
    if program.endswith('.py'):
        runpy.run_path(program, run_name='__main__')
    else:
        sys.exit(importlib.import_module(program).main())


def _attend(connection):
    """Start one program, and wait for its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with contextlib.suppress(BrokenPipeError), connection, connection.makefile('rw') as stream:
        request = json.loads(stream.readline())
        child = os.fork()
        if not child:
            connection.close()
            stream.close()
            _run(request)
        print(child, file=stream, flush=True)
        # Who starts a daemon does not wait for its end.
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(status, file=stream, flush=True)


def main():
    os.environ.update(NO_EVENTLET)
    for name in MODULES:
        importlib.import_module(name)
    # Whoever has attended to a connection needs no burial.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(sys.argv[1])
        server.listen()
        while True:
            connection, _ = server.accept()
            if not os.fork():
                server.close()
                _attend(connection)
                os._exit(0)
            connection.close()


if __name__ == '__main__':
    main()
