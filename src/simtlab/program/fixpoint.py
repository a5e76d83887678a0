"""The least solution of equations that ask for one another's answers, loops included."""

from collections.abc import Callable
from typing import Generic, TypeVar

Key = TypeVar("Key")
Answer = TypeVar("Answer")


class Fixpoint(Generic[Key, Answer]):
    """Answers by key. `evaluate(key)` may call `so_far` for other keys, or for its own; answers may only grow."""

    def __init__(self, evaluate: Callable[[Key], Answer], least: Answer, grew: Callable[[Answer, Answer], bool]):
        self._evaluate, self._least, self._grew = evaluate, least, grew
        self._answers: dict[Key, Answer] = {}
        self._open: list[Key] = []  # whose answers may still grow; the others ask for none of these

    def so_far(self, key: Key) -> Answer:
        """What is known of an answer; asking for a new one makes it known that it is wanted."""
        if key not in self._answers:
            self._answers[key] = self._least
            self._open.append(key)
        return self._answers[key]

    @property
    def is_settled(self) -> bool:
        return not self._open

    def settle(self) -> None:
        """Evaluate until nothing grows any more. What was asked for last is what others wait for: it goes first."""
        settled = False
        while not settled:
            wanted = len(self._open)
            settled = True
            for key in self._open[::-1]:
                answer = self._evaluate(key)
                if self._grew(self._answers[key], answer):
                    self._answers[key] = answer
                    settled = False
            settled = settled and len(self._open) == wanted
        self._open.clear()
