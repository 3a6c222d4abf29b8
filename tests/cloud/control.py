# SPDX-License-Identifier: Apache-2.0
"""Start and stop the cloud."""

import base64
import os
import shutil
import signal
import subprocess
import threading
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pymysql

from tests.cloud import accounts, layout, processes, settings

DATABASES = ('keystone', 'placement', 'glance', 'nova_api', 'nova', 'nova_cell0')
MODULES = {
    'keystone': 'keystone.wsgi.api',
    'placement': 'placement.wsgi.api',
    'glance': 'glance.wsgi.api',
    'nova': 'nova.wsgi.osapi_compute',
}
#: The ports that the small Neutron has.
PORTS = layout.state() / 'ports-of-neutron.json'
INSIDE = Path(__file__).with_name('inside')
RABBITMQ = '/usr/lib/rabbitmq/bin/rabbitmq-server'


def up():
    """Start what does not run yet; the first time, make the databases and the accounts."""
    layout.state().mkdir(parents=True, exist_ok=True)
    settings.write()
    _forker()
    _rabbitmq()
    _mariadb()
    with ThreadPoolExecutor() as pool:
        makers = [pool.submit(_once, make) for make in (_nova, _placement, _glance)]
        for done in (*makers, pool.submit(_accounts)):
            done.result()
    processes.wait('RabbitMQ', lambda: processes.listens('rabbitmq'), 'rabbitmq')
    serve('placement', 'glance')
    # They end at once where Placement does not answer.
    for name in ('nova-conductor', 'nova-scheduler'):
        _daemon(name, name)
    neutron()
    serve('nova')
    _once(accounts.complete)
    for host in layout.HOSTS:
        compute(host)


def down(*, keep=False):
    """Stop everything, and remove the databases, settings and logs.

    :param keep: leave the files, so that the cloud starts with them again
    """
    names = processes.running()
    last = ('mariadb', 'rabbitmq', 'epmd')
    processes.stop(*(name for name in names if name not in last))
    for name in last:
        processes.stop(name)
    if not keep:
        shutil.rmtree(layout.state(), ignore_errors=True)
        layout.ports.cache_clear()


def serve(*services):
    """Start services that are WSGI applications, and wait until they answer."""
    for service in services:
        program = service.removesuffix(layout.SHORT)
        command = [str(INSIDE / 'serve.py'), MODULES[program], str(layout.ports()[service])]
        environment = {f'OS_{program.upper()}_CONFIG_DIR': str(settings.path(service))}
        if program == 'nova':
            processes.fork(service, command, environment)
        else:
            processes.start(service, [layout.program('python'), *command], environment)
    for service in services:
        _answers(service)


def restart_nova(settings_of_nova, *services):
    """Start the API of Nova (``nova``) or ``nova-scheduler`` again, with other settings."""
    settings.save('nova/nova.conf', settings_of_nova)
    processes.stop(*services, how=signal.SIGKILL)
    for service in services:
        if service == 'nova':
            serve(service)
        else:
            _daemon(service, service)


def neutron():
    arguments = [str(layout.ports()['neutron']), str(PORTS)]
    python, script = layout.program('python'), str(INSIDE / 'neutron.py')
    processes.start('neutron', [python, script, *arguments])
    _answers('neutron')


def compute(host):
    _daemon(host, 'nova-compute', f'--config-file={settings.path(f"nova/{host}.conf")}')


def _daemon(name, program, *arguments):
    processes.fork(name, [*_nova_program(program), *arguments])


def _nova_program(name):
    """Return the module of a program of Nova, and its first argument."""
    module = name.replace('nova-', 'nova.cmd.')
    return [module, f'--config-file={settings.path("nova/nova.conf")}']


def _forker():
    """Start the process that forks the programs of Nova."""
    if not processes.pid('forker'):
        processes.forker().unlink(missing_ok=True)
    command = [layout.program('python'), str(INSIDE / 'forker.py'), str(processes.forker())]
    processes.start('forker', command)


def _answers(service):
    def answers():
        try:
            urllib.request.urlopen(layout.url(service), timeout=10).close()
        except urllib.request.HTTPError as answer:
            return answer.code < 500
        except OSError:
            return False
        return True

    processes.wait(service, answers, service)


def _once(make):
    """Call a function that succeeds once."""
    mark = layout.state() / 'made' / f'{make.__module__}.{make.__name__}'
    if not mark.exists():
        make()
        mark.parent.mkdir(exist_ok=True)
        mark.touch()


def run(program, *arguments, check=True):
    command = [layout.program(program), *arguments]
    environment = {'PATH': f'{layout.environment()}/bin:/usr/bin:/bin', 'HOME': str(layout.state())}
    done = subprocess.run(
        command, text=True, capture_output=True, env=environment, cwd=layout.state()
    )
    with open(processes.log(program), 'a') as log:
        log.write(f'$ {" ".join(command)}\n{done.stdout}{done.stderr}')
    if check and done.returncode:
        raise processes.NotStarted(f'{" ".join(command)}:\n{done.stdout}{done.stderr[-3000:]}')
    return done


def nova_manage(*arguments, check=True):
    """Run ``nova-manage``; return its exit status and what it printed."""
    log = processes.log('nova-manage')
    began = log.stat().st_size if log.exists() else 0
    status = processes.run_forked([*_nova_program('nova-manage'), *arguments], log)
    printed = log.read_bytes()[began:].decode()
    if check and status:
        raise processes.NotStarted(f'nova-manage {" ".join(arguments)}:\n{printed[-3000:]}')
    return subprocess.CompletedProcess(arguments, status, printed)


