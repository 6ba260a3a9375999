"""Read a model that the user names, and say how rows for it are written."""

import argparse
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from mr_elm.errors import ModelFormatError
from mr_elm.model.base import Model
from mr_elm.model.checks import check_report
from mr_elm.model.file import add_sums, read_model, refusing
from mr_elm.model.sums import copy_sums
from mr_elm.rows.options import RowOptions
from mr_elm.rows.storage import fetch_file


def fetch_sums(model: Any, path: str, name: str) -> Any:
    """Return a model with its sums. path : of its copy. name : of its file, beside which the sums lie.

    Raises ModelFormatError when there are no sums, or when they belong to another model.
    """
    copy_sums(name, path)
    return add_sums(model, path, name)


@contextmanager
def fetched_model(name: str) -> Iterator[tuple[str, Any]]:
    """Read a model from wherever it is: (path of a copy to ship under a plain name, model)."""
    with ExitStack() as stack:
        try:
            path = stack.enter_context(fetch_file(name, 'model.npz'))
        except IsADirectoryError:
            raise ModelFormatError(f'{name}: expected a model file, found a folder') from None
        except FileNotFoundError:
            raise FileNotFoundError(f'{name}: expected a model file of mr-elm train, found no such file') from None
        model = read_model(path, name)
        with refusing(name):
            check_report(model.header)
        yield path, model


def rows_for(
    model: Model,
    args: argparse.Namespace,
    labelled: bool = True,
    ignore_label: bool = False,
    ignore_extra: bool = False,
) -> RowOptions:
    """Return the RowOptions of the training, unless the user says otherwise. The flags are those of RowOptions."""
    trained = rows_of_training(model)
    known = rows_like(model, args, labelled) | {'trained': trained}
    if args.label_column is not None:
        known['label_name'] = None
    else:
        known['label_column'] = trained.label_column or 0
    if args.weight_column is not None:
        known['weight_name'] = None
    elif trained.weight_column is not None:
        (known['weight_column'],) = find_positions([trained.weight_column], trained, labelled)
    return RowOptions.of_arguments(
        args,
        **known,
        labelled=labelled,
        numeric_labels=model.numeric and not ignore_label,
        ignore_label=ignore_label,
        ignore_extra=ignore_extra,
    )


def rows_of_training(model: Model) -> RowOptions:
    """Return how the rows of the training were written."""
    return RowOptions.from_json(model.header.parameters['input'])


def rows_like(model: Model, args: argparse.Namespace, labelled: bool = True) -> dict[str, Any]:
    """Return what RowOptions of rows for a model know of their columns and labels: all but where these stand."""
    trained = rows_of_training(model)
    header = model.header
    dropped = trained.dropped
    if not labelled:
        dropped += trained.target_names or (() if trained.label_name is None else (trained.label_name,))
    return {
        'names': trained.names,
        'encoding': model.encoding,
        'label_name': trained.label_name,
        'target': trained.target,
        'weight_name': trained.weight_name,
        'dropped': dropped,
        'positions': trained.positions and find_positions(trained.positions, trained, labelled),
        'n_features': model.n_features if model.encoding is None else None,
        'targets': trained.target_names or trained.targets or tuple(range(len(header.target_names))),
        'target_names': trained.target_names,
        'labels_separator': header.separator,
        'missing_labels': trained.missing_labels if args.missing_labels is None else args.missing_labels,
    }


def find_positions(positions: Iterable[int], trained: RowOptions, labelled: bool) -> tuple[int, ...]:
    """Return where columns of a training stand in rows like these, perhaps without the labels in front of them."""
    if labelled:
        return tuple(positions)
    return tuple(j - sum(j > label for label in trained.label_columns) for j in positions)
