"""Describe to a stage what the rows of a training are: one file with the classes, the weights and the scaling."""

from collections.abc import Iterator
from dataclasses import fields
from os import PathLike
from typing import Any, TypeVar

import numpy as np

from mr_elm.errors import record
from mr_elm.features.kernels import Kernel, make_kernel
from mr_elm.features.scaling import scale_rows
from mr_elm.machines.gathering import GatheredRows
from mr_elm.rows.blocks import Block, fill_weights
from mr_elm.rows.labels import mark_labels
from mr_elm.store import load_arrays, save_arrays
from mr_elm.sums.statistics import Classes, row_weights
from mr_elm.sums.summary import Summary
from mr_elm.typing import Floats, Rows

Task = TypeVar('Task', bound='RowsTask')


def choose_kernel(options: Any, summary: Summary, normalised: bool = False) -> tuple[Kernel, tuple[Floats, Floats]]:
    """Return the kernel that options ask for, and offset and scale of the features before it."""
    moments = summary.measure_scaled(options.scale)
    kernel = make_kernel(
        options.kernel, moments.total_variance, sigma=options.sigma, degree=options.degree, normalised=normalised
    )
    offset, scale = summary.choose_scaling(options.scale, kernel.power)
    if summary.sparse and kernel.kind.of_distance:
        offset = np.zeros(())  # distances do not see the offset, and rows stay sparse
    return kernel, (offset, scale)


@record(kw_only=True)
class RowsTask:
    """Know the class, the weight and the scaling of each row; a stage that trains has a task with more fields.

    index : label -> class number, or None where labels are targets. n_classes : 0 where labels are targets, or where a
        row has several labels.
    class_weights : label -> weight, or None.
    seed : of the keyed hashes of rows.
    n_features : width of the rows.
    arrays : feature_offset and feature_scale, (d,) or ().
    share : of the rows that are looked at, chosen by their keyed hashes.
    separator : what stands between the labels of a row, None where a row has one label.
    """

    index: dict[str, int] | None
    n_classes: int
    class_weights: dict[str, float] | None
    seed: int
    n_features: int
    arrays: dict[str, Floats]
    share: float = 1.0
    separator: str | None = None

    @classmethod
    def of(cls: type[Task], classes: Classes | None, **others: Any) -> Task:
        """Make the task of rows with these classes, None where labels are targets. others : the other fields."""
        if classes is None:
            return cls(index=None, n_classes=0, **others)
        n_classes = 0
        if others.get('separator') is None:
            n_classes = len(classes.names)
        return cls(index=classes.index, n_classes=n_classes, **others)

    @property
    def sample_seed(self) -> int:
        """Return the key of the hashes that choose the rows that are looked at."""
        return self.seed

    def class_numbers(self, block: Block) -> np.ndarray:
        """Return the class number, or the target, of each row of a block, (n,); (n, K) of several targets or labels."""
        if self.index is None:
            return block.targets
        if self.separator is not None:
            n_labels = 1 + max(self.index.values())
            return mark_labels(block.names, self.separator, self.index, n_labels)[block.codes]
        return block.look_up(self.index)

    def row_weights(self, block: Block) -> Floats:
        """Return the weight of each row of a block, (n,): its own times that of its class."""
        return fill_weights(row_weights(block, self.class_weights), len(block))

    def scale(self, X: Rows) -> Rows:
        """Return z = (x - offset) * scale."""
        return scale_rows(X, self.arrays['feature_offset'], self.arrays['feature_scale'])

    def extend(self, kind: type[Task], **more: Any) -> Task:
        """Return a task of another kind that has the fields of this one, with other values of some, and more."""
        return kind(**{**{field.name: getattr(self, field.name) for field in fields(self)}, **more})

    def save(self, path: str | PathLike) -> None:
        """Write the file."""
        header = {field.name: getattr(self, field.name) for field in fields(self)}
        save_arrays(path, header, header.pop('arrays'))

    @classmethod
    def load(cls: type[Task], path: str | PathLike) -> Task:
        """Read what `save` wrote."""
        header, arrays = load_arrays(path)
        return cls(**{field.name: header[field.name] for field in fields(cls) if field.name != 'arrays'}, arrays=arrays)


@record(kw_only=True)
class KernelsTask(RowsTask):
    """Know which kernels to score by all rows that are looked at, each at which C.

    kernels : the parameters of each, none of random nodes. C_values : in increasing order.
    """

    kernels: list[dict[str, Any]]
    C_values: list[float]

    def route(self, rows: GatheredRows) -> Iterator[tuple[tuple[int, ...], GatheredRows]]:
        """Yield (kernel, its rows): all rows go to each."""
        for number in range(len(self.kernels)):
            yield (number,), rows
