"""Find what a model holds of single rows, also after they left: landmarks, bounds of min-max scaling and others."""

import numpy as np

from mr_elm.features.nodes import LANDMARK_NODES
from mr_elm.machines.shared_options import ROWS
from mr_elm.model.base import Model
from mr_elm.model.models import HiddenNodeModel, KernelModel, NodeModel
from mr_elm.rows.encoding import CATEGORY
from mr_elm.sums.statistics import ColumnStatistics


def keeps_rows(model: HiddenNodeModel) -> bool:
    """Tell whether the nodes of a model are rows of a training."""
    return model.layer.kind in LANDMARK_NODES.values() and model.header.parameters.get('landmarks', ROWS) == ROWS


def warn_of_bounds(model: NodeModel, leaving: ColumnStatistics) -> str:
    """Return a warning where rows that leave have the smallest or largest value by which min-max scales, else ''."""
    if model.header.parameters['scale'] != 'minmax':
        return ''
    layer = model.members[0].layer
    leaving = leaving.widen(layer.n_features)
    low, high = ((bound - layer.offset) * layer.scale for bound in (leaving.minimum, leaving.maximum))
    scaled = layer.scale > 0
    if model.encoding is not None:
        scaled &= ~model.encoding.indicators
    rounding = 1e-9  # of bounds at -1 and 1
    n_bounds = int((scaled & ((low <= rounding - 1) | (high >= 1 - rounding))).sum())
    if not n_bounds:
        return ''
    return (
        f'rows that leave have the smallest or the largest value of {n_bounds:,} features, which the model keeps '
        'for min-max scaling: these values stay readable; train again without these rows, or with --scale standard'
    )


def list_row_parts(model: Model) -> dict[str, tuple[int, str]]:
    """List what in a model, and in its sums where these were read, stems from single rows: part -> (how many, what).

    It is empty for random nodes on numbers that are scaled by mean and deviation.
    """
    parts: dict[str, tuple[int, str]] = {}

    def add(part: str, n: int, what: str) -> None:
        if n:
            parts[part] = parts.get(part, (0, ''))[0] + n, what

    for member in model.members:
        if isinstance(member, KernelModel):
            add('support_vectors', len(member.arrays['dual_coef']), 'rows of the training, scaled')
        elif isinstance(member, HiddenNodeModel):
            add('landmarks', member.layer.nodes.n_hidden if keeps_rows(member) else 0, 'rows of the training, scaled')
            inner = member.arrays.get('tree_features', np.zeros(0)) >= 0
            add('tree_thresholds', int(inner.sum()), 'numbers between the values of a feature in two rows of a sample')
            counts = rows_of_parts = np.zeros(0)
            if member.sums and model.numeric:
                rows_of_parts = np.array([part['rows'] for part in member.header.parameters.get('parts', ())])
            elif member.sums:
                counts = member.sums['counts']
                rows_of_parts = member.sums.get('parts/counts', rows_of_parts)
            add('sums', int((counts == 1).sum()), 'classes of one row, whose sums are the node outputs of this row')
            add(
                'parts',
                int((rows_of_parts == 1).sum()),
                'parts, or classes of a part, of one row, whose sums are its own',
            )
    if model.header.parameters['scale'] == 'minmax':
        if model.encoding is None:
            indicators = 0
        else:
            indicators = int(model.encoding.indicators.sum())
        add('scaling', 2 * (model.n_features - indicators), 'smallest and largest values of features, each of a row')
    for column in () if model.encoding is None else model.encoding.columns:
        if column.kind == CATEGORY:
            add('encoding', len(column.categories), 'names of categories, of which a rare one may be of a single row')
    add('threshold', int(model.header.threshold is not None), 'a number between the probabilities of two rows')
    add('interval_residuals', model.arrays.get('interval_residuals', np.zeros(0)).size, 'errors, each of a row')
    return parts
