# SPDX-License-Identifier: MIT
"""Threads whose errors are not lost."""

import threading
from collections.abc import Callable, Sequence


def run_all(work: Callable[[int], None], count: int) -> None:
    """The same work in so many threads; what one raised is raised here."""
    errors: list[BaseException] = []

    def guarded(me: int) -> None:
        try:
            work(me)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def run_together(works: Sequence[Callable[[], None]]) -> None:
    """Each of them in a thread of its own."""
    run_all(lambda me: works[me](), len(works))
