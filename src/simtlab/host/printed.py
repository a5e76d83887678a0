"""What the kernels of a launch have printed: as much as a buffer of fixed size holds, the latest of it, block by block."""

import sys
import warnings

PRINTF_BYTES = 1 << 20  # as CUDA has it: cudaLimitPrintfFifoSize
COST_OF_A_CALL = 64  # that even an empty text has


class Printed:
    """The text of each CTA. Where it is more than the buffer holds, the first of it is lost, in the order in which it is shown.

    That order is by CTA, so what is lost does not depend on which host thread ran what first.
    """

    def __init__(self, limit: int):
        self.limit = limit
        self.lost = 0  # characters
        self._parts: dict[int, list[str]] = {}  # by CTA
        self._held = 0  # a little more than the characters in it

    def add(self, cta: int, text: str) -> None:
        self._parts.setdefault(cta, []).append(text)
        self._held += len(text) + COST_OF_A_CALL
        if self._held > 2 * self.limit + COST_OF_A_CALL:
            self._shrink()

    def _shrink(self) -> None:
        """Keep the last `limit` characters."""
        kept, room = {}, self.limit
        for cta in sorted(self._parts, reverse=True):
            text = "".join(self._parts[cta])
            left = text[max(len(text) - room, 0) :]
            self.lost += len(text) - len(left)
            room -= len(left)
            if left:
                kept[cta] = [left]
        self._parts, self._held = kept, self.limit - room

    def text(self) -> str:
        self._shrink()
        return "".join(self._parts[cta][0] for cta in sorted(self._parts))

    def show(self, kernel: str, aloud: bool = True) -> str:
        """Print it, if so wanted, and give it."""
        text = self.text()
        if text and aloud:
            sys.stdout.write(text)
            sys.stdout.flush()
        if self.lost:
            sentence = f"kernel '{kernel}' printed more than its buffer of {self.limit} bytes holds: the first {self.lost} are lost"
            warnings.warn(f"{sentence}; Gpu(printf_bytes=…) makes it larger", RuntimeWarning, stacklevel=2)
        return text
