"""Model files: exact, whole or not at all, and never code."""

import errno
import json
import os
import resource

import numpy as np
import pytest

from mr_elm.errors import ModelFormatError, TaskError, describe_error
from mr_elm.store import FORMAT, VERSION, load_arrays, replace_file, save_arrays

ARRAYS = {
    'a': np.array([0.0, -0.0, 5e-324, 1e308, np.nan, np.inf]),
    'b': np.arange(6.0).reshape(2, 3).T,
    'empty': np.zeros((0, 3)),
    'scalar': np.array(2.5),
    'whole': np.arange(3),
}
HEADER = {'method': 'pesvm', 'classes': ['città', ' ', '\t"'], 'n': 2**60, 'nested': {'x': [1.5, None]}}


def test_what_is_saved_is_loaded_bit_for_bit_under_exactly_the_name_given(tmp_path):
    path = tmp_path / "a 'model' é.bin"
    save_arrays(path, HEADER, ARRAYS)
    header, arrays = load_arrays(path)
    assert os.listdir(tmp_path) == [path.name]
    assert header == {**HEADER, 'format': FORMAT, 'version': VERSION}
    assert {k: (a.shape, a.dtype, a.tobytes()) for k, a in arrays.items()} == {
        k: (a.shape, a.dtype, a.tobytes()) for k, a in ARRAYS.items()
    }


def test_a_failing_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / 'model.npz'
    save_arrays(path, HEADER, ARRAYS)
    before = path.read_bytes()
    with pytest.raises(KeyboardInterrupt), replace_file(path) as stream:
        stream.write(b'half of')
        raise KeyboardInterrupt
    assert path.read_bytes() == before and os.listdir(tmp_path) == ['model.npz']


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / 'model.npz'
    save_arrays(path, HEADER, {})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, limits[1]))
    try:
        with pytest.raises(OSError):
            save_arrays(path, HEADER, {'large': np.zeros(1 << 16)})
        with pytest.raises(OSError), replace_file(path) as stream:
            stream.write(bytes(1 << 12))  # waits in the buffer until the file is closed
            os.ftruncate(stream.fileno(), 0)
            stream.seek((1 << 16) - 1)
            stream.write(b'xx')
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert load_arrays(path)[0]['n'] == HEADER['n'] and os.listdir(tmp_path) == ['model.npz']


def test_the_error_of_a_full_disk_names_the_file_and_what_to_do(tmp_path):
    device = tmp_path / 'full device'
    device.symlink_to('/dev/full')
    with pytest.raises(OSError) as caught, replace_file(device) as stream:
        stream.write(b'0' * 10_000)
    assert describe_error(caught.value).startswith(f'{device}: No space left on device: free space')


def test_a_full_disk_of_a_task_comes_with_the_same_advice():
    error = TaskError(f'MRGram: OSError: {OSError(errno.ENOSPC, "No space left on device")} (map task 0)')
    assert describe_error(error, ' (--debug shows where)') == (
        'TaskError: MRGram: OSError: [Errno 28] No space left on device (map task 0): free space, or raise the limit '
        '(temporary files are in TMPDIR, mr-elm clean removes old ones) (--debug shows where)'
    )


def test_the_new_file_appears_only_when_it_is_complete(tmp_path):
    path = tmp_path / 'out'
    with replace_file(path) as stream:
        stream.write(b'new')
        assert not path.exists()
    assert path.read_text() == 'new'


def test_a_folder_is_not_replaced(tmp_path):
    (tmp_path / 'model').mkdir()
    with pytest.raises(OSError):
        save_arrays(tmp_path / 'model', HEADER, ARRAYS)
    assert os.listdir(tmp_path) == ['model']


class Trap:
    """Leave a trace when it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize('name', ['header', 'weights'])
def test_a_pickle_in_a_model_is_refused_and_never_run(name, tmp_path):
    header = np.array(json.dumps({'format': FORMAT, 'version': VERSION}))
    np.savez(tmp_path / 'm.npz', **{'header': header, name: np.array([Trap(tmp_path / 'sprung')], object)})
    with pytest.raises(ModelFormatError, match=r'm\.npz'):
        load_arrays(tmp_path / 'm.npz')
    assert not (tmp_path / 'sprung').exists()


def npz(**arrays):
    return lambda path: np.savez(path, **arrays)


OTHERS = {
    'another npz': npz(a=np.ones(3)),
    'header of numbers': npz(header=np.ones(3)),
    'header of other text': npz(header='x'),
    'header that is a list': npz(header='[1]'),
    'header of another program': npz(header=json.dumps({'format': 'other', 'version': VERSION})),
    'later version': npz(header=json.dumps({'format': FORMAT, 'version': 99})),
    'text': lambda path: path.write_text('1,2,3\n'),
    'empty': lambda path: path.write_bytes(b''),
    'npy': lambda path: np.save(path, np.ones(3)),
    'zip of something else': lambda path: path.write_bytes(b'PK\5\6' + bytes(18)),
}


@pytest.mark.parametrize('kind', OTHERS)
def test_what_is_no_model_is_refused_by_name(kind, tmp_path):
    path = tmp_path / ('m.npy' if kind == 'npy' else 'm.npz')
    OTHERS[kind](path)
    with pytest.raises(ModelFormatError, match='m.np'):
        load_arrays(path)


def test_a_missing_model_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_arrays(tmp_path / 'm.npz')


def test_a_cut_model_is_refused_wherever_it_is_cut(tmp_path):
    path = tmp_path / 'm.npz'
    save_arrays(path, HEADER, {'a': np.arange(3.0)})
    data = path.read_bytes()
    for length in range(0, len(data), 7):
        path.write_bytes(data[:length])
        with pytest.raises(ModelFormatError):
            load_arrays(path)


def test_an_altered_byte_never_changes_a_number_unseen(tmp_path):
    path = tmp_path / 'm.npz'
    save_arrays(path, HEADER, {'a': np.arange(3.0)})
    data, whole = path.read_bytes(), load_arrays(path)
    for place in range(0, len(data), 2):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        try:
            header, arrays = load_arrays(path)
            assert header == whole[0]
            assert 'a' not in arrays or np.array_equal(arrays['a'], whole[1]['a'])
        except (ModelFormatError, OSError):
            pass
