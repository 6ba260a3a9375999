"""Read and scale the rows of estimators as jobs do, also data frames with text, missing values and names."""

import re
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight, check_array, check_is_fitted, check_X_y, validate_data

from mr_elm.errors import RowError
from mr_elm.estimators.conversion import Convertible, describe_targets, input_facts
from mr_elm.estimators.jobs import map_rows
from mr_elm.estimators.parameters import Parameters, find_options
from mr_elm.estimators.values import demand_matrix, demand_targets, is_set_matrix, read_classes
from mr_elm.features.landmarks import Landmarks
from mr_elm.machines.doubts import warn_of_numbers
from mr_elm.machines.sample import select_rows
from mr_elm.option import speaking_python
from mr_elm.rows.blocks import EncodedRows
from mr_elm.rows.columns import NumberColumn, Table
from mr_elm.rows.encoding import Encoding
from mr_elm.rows.frames import Frame, read_frame, to_matrix
from mr_elm.rows.options import AUTO, MAX_CATEGORIES, REFUSE
from mr_elm.solvers.ridge import TrainingRows
from mr_elm.sparse import issparse
from mr_elm.sums.statistics import ColumnStatistics, list_classes
from mr_elm.sums.summary import Summary
from mr_elm.sums.values import ColumnValues, choose_encoding
from mr_elm.typing import Floats, Labels, Rows, RowWeights, Weights

NUMBER = re.compile('(?i)u?int|float|double|half|bool|dec|complex|sparse')  # how types of numbers begin


