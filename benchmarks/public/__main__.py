"""Fetch public data sets: python -m benchmarks.public NAME... [--to DIR]."""
import sys

from benchmarks.public.download import main

sys.exit(main())
