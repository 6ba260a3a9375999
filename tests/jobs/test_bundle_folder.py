"""bundle looks at the folder of the archive before it builds one."""

import pytest

from mr_elm.engines import bundle


@pytest.mark.parametrize('folder', ['none', 'none/below', 'file'])
def test_a_folder_that_is_none_is_refused_at_once(elm, write, tmp_path, monkeypatch, folder):
    write('file', '')
    monkeypatch.setattr(bundle, 'built', lambda *_: pytest.fail('it was built'))
    done = elm('bundle', '-o', tmp_path / folder)
    assert done.status == 1 and f'the folder {tmp_path / folder} does not exist' in done.err
    assert done.err.count('\n') == 1 and [path.name for path in tmp_path.iterdir()] == ['file']
