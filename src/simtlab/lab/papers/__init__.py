"""The studies that `simtlab paper` knows: a file each, with a `STUDY`."""
