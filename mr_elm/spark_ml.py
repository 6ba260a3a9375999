"""Let models stand in pipelines of pyspark.ml: an Estimator that trains, and the Transformer that it gives."""

from typing import Any

from pyspark.ml import Estimator, Model
from pyspark.ml.param import Param
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import SparkSession

from mr_elm.spark import SparkModel, load, train

DEFAULTS: dict[str, Any] = {
    'method': 'pesvm',
    'label': 'y',
    'weight': None,
    'encode': 'refuse',
    'missing_labels': None,
    'target': 'none',
    'options': {},
}


class ElmEstimator(Estimator, DefaultParamsReadable, DefaultParamsWritable):  # type: ignore[misc]
    """Train a model as `mr_elm.spark.train` does, as a stage of a Pipeline.

    method, label, weight, encode, missing_labels, target : as there. options : all others, as in
        options={'hidden': 200}.
    Raises TypeError for another name.
    """

    def __init__(self, **given: Any) -> None:
        super().__init__()
        for name, default in DEFAULTS.items():
            setattr(self, name, Param(self, name, 'see mr_elm.spark.train'))
            self._setDefault(**{name: default})
        if unknown := set(given) - set(DEFAULTS):
            raise TypeError(
                f'expected {", ".join(DEFAULTS)}, found {", ".join(sorted(unknown))}: options of the '
                'method stand in options'
            )
        self._set(**given)

    def _fit(self, dataset: Any) -> 'ElmTransformer':
        given = {name: self.getOrDefault(name) for name in DEFAULTS}
        return self._copyValues(ElmTransformer(train(dataset, **given.pop('options'), **given)))


class ElmTransformer(Model, MLReadable, MLWritable):  # type: ignore[misc]
    """Add predictions to a DataFrame as `SparkModel.transform` does. model : SparkModel."""

    def __init__(self, model: SparkModel) -> None:
        super().__init__()
        self.model = model

    def _transform(self, dataset: Any) -> Any:
        return self.model.transform(dataset)

    def write(self) -> MLWriter:
        """Return what writes it to a folder."""
        return Writer(self)

    @classmethod
    def read(cls) -> MLReader:
        """Return what reads a folder."""
        return Reader()


class Writer(MLWriter):  # type: ignore[misc]
    """Write the metadata of Spark, and the model's file beside them."""

    def __init__(self, stage: ElmTransformer) -> None:
        super().__init__()
        self.stage = stage

    def saveImpl(self, path: str) -> None:
        """Write a folder."""
        DefaultParamsWriter.saveMetadata(self.stage, path, SparkSession.active())
        self.stage.model.save(name_model(path))


class Reader(MLReader):  # type: ignore[misc]
    """Read what a Writer has written."""

    def load(self, path: str) -> ElmTransformer:
        """Read a folder."""
        stage = ElmTransformer(load(name_model(path)))
        stage._resetUid(DefaultParamsReader.loadMetadata(path, SparkSession.active())['uid'])
        return stage


def name_model(path: str) -> str:
    """Return where the model lies in the folder of a stage."""
    return f'{path.removeprefix("file://")}/model.npz'
