"""What is told of long work while it goes on: on stderr, never on stdout."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def shown(
    app: Any, log: logging.Logger, total: int | None = None
) -> Iterator[Callable[[str], None]]:
    """What is to be called with a line for each part that has ended.

    With ``-v`` the lines are printed. Without it there is a bar, where stderr is a terminal.

    :param total: how many parts there are, where that is known
    """
    if log.isEnabledFor(logging.INFO) or not app.stderr.isatty():
        yield log.info
        return
    from rich import console, progress  # takes long to load

    with progress.Progress(
        progress.SpinnerColumn(),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn('{task.description}'),
        console=console.Console(file=app.stderr),
        transient=True,
    ) as bar:
        task = bar.add_task('', total=total)
        yield lambda line: bar.update(task, advance=1, description=line)
