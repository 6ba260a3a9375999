"""Say what the columns of a model's rows are, for those who write the model for other programs."""

import numpy as np

from mr_elm.model.base import Model
from mr_elm.rows.encoding import Column

KNOWN = ('metric', 'encoding', 'calibration', 'threshold', 'targets', 'target', 'members', 'leaves', 'dates')


def demand_known(model: Model) -> None:
    """Raise ValueError where a model requires what other programs cannot be told yet."""
    unknown = [name for name in model.header.to_json()['requires'] if name not in KNOWN]
    if unknown:
        raise ValueError(
            f'export: expected a model of {", ".join(KNOWN)} at most, it requires {", ".join(unknown)}, '
            'which other programs cannot be told: predict with mr-elm, or train without these'
        )


def columns_of(model: Model) -> list[Column] | None:
    """Return the columns of the rows; None where they are numbers without names. A missing number may have no mean."""
    if model.encoding is not None:
        return list(model.encoding.columns)
    names = model.header.column_names
    if names is None:
        return None
    return [Column(name, mean=np.nan) for name in names]
