"""Progress of long work: on stderr, never on stdout."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from placementclient.client.printable import printable


@dataclass(frozen=True, slots=True)
class Progress:
    """A function to call with a line for each part that has ended.

    :param show: shows the line
    :param warn: to be called with a sentence that is printed in any case
    :param expect: to be called with the number of parts, as soon as it is known
    """

    show: Callable[[str], None]
    warn: Callable[[str], None]
    expect: Callable[[int], None] = lambda total: None

    def __call__(self, line: str) -> None:
        self.show(line)


@contextlib.contextmanager
def shown(app: Any, log: logging.Logger, total: int | None = None) -> Iterator[Progress]:
    """Show the progress of long work.

    With ``-v`` the lines are printed. Without it there is a bar, where stderr is a terminal.

    :param total: how many parts there are, where that is known
    """
    if log.isEnabledFor(logging.INFO) or not app.stderr.isatty():
        yield Progress(log.info, log.warning)
        return
    from rich import console, progress  # takes long to load

    with progress.Progress(
        progress.SpinnerColumn(),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn('{task.description}', markup=False),
        console=console.Console(file=app.stderr),
        transient=True,
    ) as bar:
        task = bar.add_task('', total=total)
        yield Progress(
            lambda line: bar.update(task, advance=1, description=printable(line)),
            # Above the bar.
            lambda line: bar.console.print(printable(line), markup=False, highlight=False),
            lambda number: bar.update(task, total=number),
        )
