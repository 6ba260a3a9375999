"""Describe how the lines of a file become rows. The driver decides it, once a file."""
from dataclasses import asdict, dataclass, fields
from typing import Any

MAX_FEATURES = 10_000_000


@dataclass(frozen=True)
class RowFormat:
    """Describe the lines of one file.

    kind : csv, libsvm or packed.
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

    @property
    def width(self) -> int:
        """Count the features of a csv row."""
        return (self.n_columns or 0) - (self.label_column is not None) - (self.weight_column is not None)

    @classmethod
    def of(cls, kind: str, options: 'RowOptions', **known: Any) -> 'RowFormat':
        """Make the format of a kind with what the user said of labels and of the width. known : its other fields."""
        return cls(kind, labelled=options.labelled, ignore_label=options.ignore_label,
                   numeric_labels=options.numeric_labels, **known)

    def to_json(self) -> dict:
        """Return the fields as a dictionary that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict) -> 'RowFormat':
        """Build a format from `to_json`'s dictionary."""
        return cls(**{field.name: values[field.name] for field in fields(cls)})


@dataclass(frozen=True)
class RowOptions:
    """Keep what the user said about the input; what was not said is found in the files.

    kind, delimiter, header : 'auto', or what `RowFormat` holds (header as yes or no).
    label_column, weight_column : a name or a position from 0, negative from the end; None for no weights.
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


class RowError(ValueError):
    """Say why a row cannot be used: a countable reason, and what was seen."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f'{reason}: {detail}')
        self.reason = reason
        self.detail = detail
