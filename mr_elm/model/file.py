"""Read trained models, and layers of hidden nodes, from files."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike

import numpy as np

from mr_elm.errors import ModelFormatError
from mr_elm.features.hidden import HiddenLayer
from mr_elm.model.base import UNFIT, Model
from mr_elm.model.header import ModelHeader
from mr_elm.model.models import AveragedModel, HiddenNodeModel, KernelModel
from mr_elm.model.parts import check_layer, layer_of
from mr_elm.model.sums import complete_sums, load_sums, name_sums, restore_counts
from mr_elm.store import FilePath, load_arrays, save_arrays

METHODS = ('auto', 'pesvm', 'sparse-elm', 'oelm', 'elm', 'sphere-svm', 'mr-kelm')


@contextmanager
def refusing(path: str | PathLike) -> Iterator[None]:
    """Turn what missing parts, or parts that do not fit, raise into ModelFormatError."""
    try:
        yield
    except ModelFormatError as error:
        raise ModelFormatError(f'{path}: {error}') from None
    except UNFIT as error:
        raise ModelFormatError(f'{path}: expected a whole model, parts are missing or do not fit ({error})') from None


def load_layer(path: str | PathLike) -> HiddenLayer:
    """Read the HiddenLayer of a model file, trained or not. Raises ModelFormatError when there is none."""
    header, arrays = load_arrays(path)
    with refusing(path):
        check_layer(header['parameters'], arrays, header['n_features'])
        return layer_of(header['parameters'], arrays, header['n_features'])


def read_model(path: str | PathLike, name: str | None = None, sums: bool = False) -> Model:
    """Read a trained model, called `name` in messages. sums : whether to read its sums too, from the file beside it.

    Raises ModelFormatError when a file is not what it should be, or when there are no sums.
    """
    header, arrays = load_arrays(path, name)
    if header.get('method') not in METHODS:
        raise ModelFormatError(
            f'{name or path}: expected a model of {", ".join(METHODS)}, found {header.get("method")!r}'
        )
    with refusing(name or path):
        model = make_model(ModelHeader.from_json(header), arrays)
        model.check_whole()
    if sums:
        return add_sums(model, path, name)
    return model


def add_sums(model: Model, path: str | PathLike, name: str | None = None, sums_path: str | None = None) -> Model:
    """Return a model with its sums.

    path : of the model's file. sums_path : of the file of sums, None for the one beside the model. name : of the model
    in messages. Raises ModelFormatError when there are no sums, or when they do not belong to the model.
    """
    if sums_path is None:
        complete_sums(path)
        sums_path = name_sums(path)
    sums = load_sums(sums_path, path, name)
    with refusing(sums_path if name is None else name_sums(name)):
        model = replace(model, sums=restore_counts(sums))
        model.check()
    return model


def make_model(
    header: ModelHeader, arrays: Mapping[str, np.ndarray], sums: Mapping[str, np.ndarray] | None = None
) -> Model:
    """Return the model of a header and arrays, of the kind that the header says."""
    if header.members is not None:
        return AveragedModel(header, arrays, sums)
    if 'map' in header.parameters:
        return HiddenNodeModel(header, arrays, sums)
    return KernelModel(header, arrays)


def save_model(path: FilePath, header: ModelHeader, arrays: Mapping[str, np.ndarray]) -> None:
    """Write a model for the tasks of a job; `Model.save` writes those for users."""
    save_arrays(path, header.to_json(), arrays)


def model_words(path: str, reads_sums: bool = True) -> list[str]:
    """Return the options of a stage that name a model, and its sums where these are read and lie beside it."""
    if reads_sums and os.path.exists(name_sums(path)):
        return ['--model', path, '--model-sums', name_sums(path)]
    return ['--model', path]