def _mariadb():
    folder = layout.state() / 'mariadb'
    user = ['--user=root'] if os.geteuid() == 0 else []
    common = ['--no-defaults', f'--datadir={folder}/data', *user]
    install = ['mariadb-install-db', *common, '--auth-root-authentication-method=normal']
    if not (folder / 'data/mysql').exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    socket = f'--socket={folder}/socket'
    options = (
        f'--port={layout.ports()["mariadb"]}',
        '--bind-address=127.0.0.1',
        f'--pid-file={folder}/pid',
        '--max-connections=1000',
        # The databases need not survive a power failure.
        '--innodb-flush-log-at-trx-commit=0',
        '--skip-innodb-doublewrite',
        '--skip-name-resolve',
    )
    processes.start('mariadb', ['/usr/sbin/mariadbd', *common, socket, *options])
    processes.wait('MariaDB', lambda: processes.listens('mariadb'), 'mariadb')
    statements = [f'CREATE DATABASE IF NOT EXISTS {name} CHARSET utf8mb3;' for name in DATABASES]
    statements.append("GRANT ALL ON *.* TO cloud@'127.0.0.1' IDENTIFIED BY 'cloud';")
    sql(*statements)


def sql(*statements):
    """Execute statements on the databases; what they find, as tab-separated rows with a header."""
    socket = f'--socket={layout.state()}/mariadb/socket'
    client = [
        'mariadb',
        '--no-defaults',
        socket,
        '-u',
        'root',
        '--batch',
        '-e',
        ''.join(statements),
    ]
    return subprocess.run(client, check=True, stdout=subprocess.PIPE, text=True).stdout


_connections = threading.local()


def rows(statement, *values):
    """Return what a statement finds, at once: it costs a tenth of a request to Nova."""
    if not hasattr(_connections, 'mariadb'):
        socket = f'{layout.state()}/mariadb/socket'
        _connections.mariadb = pymysql.connect(unix_socket=socket, user='root', autocommit=True)
    with _connections.mariadb.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall()


def _rabbitmq():
    folder, ports = layout.state() / 'rabbitmq', layout.ports()
    folder.mkdir(exist_ok=True)
    # A node on the loopback alone, with a cookie and a port mapper of its own.
    mapper = {'ERL_EPMD_ADDRESS': '127.0.0.1', 'ERL_EPMD_PORT': str(ports['epmd'])}
    processes.start('epmd', ['epmd', '-port', str(ports['epmd']), '-address', '127.0.0.1'])
    processes.wait('epmd', lambda: processes.listens('epmd'), 'epmd')
    variables = {
        **mapper,
        'RABBITMQ_NODENAME': 'cloud@localhost',
        'RABBITMQ_NODE_IP_ADDRESS': '127.0.0.1',
        'RABBITMQ_NODE_PORT': str(ports['rabbitmq']),
        'RABBITMQ_DIST_PORT': str(ports['rabbitmq-nodes']),
        'RABBITMQ_CONF_ENV_FILE': str(folder / 'none'),
        'RABBITMQ_CONFIG_FILE': str(folder / 'rabbitmq.conf'),
        'RABBITMQ_MNESIA_BASE': str(folder / 'data'),
        'RABBITMQ_LOG_BASE': str(folder / 'log'),
        'RABBITMQ_LOGS': '-',
        'RABBITMQ_ENABLED_PLUGINS_FILE': str(folder / 'plugins'),
        'RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS': '-kernel inet_dist_use_interface {127,0,0,1}',
    }
    (folder / 'rabbitmq.conf').write_text('')
    (folder / 'plugins').write_text('[].\n')
    processes.start('rabbitmq', [RABBITMQ], variables)


def _accounts():
    _once(_keystone)
    serve('keystone')
    _once(accounts.create)


def _keystone():
    configuration = f'--config-file={settings.path("keystone/keystone.conf")}'
    for name in ('fernet', 'credentials'):
        folder = layout.state() / 'keystone' / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for key in ('0', '1'):
            (folder / key).write_bytes(base64.urlsafe_b64encode(os.urandom(32)))
    run('keystone-manage', configuration, 'db_sync')
    urls = [f'--bootstrap-{kind}-url={layout.url("keystone")}/v3' for kind in accounts.INTERFACES]
    password = f'--bootstrap-password={layout.PASSWORD}'
    region = f'--bootstrap-region-id={layout.REGION}'
    run('keystone-manage', configuration, 'bootstrap', password, region, *urls)


def _placement():
    configuration = f'--config-file={settings.path("placement/placement.conf")}'
    run('placement-manage', configuration, 'db', 'sync')


def _glance():
    for group in ('files', 'os_glance_tasks_store', 'os_glance_staging_store'):
        (layout.state() / 'glance' / group).mkdir(parents=True, exist_ok=True)
    run('glance-manage', f'--config-file={settings.path("glance/glance-api.conf")}', 'db_sync')


def _nova():
    nova_manage('api_db', 'sync')
    cells = {
        'cell0': (uuid.UUID(int=0), 'none:///', settings.database('nova_cell0')),
        'cell1': (uuid.UUID(int=1), settings.rabbit(), settings.database('nova')),
    }
    # As "nova-manage cell_v2" does, which takes some seconds for each.
    sql(
        'REPLACE INTO nova_api.cell_mappings '
        '(created_at, disabled, uuid, name, transport_url, database_connection) VALUES ',
        ', '.join(
            f"(NOW(), 0, '{cell}', '{n}', '{url}', '{at}')" for n, (cell, url, at) in cells.items()
        ),
    )
    nova_manage('db', 'sync')