class TableRows(Convertible, Parameters):
    """Read the rows of an estimator with the parameters `scale` and `encode`, and answer from its model.

    scale : how features are scaled, as by `mr-elm train`. standard: to mean 0 and deviation 1; minmax: to the range
        from -1 to 1; none. The rows of `fit`, or of the first `partial_fit`, decide; later rows are scaled in the same
        way. A feature that is constant in these rows is ignored. Sparse rows stay sparse, unless the kernel is linear
        or polynomial: such a kernel sees rows that were shifted.
    encode : refuse: rows are numbers, as scikit-learn checks them. auto: X is a data frame of pandas or polars, or has
        `__arrow_c_stream__`, and columns are found by their names; or it is an array of numbers, NaN where one is
        missing. Text becomes an indicator of each of the most frequent values, a missing number the mean of its column
        with an indicator. A date becomes a number of days, a month, a weekday and, if times of day differ, an hour.
        Indicators are not scaled.
    max_categories : values of a column of text, the most frequent ones, that have an indicator of their own; the others
        share one.

    Sets encoding_, None where rows are numbers, and seed_, the seed of the fit.
    """

    scale: str
    _takes_sets: bool  # whether a row may have several labels, as an indicator matrix has them, or several targets
    n_features_in_: int
    encoding_: Encoding | None
    _summary = Summary()  # of the rows that have decided the scaling
    _of_file = False  # whether the names of the columns are those of files

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.encode == REFUSE
        if self.encode == AUTO:
            tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags

    def _values(self, X: Rows) -> Floats:
        """Return the decision values of all machines, (n, P)."""
        return self._apply('decision_function', X)

    def _apply(self, method: str, X: Rows) -> np.ndarray:
        """Return what a method of the model says of rows."""
        if not hasattr(self, 'model_'):
            check_is_fitted(self)  # which takes as long as to predict a few rows
        X, model = self._validate(X, False), self.model_
        return map_rows(getattr(model, method), X, model.n_scores, self.n_jobs)

    @property
    def _holds_out(self) -> bool:
        """Tell whether something is to be fitted to rows that are held out."""
        return getattr(self, 'probabilities', False) or getattr(self, 'intervals', False)

    def _read(self, X: Rows, y: Labels, sample_weight: Weights, reset: bool = True) -> tuple:
        """Return the rows of a training, unscaled, their labels, and their weights, None where all count once."""
        if reset:
            self._label_name = getattr(y, 'name', None)  # of a Series
        several, numeric = self._takes_sets, self._numeric
        cure = 'give each row one label or target'
        if several:
            cure = 'MultiLabelBinarizer().fit_transform(y) makes a matrix of 0 and 1 of lists of labels'
            if numeric:
                cure = 'give rows lists of the same length'
        demand_matrix(y, cure)
        if numeric:
            several = several and not self._holds_out
        elif several:
            several = is_set_matrix(y)
        X, y = self._validate(X, reset, sample_weight, y=y, y_numeric=numeric, multi_output=several)
        weights = check_weights(sample_weight, X)
        if reset:
            rows, counted = X, weights
            if weights is not None:  # rows of weight 0 do not decide the scaling
                rows, counted = X[weights > 0], weights[weights > 0]
            self._summary = self._summarise(columns=ColumnStatistics.of(rows, counted), n_rows=rows.shape[0])
            warn_of_numbers(self._summary, X=rows)
        return X, y, weights

    def _validate(self, X: Any, reset: bool, sample_weight: Weights = None, **how: Any) -> Any:
        """Return rows as a matrix of features, dense or CSR, and y where `how` has it. how : as of `validate_data`."""
        kind: Any = self.__class__
        for name, each in find_options(kind).items():
            value = getattr(self, name)
            if not isinstance(value, Mapping):  # weights by class, which the command line does not have
                each.demand(value, name)
        if reset:
            self.seed_ = self._choose_seed()
        y: Any = how.get('y')
        if how.get('y_numeric'):
            demand_targets(y, kind.__name__)
        elif 'y' in how:
            how['y'] = y = read_classes(y)
        shape = getattr(y, 'shape', ()) or np.asarray(y).shape
        if shape[1:] > (1,) and not how.get('multi_output'):
            raise ValueError(
                f'y: expected one label or target in each row, found the shape {shape} (y should be a 1d array): '
                'estimators of ESVM, ELM and KernelELM, without probabilities or intervals, take several targets, '
                'or labels as a matrix of 0 and 1 (MultiLabelBinarizer().fit_transform(y) makes one)'
            )
        how = {'accept_sparse': 'csr', 'dtype': float, **how}
        if self.encode == REFUSE:
            checked = self._check_numbers(X, reset, **how)
            if reset:
                self.encoding_ = None
            return checked
        frame = self._read_table(X, reset)
        if reset:
            weights = check_weights(sample_weight, np.empty(frame.table.n_rows))
            self.encoding_ = learn_encoding(frame, weights, self.max_categories)
        rows = self._encode(frame)
        if 'y' in how:
            return check_X_y(rows, **how)
        return check_array(rows, **how)

    def _read_table(self, X: Any, reset: bool) -> Frame:
        """Read a data frame, or numbers, whose columns are called x0, x1, ..., as those of a file without a header."""
        if getattr(X, 'ndim', 2) == 2 and (hasattr(X, 'iloc') or hasattr(X, '__arrow_c_stream__')):
            frame = read_frame(X)
            if reset:
                self.n_features_in_, self.feature_names_in_ = len(frame.names), np.array(frame.names, object)
            return frame
        X = self._check_numbers(X, reset, dtype=float, ensure_all_finite=False)
        return Frame(tuple(f'x{j}' for j in range(X.shape[1])), Table(tuple(map(NumberColumn, X.T)), len(X)))

    def _encode(self, frame: Frame) -> Rows:
        """Return the features of a table. Raises ValueError when the estimator was fitted to rows of numbers."""
        encoding = self.encoding_
        if encoding is None:
            raise ValueError(f'encode: expected {REFUSE}, the estimator was fitted to rows of numbers')
        rows = encode_rows(encoding, frame.select([column.name for column in encoding.columns]))
        encoding.warn_of_unknown(rows.known, len(rows.numbers))
        return rows.spread()

    def _summarise(self, **others: Any) -> Summary:
        """Return a Summary that knows the columns of the rows. others : other fields."""
        return Summary(
            encoding=self.encoding_, **{'input': {'names': list(getattr(self, 'feature_names_in_', ()))}, **others}
        )

    def _summarise_training(self, rows: TrainingRows, options: Any) -> Summary:
        """Return the Summary that a driver would have of the same rows in files. Rows of weight 0 do not count.

        options : say how many landmarks there are.
        """
        summary = self._summarise(
            columns=self._summary.columns,
            n_rows=len(rows.y),
            sparse_rows=issparse(rows.X),
            input=input_facts(self, list_classes(rows.classes)) | describe_targets(self),
        )
        if rows.sample_weight is not None:
            rows = select_rows(rows, rows.sample_weight > 0)
        if self._numeric:
            summary.target = ColumnStatistics.of(*rows.targets)
        if n_landmarks := getattr(options, 'n_landmarks', 0):
            chosen = Landmarks(n_landmarks, self.seed_)
            chosen.add(rows.X)
            summary.landmarks = chosen.rows
        return summary

    def _check_numbers(self, X: Any, reset: bool, **how: Any) -> Any:
        """Return rows of numbers, and y where `how` has it, as scikit-learn checks them."""
        demand_numbers(X)
        with warnings.catch_warnings():
            if self._of_file:  # as a file without a header, an array is read by the positions of its columns
                warnings.filterwarnings('ignore', 'X does not have valid feature names', UserWarning)
            try:
                return validate_data(self, X, reset=reset, **how)
            except ValueError as error:
                if 'Input X contains NaN' in str(error):
                    raise ValueError(
                        'X: expected a number in each field, found a missing one (Input X contains NaN): use '
                        "encode='auto', which reads missing values, or an imputer"
                    ) from None
                if 'could not convert' in str(error):
                    raise ValueError(
                        f"X: expected a number in each field, found text ({error}): encode='auto' reads text in a data "
                        'frame, such as pd.DataFrame(X)'
                    ) from None
                raise


