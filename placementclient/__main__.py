# SPDX-License-Identifier: Apache-2.0
"""The entry of the program ``placement``; ``python -m placementclient`` runs it too."""

import io
import os
import sys
import warnings

#: The standard streams and their modes; cron or a shell may have closed them.
STREAMS = {'stdin': 'r', 'stdout': 'w', 'stderr': 'w'}


def main() -> int:
    """Run the program.

    :return: an :class:`placementclient.basis.errors.ExitStatus`
    """
    _open_closed_streams()
    _buffer_stdout()
    if sys.argv[1:3] == ['complete', '--values']:
        # A key press waits for it: nothing else is loaded.
        from placementclient.cli.completion import values

        return values.main(sys.argv[3:])
    if not sys.warnoptions:
        warnings.simplefilter('ignore')

    try:
        from placementclient.basis import errors
        from placementclient.cli import shell
    except KeyboardInterrupt:
        from placementclient.basis.errors import ExitStatus

        print('Interrupted', file=sys.stderr)
        return ExitStatus.INTERRUPTED
    try:
        status = shell.main()
        if not sys.stdout.closed:
            sys.stdout.flush()
    except BrokenPipeError:
        _discard_stdout()
        status = shell.BROKEN_PIPE
    except OSError as failure:
        _discard_stdout()
        print(f'Cannot write to stdout: {failure.strerror or failure}', file=sys.stderr)
        status = errors.ExitStatus.ERROR
    return status


def _discard_stdout() -> None:
    """Discard what is not written yet: Python would write it when it ends, and fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _open_closed_streams() -> None:
    """Open closed standard streams: else the next opened file gets the number of one of them."""
    # A closed stream reads as empty, and writes to it are lost.
    for descriptor, (name, mode) in enumerate(STREAMS.items()):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != descriptor:
                os.dup2(null, descriptor)
                os.close(null)
            setattr(sys, name, os.fdopen(descriptor, mode))


def _buffer_stdout() -> None:
    """Write in large pieces in spite of ``PYTHONUNBUFFERED``, which images of containers set."""
    # Each piece of a document is a system call else, ten million of them for that of a large cloud.
    stream = sys.stdout
    if isinstance(stream, io.TextIOWrapper) and isinstance(stream.buffer, io.RawIOBase):
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(stream.buffer),
            stream.encoding,
            stream.errors,
            line_buffering=stream.isatty(),
        )


if __name__ == '__main__':
    sys.exit(main())
