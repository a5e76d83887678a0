"""Mutations of PTX text: what a mistaken program generator, a damaged file or a hostile user might give."""

import random
import re
from collections.abc import Callable

TOKEN = re.compile(r'"[^"\n]*"|[A-Za-z_$%][\w$]*(?:\.\w+(?:::\w+)*)*|\.[A-Za-z_]\w*|\d\w*|[^\w\s]')
NUMBER = re.compile(r"(?<![\w.%$])-?(?:0[xX][0-9A-Fa-f]+|0[fF][0-9A-Fa-f]{8}|0[dD][0-9A-Fa-f]{16}|\d+)\b")
REGISTER = re.compile(r"%[A-Za-z_]\w*")
TYPE = re.compile(r"\.(?:[usb](?:8|16|32|64)|b128|f16x2|bf16x2|f16|bf16|tf32|f32|f64|pred)\b")
TYPES = [f".{letter}{bits}" for letter in "usb" for bits in (8, 16, 32, 64)]
TYPES += [".b128", ".f16", ".f16x2", ".bf16", ".bf16x2", ".tf32", ".f32", ".f64", ".pred", ".texref", ".surfref"]
SPACES = [".global", ".shared", ".local", ".const", ".param", ".reg", ".tex", ".extern", ".visible", ".weak"]
SPACE = re.compile(r"\.(?:global|shared|local|const|param|reg)\b")
HUGE = ["0", "1", "-1", "2", "3", "7", "8", "15", "16", "31", "32", "33", "63", "64", "255", "256", "1000", "4095", "4096",
        "65535", "65536", "1048576", "16777216", "2147483647", "2147483648", "-2147483648", "4294967295", "4294967296",
        "1099511627776", "9223372036854775807", "0x8000000000000000", "18446744073709551615", "0f7F800000",
        "0d7FF0000000000000", "1.5", "1e300"]  # fmt: skip
SPECIAL = ["%tid.x", "%ntid.y", "%ctaid.z", "%laneid", "%lanemask_lt", "%clock", "%clock64", "%globaltimer", "%gridid",
           "%warpid", "%smid", "%nctaid.x", "%dynamic_smem_size", "%envreg3", "%pm0", "WARP_SZ"]  # fmt: skip
OTHERS = ["_", "!%p1", "-%r1", "{%r1, %r2}", "{%r1, %r2, %r3}", "{%rd1, %rd2}", "{_, %r1}", "%p1|%p2", "%r1|%p1", "[%rd1]",
          "[%r1+4]", "[%rd1-8]", "[0]", "[%rd1, {%r1, %r2}]", "(%r1)", "()", "k", "in_local", "in_shared", "out", "n"]  # fmt: skip
DIRECTIVES = [".maxntid 1024", ".maxntid 1, 1, 1", ".reqntid 32", ".minnctapersm 100", ".maxnreg 16", ".noreturn",
              ".maxnctapersm 1", ".maxntid 0", ".maxnreg 0", ".pragma \"nounroll\";"]  # fmt: skip
MODIFIERS = ["rn", "rz", "ftz", "sat", "wide", "lo", "hi", "v2", "v4", "v8", "cc", "sync", "uni", "volatile", "relaxed", "gpu",
             "global", "shared", "local", "param", "const", "to", "approx", "full", "all", "any", "eq", "lt", "and", "xor",
             "aligned", "noftz", "nc", "cta", "trap", "clamp", "2d", "a1d", "cube"]  # fmt: skip


def mutant(number: int, seeds: tuple[str, ...]) -> str:
    """Mutant `number`, the same every time: a seed with mostly one thing wrong, at times with several."""
    chance = random.Random(number)
    text = chance.choice(seeds)
    for _ in range(chance.choice((1, 1, 1, 1, 2, 2, 3, 6))):
        text = chance.choice(MUTATIONS)(text, chance)
    return text


def in_some_line(change: Callable[[str, random.Random], str]) -> Callable[[str, random.Random], str]:
    """A mutation of one line, a statement most of the time."""

    def mutation(text: str, chance: random.Random) -> str:
        lines = text.split("\n")
        statements = [k for k, line in enumerate(lines) if line.rstrip().endswith(";")]
        k = chance.choice(statements) if statements and chance.random() < 0.9 else chance.randrange(len(lines))
        lines[k] = change(lines[k], chance)
        return "\n".join(lines)

    return mutation


def swapped_for(pattern: re.Pattern, others: list[str] | None = None) -> Callable[[str, random.Random], str]:
    """One match in a line exchanged for one of `others`, or for another match anywhere in the text."""

    def mutation(text: str, chance: random.Random) -> str:
        pool = others or sorted(set(pattern.findall(text))) or ["0"]

        def change(line: str, chance: random.Random) -> str:
            found = list(pattern.finditer(line))
            if not found:
                return line
            match = chance.choice(found)
            return line[: match.start()] + chance.choice(pool) + line[match.end() :]

        return in_some_line(change)(text, chance)

    return mutation


def like_register(text: str, chance: random.Random) -> str:
    """A register exchanged for another of its own class: the program stays good, and computes something else."""

    def change(line: str, chance: random.Random) -> str:
        found = list(REGISTER.finditer(line))
        if not found:
            return line
        match = chance.choice(found)
        stem = match[0].rstrip("0123456789")
        pool = [name for name in set(REGISTER.findall(text)) if name.rstrip("0123456789") == stem]
        return line[: match.start()] + chance.choice(sorted(pool)) + line[match.end() :]

    return in_some_line(change)(text, chance)


