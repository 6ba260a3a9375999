"""Hold what a model file says of a model beside its arrays."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mr_elm.errors import ModelFormatError, one_line
from mr_elm.features.nodes import has_leaves
from mr_elm.rows.encoding import DATE

PARTS = ('encoding', 'members', 'calibration', 'threshold', 'targets')  # a reader must know these keys
REQUIRABLE = (*PARTS, 'metric', 'dates', 'hours', 'target', 'leaves')
KEYS = (
    'method',
    'task',
    'classes',
    'positive',
    'n_features',
    'n_rows_used',
    'n_rows_rejected',
    'parameters',
    'history',
)
OWN = ('requires', *PARTS)


@dataclass(frozen=True)
class ModelHeader:
    """Hold the header of a model; `dataclasses.replace` makes a changed one.

    method : as in `mr-elm train METHOD`. task : classification or regression.
    classes : names in class order, empty for a regression. n_features : width of the rows.
    parameters : name -> value, those of the method and of its solver.
    n_rows_used, n_rows_rejected : rows of the training. history : list of events, see `make_event`.
    encoding : how columns of text and missing values become features, see `mr_elm.rows.encoding`, or None.
    members : parameters of each machine that differ between the machines of a model that averages several, else None.
    calibration : how many rows probabilities were fitted to, and how these were scored; None without probabilities.
    positive : of two classes, the one that threshold, F1, precision, recall and average precision are about; the last
        one unless another is given. None for a regression, several classes, and rows with several labels.
    threshold : the probability of the positive class above which a row is of it, None for the more probable class.
    targets : of a regression with several targets their `names`; of rows with several labels, or none, the `separator`
        between these. None for one label or target.
    others : keys of the file that this version does not use. keys : the order of all keys in the file.
    """

    method: str
    task: str
    classes: list[str]
    n_features: int
    parameters: Mapping[str, Any]
    n_rows_used: int = 0
    n_rows_rejected: int = 0
    history: list[dict] = field(default_factory=list)
    encoding: Mapping[str, Any] | None = None
    members: list[Mapping[str, Any]] | None = None
    calibration: Mapping[str, Any] | None = None
    positive: str | None = None
    threshold: float | None = None
    targets: Mapping[str, Any] | None = None
    others: Mapping[str, Any] = field(default_factory=dict, compare=False)
    keys: tuple[str, ...] = field(default=KEYS, compare=False, repr=False)
    __repr__ = one_line

    def __post_init__(self) -> None:
        if self.positive is None and len(self.classes) == 2 and self.separator is None:
            object.__setattr__(self, 'positive', self.classes[-1])

    @classmethod
    def from_json(cls, header: Mapping[str, Any]) -> 'ModelHeader':
        """Read the JSON object of a model file.

        Raises KeyError when a key is missing, ModelFormatError when the model requires what is not known.
        """
        requires = header.get('requires', [])
        if unknown := [name for name in requires if name not in REQUIRABLE]:
            raise ModelFormatError(
                f'expected a model that this version of mr-elm can read, it requires '
                f'{", ".join(unknown)}: install a newer version'
            )
        return cls(
            **{key: header[key] for key in (*KEYS, *PARTS) if key in (*KEYS, *requires)},
            keys=tuple(key for key in header if key not in OWN),
            others={key: value for key, value in header.items() if key not in (*KEYS, *OWN)},
        )

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object, whose keys stand in the order in which they were read."""
        plain = {key: getattr(self, key) if key in KEYS else self.others[key] for key in self.keys}
        required = {name: getattr(self, name) for name in PARTS if getattr(self, name) is not None}
        parts = (
            ('metric', self.has_metric),
            ('dates', self.dates),
            ('hours', any(column['categories'] for column in self.dates)),
            ('target', self.is_log),
            ('leaves', self.has_leaves),
        )
        others = [name for name, present in parts if present]
        return {**plain, 'requires': [*required, *others], **required}

    @property
    def column_names(self) -> list[str] | None:
        """Return the names of the columns of the training that are features, None where they had none."""
        return self.parameters.get('input', {}).get('names')

    @property
    def n_columns(self) -> int:
        """Return how many columns of the rows are features, or became some."""
        if self.encoding is None:
            return self.n_features
        return len(self.encoding['columns'])

    @property
    def target_names(self) -> list[str]:
        """Return the names of several targets; none of a model with one label or target."""
        return list((self.targets or {}).get('names', []))

    @property
    def separator(self) -> str | None:
        """Return what stands between the labels of a row, None where a row has one label."""
        return (self.targets or {}).get('separator')

    @property
    def has_metric(self) -> bool:
        """Tell whether rows pass a learned metric, in one machine at least."""
        return any(
            parameters.get('metric', 'none') != 'none' for parameters in (self.parameters, *(self.members or ()))
        )

    @property
    def dates(self) -> list[Mapping[str, Any]]:
        """Return the columns of the rows that hold dates."""
        return [column for column in (self.encoding or {'columns': []})['columns'] if column['kind'] == DATE]

    @property
    def is_log(self) -> bool:
        """Tell whether decision values are logarithms of targets."""
        options = self.parameters.get('input')
        return isinstance(options, dict) and options.get('target') == 'log'

    @property
    def has_leaves(self) -> bool:
        """Tell whether leaves of trees are nodes, in one machine at least."""
        return any(has_leaves(parameters.get('map', '')) for parameters in (self.parameters, *(self.members or ())))

    @property
    def nu_name(self) -> str:
        """Name the parameter that weighs the errors: C of the elm, which has no bias, else nu."""
        if self.method == 'elm':
            return 'C'
        return 'nu'

    def change_parameters(self, **values: object) -> 'ModelHeader':
        """Return a header with other values of some parameters."""
        return replace(self, parameters={**self.parameters, **values})


def make_event(action: str, n_rows: int, rejected: dict | None = None) -> dict:
    """Describe an action on a model; SOURCE_DATE_EPOCH, where it is set, is the time of it."""
    now = float(os.environ.get('SOURCE_DATE_EPOCH', time.time()))
    return {
        'action': action,
        'rows_used': n_rows,
        'rows_rejected': rejected or {},
        'when': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(now)),
    }


def extend_history(history: list, event: dict) -> list:
    """Return a history with one more event, the oldest but the first dropped when there are too many."""
    return history[:1] + [*history[1:], event][-100:]