def demand_numbers(X: Any) -> None:
    """Raise ValueError at text in the columns of a data frame, and at dates, of which numpy may make numbers."""
    types: Any = ()
    if hasattr(X, 'columns'):
        types = getattr(X, 'dtypes', getattr(getattr(X, 'schema', X), 'types', ()))
    if not all(NUMBER.match(str(kind)) for kind in types):
        frame = read_frame(X)
        to_matrix(frame, frame.names)
    elif str(getattr(X, 'dtype', '')).startswith(('datetime', 'timedelta')):
        raise ValueError(f"X: expected numbers, found {X.dtype}: a data frame with encode='auto' may hold dates")


def check_weights(sample_weight: Weights, X: Rows) -> Floats | None:
    """Return the weights of rows as scikit-learn checks them, (n,); None where all count once."""
    if sample_weight is None:
        return None
    weights = _check_sample_weight(sample_weight, X, dtype=float)
    if len(weights) and weights.min() < 0:
        raise ValueError(f'sample_weight: expected numbers of at least 0, found {weights.min():.6g}')
    return weights


def encode_rows(encoding: Encoding, table: Table) -> EncodedRows:
    """Return the features of the rows. Raises RowError with the position of the first row that cannot be encoded."""
    try:
        return encoding.encode(table)
    except RowError:
        errors = encoding.find_errors(table)
    row = min(errors)
    raise RowError(errors[row].reason, f'row {row}: {errors[row].detail}')


@speaking_python({})
def learn_encoding(frame: Frame, weights: RowWeights, max_categories: int = MAX_CATEGORIES) -> Encoding:
    """Choose how the columns of a frame become features."""
    values = [ColumnValues.of(column, weights) for column in frame.table.columns]
    return choose_encoding(frame.names, values, max_categories, categorical=frame.categorical)