def split(line: str) -> tuple[str, list[str]]:
    """An instruction as what stands before its operands, and the operands."""
    head, _, rest = line.strip().rstrip(";").partition(" ")
    if head.startswith("@"):
        opcode, _, rest = rest.partition(" ")
        head = f"{head} {opcode}"
    operands = re.findall(r"\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|[^,\s]+", rest)
    return head, operands


def with_operands(change: Callable[[list[str], random.Random], None]) -> Callable[[str, random.Random], str]:
    def mutation(line: str, chance: random.Random) -> str:
        head, operands = split(line)
        if not operands or not line.rstrip().endswith(";"):
            return line
        change(operands, chance)
        return f"    {head} {', '.join(operands)};"

    return in_some_line(mutation)


def exchange(operands: list[str], chance: random.Random) -> None:
    a, b = chance.randrange(len(operands)), chance.randrange(len(operands))
    operands[a], operands[b] = operands[b], operands[a]


def drop(operands: list[str], chance: random.Random) -> None:
    operands.pop(chance.randrange(len(operands)))


def add(operands: list[str], chance: random.Random) -> None:
    operands.insert(chance.randrange(len(operands) + 1), chance.choice([*operands, *HUGE, *SPECIAL, *OTHERS]))


def replace(operands: list[str], chance: random.Random) -> None:
    operands[chance.randrange(len(operands))] = chance.choice([*HUGE, *SPECIAL, *OTHERS])


def wrap(operands: list[str], chance: random.Random) -> None:
    """Brackets, braces and signs around an operand."""
    k = chance.randrange(len(operands))
    inner = operands[k].strip("[]{}()")
    around = ["[{}]", "{{{}}}", "({})", "!{}", "-{}", "[{}+16]", "[{}-4]", "{{{0}, {0}}}", "{}|%p1"]
    operands[k] = chance.choice(around).format(inner)


def guarded(line: str, chance: random.Random) -> str:
    guard = chance.choice(["@%p1", "@!%p1", "@%r1", "@%rd1", "@!%rd1", "@%h1", "@%f1", "@%d1", "@%tid.x", "@1"])
    bare = re.sub(r"^\s*@\S+", "", line).strip()
    return f"    {guard} {bare}"


def another_opcode(text: str, chance: random.Random) -> str:
    """An instruction becomes one that stands elsewhere in the text, its operands kept."""
    heads = [split(line)[0].split(" ")[-1] for line in text.split("\n") if line.rstrip().endswith(";")]

    def change(line: str, chance: random.Random) -> str:
        _, operands = split(line)
        return f"    {chance.choice(heads)} {', '.join(operands)};" if line.rstrip().endswith(";") else line

    return in_some_line(change)(text, chance) if heads else text


def another_modifier(line: str, chance: random.Random) -> str:
    """A dotted part of an opcode goes, comes or changes."""
    match = re.search(r"[a-z]\w*(?:\.[\w:]+)+", line)
    if not match:
        return line
    parts = match[0].split(".")
    k = chance.randrange(1, len(parts))
    kind = chance.randrange(3)
    if kind == 0:
        parts.pop(k)
    else:
        parts[k : k + kind - 1] = [chance.choice(MODIFIERS)]
    return line[: match.start()] + ".".join(parts) + line[match.end() :]


def lines_moved(text: str, chance: random.Random) -> str:
    """A line goes, comes twice, or stands elsewhere."""
    lines = text.split("\n")
    a, b = chance.randrange(len(lines)), chance.randrange(len(lines))
    kind = chance.randrange(4)
    if kind == 0:
        lines.pop(a)
    elif kind == 1:
        lines.insert(b, lines[a])
    elif kind == 2:
        lines[a], lines[b] = lines[b], lines[a]
    else:
        lines[min(a, b) : min(a, b) + chance.randrange(8)] = []
    return "\n".join(lines)


def tokens_swapped(text: str, chance: random.Random) -> str:
    """Any two tokens exchanged, or one written over another."""
    spans = [match.span() for match in TOKEN.finditer(text)]
    if len(spans) < 2:
        return text
    (a, b), (c, d) = sorted(chance.sample(spans, 2))
    first, second = text[a:b], text[c:d]
    if chance.random() < 0.5:
        first = second
    return text[:a] + second + text[b:c] + first + text[d:]


def directive_added(text: str, chance: random.Random) -> str:
    place = text.rfind("\n{")
    return text if place < 0 else text[:place] + "\n" + chance.choice(DIRECTIVES) + text[place:]


def character_changed(text: str, chance: random.Random) -> str:
    k = chance.randrange(len(text))
    return text[:k] + chance.choice(" \n;,{}[]()%.@!:_0123456789abcdefxyz\"/*\0é") + text[k + 1 :]


MUTATIONS = (
    like_register, like_register, like_register, lines_moved, swapped_for(NUMBER, HUGE),
    swapped_for(REGISTER), swapped_for(REGISTER), swapped_for(REGISTER, SPECIAL), swapped_for(REGISTER, OTHERS),
    swapped_for(REGISTER, HUGE), swapped_for(NUMBER, HUGE), swapped_for(NUMBER, HUGE), swapped_for(TYPE, TYPES),
    swapped_for(TYPE, TYPES), swapped_for(TYPE), swapped_for(SPACE, SPACES), with_operands(exchange), with_operands(drop),
    with_operands(add), with_operands(replace), with_operands(replace), with_operands(wrap), in_some_line(guarded),
    another_opcode, another_opcode, in_some_line(another_modifier), lines_moved, tokens_swapped, directive_added,
    character_changed,
)  # fmt: skip
