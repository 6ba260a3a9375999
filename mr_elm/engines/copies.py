"""Let tasks on this machine read files from elsewhere, and text that is parsed once."""

import os
import shutil
import tempfile
from dataclasses import replace
from functools import cached_property

from mr_elm.engines.base import Engine
from mr_elm.passes.work import copy_name
from mr_elm.rows.inputs import InputFile, InputPlan
from mr_elm.rows.kinds import find_kind
from mr_elm.rows.storage import copy
from mr_elm.store import temporary_folder

ROOM_FACTOR = 8  # times the bytes of the input must be free for parsed rows: compressed text grows


class LocalCopies(Engine):
    """Keep copies on the disk of this machine, which all tasks share."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Remove the copies."""
        if 'copies' in self.__dict__:
            self.copies.cleanup()

    @cached_property
    def copies(self) -> tempfile.TemporaryDirectory:
        """Return a folder of this machine for copies of files that tasks here cannot read where they are."""
        return temporary_folder()

    def bring(self, file: InputFile) -> str:
        """Copy a file to this machine, once; returns where it is."""
        path = os.path.join(self.copies.name, copy_name(file))
        if not os.path.exists(path):
            copy(file.path, path)
        return path

    def keep_parsed(self, plan: InputPlan) -> InputPlan:
        """Return the plan with a folder for parsed rows, unless the rows are binary or the disk has little room."""
        room = shutil.disk_usage(tempfile.gettempdir()).free
        if find_kind(plan.form.kind).reader is not None or ROOM_FACTOR * plan.size > room:
            return plan
        return replace(plan, parsed=tempfile.mkdtemp(dir=self.copies.name))
