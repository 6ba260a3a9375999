"""Spread independent pieces of work over threads with one thread of BLAS each: no bit depends on how many there are."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import cache
from threading import Thread
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from mr_elm import linalg

Item = TypeVar('Item')
Found = TypeVar('Found')


def map_in_threads(function: Callable[[Item], Found], items: Iterable[Item], n_threads: int | None) -> list[Found]:
    """Return [function(item) for item in items], computed by so many threads.

    n_threads : None for this thread, in which BLAS takes as many of its own as it was told to.
    """
    if n_threads is None:
        return list(map(function, items))
    with one_blas_thread():
        if n_threads == 1:
            return list(map(function, items))
        return Team(function, list(items)).work(n_threads)


class Team:
    """Share items among threads, of which this one is the first: a pool of others takes three times as long to start.

    After an error no further item is begun. Of several errors, that of the first item is raised.
    """

    def __init__(self, function: Callable, items: list) -> None:
        self.function, self.results = function, [None] * len(items)
        self.left = iter(list(enumerate(items)))
        self.errors: dict[int, BaseException] = {}

    def work(self, n_threads: int) -> list[Any]:
        """Return the results in the order of the items."""
        others = [Thread(target=self.take_items) for _ in range(min(n_threads, len(self.results)) - 1)]
        try:
            for thread in others:
                thread.start()
            self.take_items()
            for thread in others:
                thread.join()
        except BaseException as error:  # such as an interruption while the others are awaited
            self.errors[-1] = error
        if self.errors:
            raise self.errors[min(self.errors)]
        return self.results

    def take_items(self) -> None:
        """Work on the next item that no other thread has taken, until there is none."""
        for number, item in self.left:  # one thread at a time: Python's lock is held
            try:
                self.results[number] = self.function(item)
            except BaseException as error:
                self.errors[number] = error
            if self.errors:
                return


def sum_in_threads(function: Callable[[Item], np.ndarray], items: Sequence[Item], n_threads: int | None) -> np.ndarray:
    """Return the sum of function(item), added in the order of the items, of which there is one at least.

    A few results are in memory together where there are threads.
    """
    if n_threads is None:
        together = 1
    else:
        together = min(n_threads, 8)  # results wait to be added
    total = None
    for start in range(0, len(items), together):
        for result in map_in_threads(function, items[start : start + together], n_threads):
            if total is None:
                total = result
            else:
                total = total + result
    assert total is not None
    return total


def one_blas_thread() -> AbstractContextManager:
    """Return a context in which BLAS uses one thread; `arithmetic.one_thread` sees libraries that come later too."""
    return find_blas().limit(limits=1, user_api='blas')


@cache
def find_blas() -> ThreadpoolController:
    """Find the libraries that are loaded, once: to look for them takes longer than a small fit."""
    linalg.load()  # it brings a BLAS of its own, which must be found too
    return ThreadpoolController()
