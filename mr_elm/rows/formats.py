"""Describe how the lines of a file become rows. The driver decides it, once a file."""
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

from mr_elm.rows.text import read_exact

MAX_FEATURES = 10_000_000
MAX_CATEGORIES = 100  # values of a column that have a feature of their own
# what pandas, R, SQL and Python write where a value is missing; `none` and `na` are words, so they are classes
MISSING_LABELS = ('', 'NA', '<NA>', 'NaN', 'nan', 'NAN', '-nan', 'null', 'NULL', 'None')


@dataclass(frozen=True)
class RowFormat:
    """Describe the lines of one file.

    kind : a name in KINDS.
    delimiter : one character, or None for runs of white space (csv).
    header : whether the first line names the columns (csv).
    n_columns : fields a line, label and weight included (csv).
    label_column, weight_column : positions from 0, or None where rows have none (csv).
    labelled : whether rows carry a label.
    ignore_label : pass over the label, whatever it is (prediction).
    numeric_labels : whether a label must be a finite number (regression).
    n_features : width that rows must have or fit in, or None when it is yet to be found (libsvm).
    max_features : largest index believed (libsvm).
    ignore_extra : drop features beyond n_features instead of rejecting the row (libsvm).
    blank_bytes : bytes of the blank lines above the first line that is not blank (csv).
    names : of the features, in their order, or None where columns have no names.
    positions : which column of the file each feature is, or None when all but label and weight are, in their order.
    label_name, weight_name : of these columns, or None.
    dropped : names, or positions where there are none, of the columns that were left out.
    table : whether rows may hold text and missing values: they are read as a `Table`, to be encoded.
    folders : (name, text) of the columns that the names of folders hold, as in city=Oslo (parquet, arrow).
    target_columns, target_names : positions and names of several targets, the first of which is label_column.
    labels_separator : what stands between the labels of a row, None where a row has one label.
    missing_labels : texts that stand for a missing label; an empty label is missing whatever they are.
    decimal : the decimal point (csv). charset : the encoding of the text, None for UTF-8 (csv, libsvm).
    styles : (position, prefix, suffix, thousands) of the columns whose numbers have a `Style` (csv).
    idle : positions of the columns that are left out because they hold nothing (csv).
    """

    kind: str
    delimiter: str | None = ','
    header: bool = False
    n_columns: int | None = None
    label_column: int | None = 0
    weight_column: int | None = None
    labelled: bool = True
    ignore_label: bool = False
    numeric_labels: bool = False
    n_features: int | None = None
    max_features: int = MAX_FEATURES
    ignore_extra: bool = False
    blank_bytes: int = 0
    names: tuple[str, ...] | None = None
    positions: tuple[int, ...] | None = None
    label_name: str | None = None
    weight_name: str | None = None
    dropped: tuple[str | int, ...] = ()
    table: bool = False
    folders: tuple[tuple[str, str], ...] = ()
    target_columns: tuple[int, ...] = ()
    target_names: tuple[str, ...] | None = None
    labels_separator: str | None = None
    missing_labels: tuple[str, ...] = MISSING_LABELS
    decimal: str = '.'
    charset: str | None = None
    styles: tuple[tuple[int, str, str, str], ...] = ()
    idle: tuple[int, ...] = ()

    @cached_property
    def styles_by_column(self) -> dict[int, tuple[str, str, str]]:
        """Return position -> (prefix, suffix, thousands) of the columns whose numbers have a style."""
        return {position: signs for position, *signs in self.styles}  # type: ignore[misc]

    @cached_property
    def feature_names(self) -> dict[int, str]:
        """Return position -> name of the columns that are features; empty where columns have no names (csv)."""
        return dict(zip(self.feature_positions, self.names or (), strict=False))

    @property
    def label_columns(self) -> tuple[int, ...]:
        """Return the positions of the label, or of all targets."""
        return self.target_columns or (() if self.label_column is None else (self.label_column,))

    @cached_property
    def missing_numbers(self) -> frozenset[Any]:
        """Return the numbers that stand for a missing label: -1 does so where a file has -1.0."""
        return frozenset(map(read_exact, self.missing_labels)) - {None}

    @property
    def width(self) -> int:
        """Count the columns of a csv row that are features."""
        return len(self.feature_positions)

    @cached_property
    def feature_positions(self) -> tuple[int, ...]:
        """Return which column each feature is."""
        if self.positions is not None:
            return self.positions
        return tuple(j for j in range(self.n_columns or 0) if j not in (*self.label_columns, self.weight_column))

    @classmethod
    def of(cls, kind: str, options: 'RowOptions', **known: Any) -> 'RowFormat':
        """Make the format of a kind with what the user said of labels and of the width. known : its other fields."""
        return cls(kind, **{'labelled': options.labelled, 'ignore_label': options.ignore_label,
                            'numeric_labels': options.numeric_labels,
                            'labels_separator': options.labels_separator,
                            'missing_labels': options.missing_texts, **known})

    def to_json(self) -> dict:
        """Return the fields as a dictionary that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict) -> 'RowFormat':
        """Build a format from `to_json`'s dictionary."""
        found: dict[str, Any] = {field.name: values[field.name] for field in fields(cls) if field.name in values}
        return cls(**{name: to_tuple(value) for name, value in found.items()})


