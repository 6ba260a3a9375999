"""Find what a model would still hold of rows that leave: landmarks, and the bounds of min-max scaling."""
from mr_elm.errors import AccountingError
from mr_elm.features.nodes import LANDMARK_NODES
from mr_elm.machines.option_fields import ROWS
from mr_elm.model.models import HiddenNodeModel, NodeModel
from mr_elm.sums.statistics import ColumnStatistics

NEAR = 1e-9  # of a bound, where scaled features go from -1 to 1


def keeps_rows(model: HiddenNodeModel) -> bool:
    """Tell whether the nodes of a model are rows of a training."""
    return model.layer.kind in LANDMARK_NODES.values() and model.header.parameters.get('landmarks', ROWS) == ROWS


def demand_unstored(n_stored: int, n_rows: int) -> None:
    """Raise AccountingError when a model keeps n_stored of the n_rows rows that are to leave."""
    if n_stored:
        raise AccountingError(f'cannot forget {n_stored:,} of these {n_rows:,} rows: they are landmarks, so the model '
                              'would still hold their features: train again without these rows, or once with '
                              '--landmarks synthetic, which keeps no row')


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
    n_bounds = int((scaled & ((low <= NEAR - 1) | (high >= 1 - NEAR))).sum())
    if not n_bounds:
        return ''
    return (f'rows that leave have the smallest or the largest value of {n_bounds:,} features, which the model keeps '
            'for min-max scaling: these values stay readable; train again without these rows, or with --scale standard')
