"""python -m mr_elm: the command mr-elm."""

import sys

from mr_elm.cli import main

if __name__ == '__main__':  # and not where a tool imports all modules
    sys.exit(main())
