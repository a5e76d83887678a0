"""Cube maps: which face a direction meets, and where."""

import numpy as np

from simtlab.compiled import compiled

HALF_PLACES = 20  # of a face's normalised coordinates the centre has this many places on either side
SMALLEST = 2.0**-126  # a smaller quotient is zero


@compiled
def as_float(bits):
    return np.float64(np.uint32(bits).view(np.float32))


@compiled
def face_of(x, y, z):
    """0 to 5 for +x -x +y -y +z -z: the largest component; z goes before y and y before x where they are equal."""
    if abs(z) >= abs(x) and abs(z) >= abs(y):
        return 4 if z >= 0 else 5
    if abs(y) >= abs(x):
        return 2 if y >= 0 else 3
    return 0 if x >= 0 else 1


@compiled
def along(face, axis, x, y, z):
    """The component of the direction that runs along an axis of the face, before it is divided by the largest one."""
    if face < 2:
        across = z if face == 1 else -z
    else:
        across = -x if face == 5 else x
    if face == 2 or face == 3:
        down = z if face == 2 else -z
    else:
        down = -y
    return across if axis == 0 else down


@compiled
def face_coordinate(face, axis, x, y, z, divided):
    """The face's normalised coordinate as a fixed-point number with 21 places. Machine code has divided by the largest."""
    largest = max(abs(x), abs(y), abs(z))
    middle = np.int64(1) << HALF_PLACES
    if not 0 < largest < np.inf:
        return middle
    quotient = along(face, axis, x, y, z) / (1.0 if divided else largest)
    return middle if abs(quotient) < SMALLEST else np.int64(np.floor(quotient * middle)) + middle
