"""Take the first steps of the README with an installed program: python first_steps.py FOLDER

FOLDER holds the `mr-elm` and the `python` to try. Exits with 1 where they print something else than the manual shows.
"""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from reference.console import differences
from reference.manual import README, blocks_of, run_script, shown_commands


def run(script, folder, programs):
    """Run a script of the shell by the programs of a folder; returns what it prints. Raises CalledProcessError."""
    done = run_script(script, folder, PATH=f'{programs}:{os.environ["PATH"]}')
    done.check_returncode()
    return done.stderr + done.stdout


def main(programs):
    """Run the blocks of the section and compare; returns the exit status."""
    section = README.partition('\n## First steps\n')[2].partition('\n## ')[0]
    with tempfile.TemporaryDirectory() as folder:
        print(run('mr-elm --version', folder, programs), end='')
        for tag, body in blocks_of(section):
            if tag == 'python':
                Path(folder, 'block.py').write_text(body)
                run('python block.py', folder, programs)
            elif tag == 'console':
                for command, shown in shown_commands(body):
                    if wrong := differences(shown, run(command, folder, programs)):
                        print(f'{command}: {wrong}', file=sys.stderr)
                        return 1
                    print(f'{command}: as the manual shows')
    return 0


if __name__ == '__main__':
    sys.exit(main(Path(sys.argv[1]).resolve()))