def to_tuple(value: Any) -> Any:
    """Turn lists that come from JSON into tuples again."""
    return tuple(map(to_tuple, value)) if isinstance(value, list) else value


@dataclass(frozen=True)
class RowOptions:
    """Keep what the user said about the input; what was not said is found in the files.

    kind, delimiter, header : 'auto', or what `RowFormat` holds (header as yes or no).
    label_column, weight_column : a name or a position from 0, negative from the end; None for no weights.
    columns, drop : names or positions of the only features, and of columns that are none; None where nothing was said.
    encode : auto, or refuse: text where a number belongs, and missing values, are then bad rows.
    names : of the features that rows must have, in their order; None where they are not known.
    label_name, weight_name : what the columns are called in files with names, where positions were of another file.
    dropped : names or positions of columns that a training left out; a file need not have them.
    positions : of the features in a file without names, None for all but label, weight and `dropped`.
    encoding : Encoding of the rows, None where it is yet to be chosen, or there is none.
    max_categories : values of a category that have a feature of their own.
    targets, target_names : names or positions of several targets, and what they are called in files with names.
    labels_separator : what stands between the labels of a row, None where a row has one label.
    missing_labels : texts that stand for a missing label, None for MISSING_LABELS.
    decimal : 'auto', or the decimal point. charset : the encoding of text, None where the file tells.
    like : how the file of a training was read, as `InputPlan.input_facts` says it; None where there was none.
    """

    kind: str = 'auto'
    delimiter: str | None = 'auto'
    header: str = 'auto'
    label_column: str | int = 0
    weight_column: str | int | None = None
    labelled: bool = True
    ignore_label: bool = False
    numeric_labels: bool = False
    n_features: int | None = None
    max_features: int = MAX_FEATURES
    ignore_extra: bool = False
    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] | None = None
    encode: str = 'refuse'
    names: tuple[str, ...] | None = None
    label_name: str | None = None
    weight_name: str | None = None
    dropped: tuple[str | int, ...] = ()
    positions: tuple[int, ...] | None = None
    encoding: Any = None
    max_categories: int = MAX_CATEGORIES
    targets: tuple[str | int, ...] = ()
    target_names: tuple[str, ...] | None = None
    labels_separator: str | None = None
    missing_labels: tuple[str, ...] | None = None
    decimal: str = 'auto'
    charset: str | None = None
    like: Any = None

    @property
    def missing_texts(self) -> tuple[str, ...]:
        """Return the texts that stand for a missing label."""
        return MISSING_LABELS if self.missing_labels is None else self.missing_labels

    @property
    def table(self) -> bool:
        """Tell whether rows may hold text and missing values."""
        return self.encode == 'auto' or self.encoding is not None


class RowError(ValueError):
    """Say why a row cannot be used: a countable reason, and what was seen."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f'{reason}: {detail}')
        self.reason = reason
        self.detail = detail
