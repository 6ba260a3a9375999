"""Say what every trained model has, and how its decision values become labels."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any, TypeVar

import numpy as np

from mr_elm.errors import ModelFormatError, declared_state, write_object
from mr_elm.features.metric import Importance
from mr_elm.model.checks import check_importance, check_labelling, demand
from mr_elm.model.header import ModelHeader
from mr_elm.model.sums import DIGEST, compute_digest, new_sums, remove_sums, shrink_counts, takes_sums
from mr_elm.rows.encoding import Encoding
from mr_elm.rows.labels import label_keys
from mr_elm.rows.storage import write_file
from mr_elm.rows.text import read_exact
from mr_elm.scores.calibration import Labelling
from mr_elm.solvers.multiclass import ONE_VS_ALL, machine_count
from mr_elm.store import load_arrays, save_arrays
from mr_elm.typing import Floats, Rows

# what missing parts, or parts that do not fit, raise
UNFIT = (ModelFormatError, KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError)
Kind = TypeVar('Kind', bound='Model')
PRESENCE_THRESHOLD = 0.5  # decision values are fitted to 1 where a row has a label, and to 0 where it has not


@dataclass(frozen=True)
class Model(ABC):
    """Hold what every model has; a kind of model says how many decision values a row has, and what they are.

    arrays : name -> array of the model file. sums : name -> array of the file of sums beside it, None without these.
    """

    header: ModelHeader
    arrays: Mapping[str, np.ndarray]
    sums: Mapping[str, np.ndarray] | None = None
    __getstate__ = declared_state

    def __repr__(self) -> str:
        names = ('method', 'task', 'classes', 'n_features', 'n_rows_used')
        return write_object(self, {**{name: getattr(self.header, name) for name in names}, 'arrays': list(self.arrays)})

    @property
    def n_features(self) -> int:
        """Return the width of the rows."""
        return self.header.n_features

    @cached_property
    def encoding(self) -> Encoding | None:
        """Return how tables become rows of features, None where the rows of the training held only numbers."""
        if self.header.encoding is None:
            return None
        return Encoding.from_json(self.header.encoding)

    @property
    def members(self: Kind) -> tuple[Kind, ...]:
        """Return the machines whose decision values are averaged; most models are one machine."""
        return (self,)

    @property
    def numeric(self) -> bool:
        """Tell whether the model predicts numbers."""
        return self.header.task == 'regression'

    @property
    def classes(self) -> list[str]:
        """Return the names of the classes."""
        return self.header.classes

    @property
    def scheme(self) -> str:
        """Say how several classes are told apart: one-vs-all, by the largest value, or one-vs-one, a vote of pairs."""
        return self.header.parameters.get('multiclass', ONE_VS_ALL)

    @cached_property
    def n_scores(self) -> int:
        """Return the number of decision values of a row: 1 for two classes, else one for a target or a label."""
        if self.numeric:
            return max(len(self.header.target_names), 1)
        if self.multilabel:
            return len(self.classes)
        return machine_count(len(self.classes), self.scheme)

    @cached_property
    def multilabel(self) -> bool:
        """Tell whether a row may have several labels, or none; a decision value above 1/2 says that it has one."""
        return self.header.separator is not None

    def class_of(self, label: str) -> str:
        """Return the class that a label names ('1.0' and '1' are one), or the label itself when it is none."""
        if label in self.classes:
            return label
        return self._class_of_key.get(read_exact(label), label)

    def find_unknown(self, labels: Iterable[str]) -> list[str]:
        """Return the labels that are no class, sorted."""
        return sorted(label for label in set(labels) if self.class_of(label) not in self.classes)

    @cached_property
    def _class_of_key(self) -> dict[Any, str]:
        return {key: name for name, key in label_keys(self.classes).items()}

    @abstractmethod
    def decision_function(self, X: Rows) -> Floats:
        """Return decision values: (n, n_scores)."""

    @abstractmethod
    def check(self) -> None:
        """Raise KeyError or ValueError when parts are missing or do not fit."""

    @property
    def importance(self) -> Importance | None:
        """Return how important features and columns are, as the training found it; None where no metric was learned.

        Of several machines, the means of those that learned one.
        """
        importances = [
            Importance(**member.header.parameters['importance'])
            for member in self.members
            if 'importance' in member.header.parameters
        ]
        if not importances:
            return None
        features, columns = ([each.features for each in importances], [each.columns for each in importances])
        return Importance(np.mean(features, axis=0).tolist(), np.mean(columns, axis=0).tolist())

    def check_features(self) -> None:
        """Raise KeyError, TypeError or ValueError when the encoding or the metric does not fit the features."""
        if self.encoding is not None and self.encoding.width != self.n_features:
            raise ValueError(f'expected columns of {self.n_features} features, found {self.encoding.width}')
        has_metric = 'feature_metric' in self.arrays
        demand(self.header.has_metric == has_metric, 'feature_metric where the header names a metric', has_metric)
        check_importance(self.header)

    def predict(self, X: Rows) -> np.ndarray:
        """Return a class number a row, (n,) int; for a regression a number a row; see `decide` for several of them."""
        return self.decide(self.decision_function(X))

    def save(self, path: str | PathLike, before: Callable[[str, str | None], None] | None = None) -> None:
        """Write the model under exactly this name, and its sums, if it has some, beside it: see `name_sums`.

        Files that exist are replaced when both new ones are whole. The sums wait under another name until the model
        has its own: if the command is killed between the two, whoever reads them next completes this. A pipe or a
        device gets the model alone. path : on this machine, HDFS or S3. before : is called with the files of model and
        sums, None without these, when both are whole and have not got their names yet.
        Raises ModelFormatError where the file cannot be read back, as after numbers that are not finite.
        """

        def read_back(path_written: str) -> None:
            try:
                header, arrays = load_arrays(path_written, path)
                type(self)(ModelHeader.from_json(header), arrays, self.sums).check_whole()
            except UNFIT as error:
                raise ModelFormatError(
                    f'{path}: expected a model that can be read back, it is not written ({error})'
                ) from None

        keeps_sums = self.sums is not None and takes_sums(path)
        with ExitStack() as stack:
            if keeps_sums:
                waiting = stack.enter_context(new_sums(path))
            local = stack.enter_context(write_file(os.fspath(path)))
            save_arrays(local, self.header.to_json(), self.arrays, read_back)
            sums_local = None
            if self.sums is not None and keeps_sums:
                sums_local = stack.enter_context(write_file(waiting))
                header = {DIGEST: compute_digest(local)}
                save_arrays(sums_local, header, shrink_counts(self.sums, self.arrays))
            if before is not None:
                before(local, sums_local)
        if not keeps_sums:
            remove_sums(path)

    def without_sums(self: Kind) -> Kind:
        """Return the model without its sums, and without what only serves beside them."""
        arrays = {name: array for name, array in self.arrays.items() if name != 'interval_ratios'}
        return replace(self, arrays=arrays, sums=None)

    def check_whole(self) -> None:
        """Raise what UNFIT names when parts are missing or do not fit, those of labels and probabilities included."""
        self.check()
        check_labelling(self.header, self.arrays)

    @cached_property
    def labelling(self) -> Labelling:
        """Return how decision values become classes and probabilities."""
        positive = self.header.positive
        return Labelling(
            len(self.classes),
            self.scheme,
            self.arrays.get('calibration'),
            self.header.threshold,
            1 if positive is None else self.classes.index(positive),
        )

    def label_by(self, threshold: float | None, positive: int | None = None) -> Labelling:
        """Return how decision values become classes where another threshold is given, or None for that of the model.

        positive : number of the class that it is about, None for the positive class of the model.
        """
        if threshold is None:
            return self.labelling
        return replace(
            self.labelling, threshold=threshold, positive=self.labelling.positive if positive is None else positive
        )

    def decide(self, scores: Floats) -> np.ndarray:
        """Turn decision values (n, P) into class numbers; a tie goes to the first class. Of a regression, the value.

        Of several targets these are (n, K) values; of several labels (n, K), True where a row has a label.
        """
        if self.multilabel:
            return scores > PRESENCE_THRESHOLD
        if self.numeric:
            values = self.to_targets(scores)
            if self.header.target_names:
                return values
            return values[:, 0]
        return self.labelling.choose(scores)

    def to_decisions(self, targets: Floats) -> Floats:
        """Undo `to_targets`."""
        if self.header.is_log:
            return np.log(targets)
        return targets

    def to_targets(self, values: Floats) -> Floats:
        """Return decision values of a regression, or bounds around them, in the unit of its targets."""
        if self.header.is_log:
            with np.errstate(over='ignore'):
                return np.exp(values)
        return values
