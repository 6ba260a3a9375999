"""Where everything of a cluster is kept: one folder."""

import fcntl
import hashlib
import os
import pwd
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pseudo.errors import ClusterError

CONF = Path(__file__).resolve().parent.parent
PROJECT = CONF.parent
_PLAIN_PATH = re.compile(r'[A-Za-z0-9_./+@-]+')


class Folders:
    """The folders of one cluster.

    `named` is the folder the user knows, build/hadoop. `state` is where its files are: the same, unless the name
    has a space, a quote or another character that Hadoop cannot take (it writes paths unquoted into the shell commands
    of its containers, and loses its own jars below them). Then `named` is a symbolic link to a folder in the cache.
    """

    def __init__(self, named: str | Path | None = None) -> None:
        named = Path(os.path.abspath(named or PROJECT / 'build' / 'hadoop'))
        self.named = named.parent.resolve() / named.name
        self.state = self.named if _PLAIN_PATH.fullmatch(str(self.named)) else _in_cache(self.named)
        self.home = self.state / 'home'
        self.classes = self.home / 'classes.jsa'
        self.logs = self.state / 'logs'
        self.pids = self.state / 'pids'
        self.hdfs = self.state / 'hdfs'
        self.settings = self.state / 'settings.json'

    def prepare(self) -> None:
        """Make the folders."""
        for folder in (self.home, self.logs, self.pids, self.hdfs, self.state / 'tmp'):
            folder.mkdir(parents=True, exist_ok=True)
        if self.named != self.state:
            self._link()

    def _link(self) -> None:
        """Let `named` lead to `state`; a link that leads elsewhere came along when the project was copied."""
        self.named.parent.mkdir(parents=True, exist_ok=True)
        if self.named.is_symlink():
            self.named.unlink()
        try:
            self.named.symlink_to(self.state)
        except FileExistsError:
            raise ClusterError(
                f'{self.named} should be a link to {self.state}, because Hadoop cannot take its name; '
                'remove the folder that is there.'
            ) from None

    def register(self) -> None:
        """Name this cluster where `mr-elm -r hadoop` looks for one, whatever folder it is called in."""
        file = _state_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(str(self.named / 'home'), encoding='utf-8')

    def unregister(self) -> None:
        """Take back what `register` wrote, unless another cluster was started since."""
        file = _state_file()
        if file.exists() and file.read_text(encoding='utf-8') == str(self.named / 'home'):
            file.unlink()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Let one command at a time change the cluster; the others wait."""
        self.state.mkdir(parents=True, exist_ok=True)
        with open(self.state / 'lock', 'w') as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def user() -> str:
    """Return the name HDFS knows this user by: the system's, whatever LOGNAME says."""
    return pwd.getpwuid(os.geteuid()).pw_name


def _state_file() -> Path:
    """Return the file of this user that mr_elm.rows.hdfs reads."""
    return Path(os.environ.get('XDG_DATA_HOME') or Path.home() / '.local' / 'share') / 'mr-elm' / 'hadoop-home'


def _in_cache(named: Path) -> Path:
    digest = hashlib.sha256(os.fsencode(named)).hexdigest()[:12]
    for base in (os.environ.get('XDG_CACHE_HOME'), Path.home() / '.cache', tempfile.gettempdir()):
        if base and _PLAIN_PATH.fullmatch(str(base)):
            return Path(base).resolve() / 'mr-elm' / f'hadoop-{digest}'
    raise ClusterError(f'Hadoop cannot take the name {str(named)!r}; give it a plain one with --state.')
