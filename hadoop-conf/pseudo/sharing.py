"""Java's class data sharing: classes that jobs load, laid out once in a file that each JVM then maps into its memory.

A small Streaming job is five JVMs that live for seconds and spend nearly half of their time on reading the same ten
thousand classes. Java takes the archive only where Java and the jars are those that it was made of; otherwise it reads
the jars, without a word. So an archive that is stale, damaged or missing costs time and nothing else.
"""

import contextlib
import tempfile
from collections.abc import Callable
from pathlib import Path

from pseudo import daemons, install, processes
from pseudo.errors import ClusterError
from pseudo.folders import Folders
from pseudo.settings import ClusterSettings

SECONDS = 300  # that each step may take
LOG = 'classes.out'


def is_fresh(folders: Folders, java: Path) -> bool:
    """Tell whether the archive is there and was made of these jars by this Java."""
    with contextlib.suppress(OSError):
        return folders.classes.exists() and _stamp(folders).read_text() == _made_of(folders, java)
    return False


def forget(folders: Folders) -> None:
    """Remove the archive."""
    folders.classes.unlink(missing_ok=True)
    _stamp(folders).unlink(missing_ok=True)


def make(folders: Folders, settings: ClusterSettings, java: Path, say: Callable[[str], None]) -> None:
    """Run a small job on the cluster, which is up, and archive the classes that its JVMs load.

    The cluster works without the archive: where none can be made, that is said, and no error.
    """
    say('archiving the classes of a small job, so that each later one starts sooner (once)')
    try:
        with tempfile.TemporaryDirectory(dir=folders.state / 'tmp') as name:
            _run_job(Path(name), folders, settings, java)
            _archive(Path(name), folders, java)
        _stamp(folders).write_text(_made_of(folders, java))
    except (ClusterError, OSError) as error:
        forget(folders)
        say(f'jobs will start slower, without an archive of their classes: {error}')
    finally:
        install.write_site_files(folders, daemons.site_values(folders, settings))


def _run_job(folder: Path, folders: Folders, settings: ClusterSettings, java: Path) -> None:
    """Pass a line through a Streaming job; each of its JVMs writes a list of its classes into `folder`."""
    record = f'-XX:DumpLoadedClassList={folder}/%p.list'  # %p: the id of the process
    values = daemons.site_values(folders, settings)
    install.write_site_files(folders, {**values, 'jvm.shared': record})
    client = [*daemons.jvm(folders, java), record]
    shell = [*client, 'org.apache.hadoop.fs.FsShell']
    [jar] = (folders.home / 'lib').glob(install.STREAMING_JAR)
    rows, out = f'{folder.name}.rows', f'{folder.name}.out'  # below /user/NAME in HDFS
    (folder / rows).write_text('1\n')
    for words in (
        [*shell, '-put', str(folder / rows), rows],
        [
            *client,
            'org.apache.hadoop.util.RunJar',
            str(jar),
            '-D',
            'mapreduce.job.maps=1',
            '-D',
            'mapreduce.job.reduces=1',
            '-input',
            rows,
            '-output',
            out,
            '-mapper',
            'cat',
            '-reducer',
            'cat',
        ],
        [*shell, '-rm', '-r', '-f', '-skipTrash', rows, out],
    ):
        processes.run(words, folders, java, LOG, SECONDS)


def _archive(folder: Path, folders: Folders, java: Path) -> None:
    """Let Java lay out the classes of all lists in `folder`."""
    lines = {line for file in folder.glob('*.list') for line in file.read_text().splitlines(keepends=True)}
    names, new = folder / 'classes', folder / 'classes.jsa'
    names.write_text(''.join(sorted(line for line in lines if line.endswith('\n'))))  # a JVM may end in mid-line
    # Only G1 lays out the objects of the JDK too; other collectors can read them.
    processes.run(
        [
            str(java / 'bin' / 'java'),
            '-Xshare:dump',
            '-XX:+UseG1GC',
            f'-XX:SharedClassListFile={names}',
            f'-XX:SharedArchiveFile={new}',
            '-cp',
            f'{folders.home}/lib/*',
        ],
        folders,
        java,
        LOG,
        SECONDS,
    )
    new.replace(folders.classes)


def _stamp(folders: Folders) -> Path:
    return folders.classes.with_suffix('.made-of')


def _made_of(folders: Folders, java: Path) -> str:
    modules = (java / 'lib' / 'modules').stat()
    jars = (folders.home / 'lib' / install.JARS_STAMP).read_text()
    return f'{java} {modules.st_size} {modules.st_mtime_ns}\n{jars}\n'
