"""Hold what a model file says of a model beside its arrays."""
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

KEYS = ('method', 'task', 'classes', 'n_features', 'n_rows_used', 'n_rows_rejected', 'parameters', 'history')


@dataclass(frozen=True)
class ModelHeader:
    """Hold the header of a model; `dataclasses.replace` makes a changed one.

    method : as in `mr-elm train METHOD`. task : classification or regression.
    classes : names in class order, empty for a regression. n_features : width of the rows.
    parameters : name -> value, those of the method and of its solver.
    n_rows_used, n_rows_rejected : rows of the training. history : list of events, see `mr_elm.history`.
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
    others: Mapping[str, Any] = field(default_factory=dict, compare=False)
    keys: tuple[str, ...] = field(default=KEYS, compare=False, repr=False)

    @classmethod
    def from_json(cls, header: Mapping[str, Any]) -> 'ModelHeader':
        """Read the JSON object of a model file. Raises KeyError when a key is missing."""
        return cls(**{key: header[key] for key in KEYS}, keys=tuple(header),
                   others={key: value for key, value in header.items() if key not in KEYS})

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object, whose keys stand in the order in which they were read."""
        return {key: getattr(self, key) if key in KEYS else self.others[key] for key in self.keys}

    def change_parameters(self, **values: object) -> 'ModelHeader':
        """Return a header with other values of some parameters."""
        return replace(self, parameters={**self.parameters, **values})
