"""What a job has written is read whole, or refused by name."""

import numpy as np
import pytest

from mr_elm.errors import DataFormatError
from mr_elm.passes.data_set import JobOutput
from mr_elm.rows.accounting import Accounts
from mr_elm.rows.inputs import InputPlan
from mr_elm.rows.wire import WireProtocol
from mr_elm.streaming.mr_gram import MRGram

LINE = WireProtocol().write('sum a', [np.arange(3.0), np.zeros(3)]) + b'\n'


def read(folder):
    return list(JobOutput(MRGram, str(folder)).pairs(Accounts(InputPlan([]))))


def test_parts_are_read_in_order_and_other_files_are_not(write, tmp_path):
    write('part-00001', LINE.replace(b'sum a', b'sum b').rpartition(b'\t')[0] + b'\n')
    write('part-00000', LINE)
    write('part-00002', b'')
    write('_SUCCESS', b'no line')
    assert [key for key, _ in read(tmp_path)] == ['sum a', 'sum b']


@pytest.mark.parametrize('length', range(1, len(LINE)))
def test_a_part_that_is_cut_is_refused_wherever_it_is_cut(write, tmp_path, length):
    write('part-00000', LINE + LINE[:length])
    with pytest.raises(DataFormatError, match='part-00000: expected whole lines|damaged'):
        read(tmp_path)
