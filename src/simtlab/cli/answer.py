"""How a command ends: its answer on stdout, or one message on stderr and an exit status."""

import io
import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import typer

from simtlab.errors import CompileError, CycleLimit, Deadlock, DeviceFault, SimtlabError
from simtlab.lab.errors import StoreWarning
from simtlab.outside import told
from simtlab.workloads.errors import WrongResult

if TYPE_CHECKING:
    from rich.console import Console

FAULT, BAD_INPUT, INTERRUPTED = 1, 2, 130


class BadInput(SimtlabError):
    """A command line or a file that asks for something impossible."""


class Answer(Protocol):
    """What a command found out."""

    def as_json(self) -> dict[str, Any]: ...

    def show(self, console: "Console") -> None: ...


class Stopped(KeyboardInterrupt):
    """Ctrl-C, with what had been found out by then."""

    def __init__(self, answer: Answer):
        self.answer = answer
        super().__init__()


def answer(work: Callable[[], Answer], as_json: bool) -> None:
    """Do the work and show its answer. As JSON, nothing else reaches stdout, not even what a kernel prints."""
    printed = io.StringIO()
    try:
        with warnings_told(), redirect_stdout(printed) if as_json else nullcontext():
            found = work()
        tell(found, as_json)
        status = getattr(found, "status", 0)  # an answer may say that not all went well
        stopped_by = getattr(found, "error", "")  # or what stopped it before its end
        if stopped_by:
            typer.echo(f"error: {stopped_by}", err=True)
    except Stopped as stop:
        tell(stop.answer, as_json)
        raise typer.Exit(INTERRUPTED) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except SimtlabError as error:
        fail(error, printed.getvalue() if as_json else None)
    except MemoryError:
        fail(BadInput("this machine has not enough memory for that"), printed.getvalue() if as_json else None)
    except (Exception, SystemExit) as error:  # of a user's own code; anything else is a mistake of simtlab's
        sentence = told(error)
        if sentence is None:
            raise
        fail(BadInput(sentence), printed.getvalue() if as_json else None)
    else:
        if status:
            raise typer.Exit(status)


@contextmanager
def warnings_told() -> Iterator[None]:
    """Warnings about a store in one line each, as errors are, and each once."""
    show, said = warnings.showwarning, set()

    def say(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, StoreWarning):
            if str(message) not in said:
                typer.echo(f"warning: {message}", err=True)
            said.add(str(message))
        else:
            show(message, category, *place, **more)

    with warnings.catch_warnings():
        warnings.simplefilter("always", StoreWarning)
        warnings.showwarning = say
        yield


def tell(found: Answer, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(found.as_json(), indent=2, allow_nan=False))
        return
    from rich.console import Console

    found.show(Console(highlight=False, markup=False, emoji=False))


def fail(error: SimtlabError, printed: str | None) -> NoReturn:
    """Report an error; `printed` is what the kernel had printed if stdout is to have JSON."""
    text = str(error)
    if printed is not None:
        typer.echo(json.dumps({"error": text, "printed": printed}, indent=2))
    if isinstance(error, CompileError) and "\n" in text:
        text = f"the CUDA compiler refused the source\n{text}"
    typer.echo(f"error: {text}", err=True)
    raise typer.Exit(FAULT if isinstance(error, DeviceFault | Deadlock | CycleLimit | WrongResult) else BAD_INPUT)
