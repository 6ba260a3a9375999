"""Read the rows of a data set that R has saved: vectors, matrices, data frames and the sparse matrices of SparseM."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from mr_elm.errors import DataFormatError

MARKS = b'\x1f\x8b', b'BZh', b'\xfd7zXZ', b'RDX2\n', b'RDX3\n'  # of files that R writes, compressed or not


def is_r_data(content: bytes) -> bool:
    """Tell whether a file, as bytes, is data that R has saved."""
    return content.startswith(MARKS)


def read_rows(content: bytes, names: tuple[str, ...] = ()) -> Iterator[list[str]]:
    """Yield the rows of R objects as fields of LIBSVM text: the label, then index:value, zeros left out.

    An object is a list of x, the rows, and y, the labels; or a matrix with the labels first; or a data frame with
    the labels last.

    names : of the objects, in order; () for all in the file. Raises DataFormatError for data of another form.
    """
    import rdata  # with pandas and xarray a second to import, and most sets are text

    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')  # of classes without a constructor: their parts are what is wanted
            objects = rdata.conversion.convert(rdata.parser.parse_data(content))
        for name in names or objects:
            yield from write_fields(*split_labels(objects[name]))
    except Exception as error:
        raise DataFormatError(f'expected rows and labels that R has saved, found other data: {error!r}') from error


def split_labels(value: Any) -> tuple[np.ndarray, list[str]]:
    """Return the rows of an object and their labels as text."""
    import pandas

    if isinstance(value, pandas.DataFrame):
        return value.iloc[:, :-1].to_numpy(dtype=float), write_labels(value.iloc[:, -1])
    if isinstance(value, dict):
        parts = {str(name).lower(): part for name, part in value.items()}
        return fill_matrix(parts['x']), write_labels(parts['y'])
    matrix = fill_matrix(value)
    return matrix[:, 1:], write_labels(matrix[:, 0])


def fill_matrix(value: Any) -> np.ndarray:
    """Return a dense or a sparse matrix of R as a dense one."""
    if not hasattr(value, 'ia'):
        matrix = np.asarray(value, dtype=float)
        if matrix.ndim != 2:
            raise ValueError(f'{matrix.ndim} dimensions')
        return matrix
    matrix = np.zeros(tuple(value.dimension))
    rows = np.repeat(np.arange(len(matrix)), np.diff(value.ia))
    matrix[rows, value.ja - 1] = value.ra
    return matrix


def write_labels(labels: Any) -> list[str]:
    """Return labels as text: the levels of a factor, or numbers."""
    return [label if isinstance(label, str) else f'{label:g}' for label in np.asarray(labels).tolist()]


def write_fields(X: np.ndarray, labels: list[str]) -> Iterator[list[str]]:
    """Yield the fields of each row."""
    for row, label in zip(X, labels, strict=True):
        used = np.flatnonzero(row)
        yield [
            label,
            *(f'{index + 1}:{value!r}' for index, value in zip(used.tolist(), row[used].tolist(), strict=True)),
        ]
