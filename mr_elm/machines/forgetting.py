"""Find what a model holds of single rows, also after they left: landmarks, bounds of min-max scaling and others."""

from collections import Counter

import numpy as np

from mr_elm.features.nodes import LANDMARK_NODES
from mr_elm.machines.shared_options import ROWS
from mr_elm.model.base import Model
from mr_elm.model.models import HiddenNodeModel, KernelModel, NodeModel
from mr_elm.sums.statistics import ColumnStatistics

# what stems from single rows
ROW_PARTS = {
    'support_vectors': 'rows of the training, scaled',
    'landmarks': 'rows of the training, scaled',
    'tree_thresholds': 'numbers between the values of a feature in two rows of a sample',
    'sums': 'classes of one row, whose sums are the node outputs of this row',
    'parts': 'parts, or classes of a part, of one row, whose sums are its own',
    'scaling': 'smallest and largest values of features, each of a row',
    'encoding': 'names of categories, of which a rare one may be of a single row',
    'threshold': 'a number between the probabilities of two rows',
    'interval_residuals': 'errors, each of a row',
}


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
    counts: Counter[str] = Counter()
    for member in model.members:
        if isinstance(member, KernelModel):
            counts['support_vectors'] += len(member.arrays['dual_coef'])
        elif isinstance(member, HiddenNodeModel):
            if keeps_rows(member):
                counts['landmarks'] += member.layer.nodes.n_hidden
            counts['tree_thresholds'] += int((member.arrays.get('tree_features', np.zeros(0)) >= 0).sum())
            if member.sums and model.numeric:
                counts['parts'] += [part['rows'] for part in member.header.parameters.get('parts', ())].count(1)
            elif member.sums:
                counts['sums'] += int((member.sums['counts'] == 1).sum())
                counts['parts'] += int((member.sums.get('parts/counts', np.zeros(0)) == 1).sum())
    n_indicators = 0
    if model.encoding is not None:
        n_indicators = int(model.encoding.indicators.sum())
        counts['encoding'] = sum(len(column.categories) for column in model.encoding.columns)
    if model.header.parameters['scale'] == 'minmax':
        counts['scaling'] = 2 * (model.n_features - n_indicators)
    counts['threshold'] = int(model.header.threshold is not None)
    counts['interval_residuals'] = model.arrays.get('interval_residuals', np.zeros(0)).size
    return {part: (counts[part], what) for part, what in ROW_PARTS.items() if counts[part]}
