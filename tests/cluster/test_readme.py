"""The blocks of the manual for a Hadoop, as they are printed there, but for starting and stopping it."""

import doctest

import pytest
from reference.manual import ROOT, blocks_of, commands_on_hadoop, read_page, run_script

pytestmark = pytest.mark.long
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture
def reader(cluster, tmp_path, monkeypatch):
    """Return a function that runs a script as a reader would, in a folder with the cluster's files."""
    monkeypatch.chdir(tmp_path)
    for name in ('MAKELEVEL', 'MAKEFLAGS', 'MFLAGS'):  # of a `make` that runs the tests
        monkeypatch.delenv(name, raising=False)
    for name in ('hadoop-conf', 'Makefile'):
        (tmp_path / name).symlink_to(ROOT / name)

    def run(script):
        return run_script(
            script,
            tmp_path,
            HADOOP_HOME=str(cluster.home),
            PORT_BASE=str(cluster.port),
            HADOOP_STATE=str(tmp_path / 'another'),
            XDG_DATA_HOME=str(tmp_path / 'data'),
        )

    yield run
    cluster.remove('/data', '/models')


def scripts_of(page):
    """List the scripts of a page for a Hadoop that runs already."""
    return [
        ''.join(line for line in body.splitlines(keepends=True) if not line.startswith('make '))
        for tag, body in blocks_of(read_page(page))
        if tag == 'sh hadoop'
    ]


def test_the_readme_prints_the_first_run_of_the_page_on_hadoop():
    assert scripts_of('README.md')[0] == scripts_of('docs/hadoop.md')[0]


def test_the_steps_on_a_cluster_run_as_printed(here, reader, tmp_path):
    here('generate', 'twonorm', '--rows', 5000, '--features', 20, '-o', 'rows.csv')
    for script in scripts_of('docs/hadoop.md'):
        done = reader(script)
        assert done.returncode == 0, done.stderr
    assert len((tmp_path / 'labels-of-rows.txt').read_text().splitlines()) == 5000


@pytest.mark.parametrize('page', ['docs/hadoop.md', 'docs/trouble.md'])
def test_commands_on_a_cluster_print_what_is_shown(page, cluster, here, reader, tmp_path):
    here('generate', 'blobs', '--rows', 1000, '--features', 4, '--classes', 3, '-o', 'rows.csv')
    with cluster.started('train', 'pesvm', 'rows.csv', '--model', 'stopped.npz') as process:
        cluster.until((tmp_path / 'stopped.npz.work').exists)
        process.kill()
    for command, shown in commands_on_hadoop(page):
        done = reader(command)
        printed = done.stderr + done.stdout
        assert doctest.OutputChecker().check_output(shown, printed, OPTIONS), (command, printed)
