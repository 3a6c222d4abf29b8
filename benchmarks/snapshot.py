# SPDX-License-Identifier: Apache-2.0
"""``snapshot save --workers 8`` against the same requests from wrk at the same concurrency.

    python -m benchmarks.snapshot

wrk has to be installed (``apt-get install wrk``).
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from benchmarks import stage
from benchmarks.paired import Run, Spent, command, environment, paired, runs

PROVIDERS, CONSUMERS, WORKERS = 200, 3, 8
SAVE = ('resource', 'provider', 'snapshot', 'save', '--overwrite', '--workers', str(WORKERS))
#: Sends the recorded requests one after the other, over and over.
REPLAY = """
local paths = {%s}
local at = 0
wrk.headers["OpenStack-API-Version"] = "placement 1.39"
wrk.headers["X-Auth-Token"] = "admin"
wrk.headers["Accept"] = "application/json"
request = function()
    at = at %% #paths + 1
    return wrk.format("GET", paths[at])
end
"""


def replay(wrk: str, url: str, paths: list[str], folder: Path, seconds: int) -> Run:
    """wrk for some seconds; what all requests take at the rate that it reaches."""
    script = folder / 'replay.lua'
    script.write_text(REPLAY % ', '.join(json.dumps(path) for path in paths))

    def run() -> Spent:
        report = subprocess.run(
            [wrk, '-t1', f'-c{WORKERS}', f'-d{seconds}s', '-s', script, url],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        if 'Non-2xx' in report:
            raise SystemExit(f'not every request was granted:\n{report}')
        match = re.search(r'Requests/sec:\s+([\d.]+)', report)
        assert match, report
        return Spent(len(paths) / float(match[1]))

    return run


def main() -> None:
    """Print a row."""
    number = runs(7, __doc__)
    wrk = shutil.which('wrk')
    if wrk is None:
        raise SystemExit('wrk is not installed')
    ours = stage.ours()
    with stage.service() as url, tempfile.TemporaryDirectory() as folder:
        stage.populate(url, PROVIDERS, CONSUMERS)
        cloud = environment(OS_AUTH_TYPE='none', OS_ENDPOINT=url)
        save: list[str | Path] = [ours / 'placement', '--timing', *SAVE, Path(folder, 'cloud.json')]
        recorded = subprocess.run(save, env=cloud, capture_output=True, text=True, check=True)
        paths = re.findall(rf'^GET {re.escape(url)}(\S+)', recorded.stderr, re.MULTILINE)
        print(f'{len(paths)} requests for {PROVIDERS} providers')
        save.remove('--timing')
        theirs = replay(wrk, url, paths, Path(folder), 10)
        pairs = paired(command(save, cloud), theirs, number)
        pairs.report(f'snapshot save --workers {WORKERS}', 1.10)


if __name__ == '__main__':
    main()
