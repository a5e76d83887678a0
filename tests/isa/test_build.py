"""Object files of native functions."""

from simtlab.isa.build import _Library
from simtlab.isa.shape import Shape

ADD, SUB = Shape("add.s32", "wwi"), Shape("sub.s32", "wwi")


def library_in(folder) -> _Library:
    library = _Library()
    library.directory = folder
    return library


def test_what_is_on_disk_is_loaded_and_not_compiled(tmp_path):
    library_in(tmp_path).provide([ADD])
    library = library_in(tmp_path)
    library._compile = None  # which a call would not survive
    assert library.provide([ADD])[ADD] != 0


def test_a_file_that_was_deleted_after_its_index_was_read_is_made_anew(tmp_path):
    library_in(tmp_path).provide([ADD])
    library_in(tmp_path).provide([SUB])
    library = library_in(tmp_path)
    library.provide([ADD])
    for file in tmp_path.iterdir():
        file.unlink()
    assert library.provide([SUB])[SUB] != 0
    assert any(file.suffix == ".o" for file in tmp_path.iterdir())
