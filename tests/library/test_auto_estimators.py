"""The estimators that choose their machines have scikit-learn's interface."""
import pytest
from sklearn.utils.estimator_checks import check_estimator

from mr_elm.estimators import AutoClassifier, AutoRegressor

# rows that are held out choose the machines: a row of weight 2 is held out or not, two rows may be parted
CHOSEN_BY_ROWS = dict.fromkeys(('check_sample_weight_equivalence_on_dense_data',
                                'check_sample_weight_equivalence_on_sparse_data'), 'rows choose the machines')


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('estimator', [AutoClassifier(), AutoRegressor(), AutoClassifier(keep_sums=True)], ids=repr)
def test_scikit_learn_finds_no_fault(estimator):
    found = check_estimator(estimator, expected_failed_checks=CHOSEN_BY_ROWS, on_fail=None)
    assert [(row['check_name'], row['exception']) for row in found if row['status'] == 'failed'] == []
