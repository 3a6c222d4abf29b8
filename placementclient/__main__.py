"""Where the program ``placement`` starts; ``python -m placementclient`` starts it too."""

from __future__ import annotations

import os
import sys
import warnings


def main() -> int:
    """Run the program.

    :return: an :class:`placementclient.errors.ExitStatus`
    """
    if sys.argv[1:3] == ['complete', '--values']:
        # A key press waits for it: nothing else is loaded.
        from placementclient.completion import values

        return values.main(sys.argv[3:])
    if not sys.warnoptions:
        warnings.simplefilter('ignore')

    from placementclient import shell

    status = shell.main()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Else Python says so too, as it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return shell.BROKEN_PIPE
    return status


if __name__ == '__main__':
    sys.exit(main())
