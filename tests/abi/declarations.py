"""Reads C headers and lists what they declare: constants, structures, functions. The headers are written in one plain
style, so patterns are enough; whatever a pattern missed would show as a hole in the tables that are made from it."""

import re
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Declarations:
    macros: list[str] = field(default_factory=list)
    initializers: list[str] = field(default_factory=list)
    enumerators: list[str] = field(default_factory=list)
    structures: dict[str, list[str]] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)


def without_comments(text: str) -> str:
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"RIPIENO_OPTIONAL\(\w+\)", " ", text)
    return text.replace("\\\n", " ")


def fields_of(body: str) -> list[str]:
    """Names of the members of a structure without nested ones."""
    names = []
    for member in body.split(";"):
        for part in member.split(","):
            match = re.search(r"(\w+)\s*(\[[^\]]*\])*\s*$", part.strip())
            if match:
                names.append(match[1])
    return names


def read_declarations(headers: list[Path], prefixes: tuple[str, ...]) -> Declarations:
    found = Declarations()
    for header in headers:
        text = without_comments(header.read_text())
        for name, value in re.findall(r"^#define\s+(\w+)[ \t]+(\S.*)$", text, re.M):
            if not name.startswith(prefixes) and not name.startswith(("NCCL_", "CUDA")):
                continue
            if name.endswith("_INITIALIZER"):
                found.initializers.append(name)
            elif not re.fullmatch(r"\w+(ID|Value)", value.strip()):
                found.macros.append(name)
        for body in re.findall(r"\benum\b[^{};()]*\{([^}]*)\}", text):
            found.enumerators += re.findall(r"(\w+)\s*(?:=[^,]*)?(?:,|$)", body.strip().rstrip(","))
        for tag, body, alias in re.findall(
            r"^(?:typedef )?struct (\w*) ?\{\n([^{}]*?)^\}\s*(\w*);", text, re.M
        ):
            name = alias or tag
            if name.startswith(prefixes):
                found.structures[name] = fields_of(body)
        declaration = r"^(?:\w[\w \*]*?[ \*])(\w+)\((?=[^)]*\)\s*;)"
        flat = re.sub(r"\([^()]*\(\*[^()]*\)[^()]*\)", "(", text)
        for name in re.findall(declaration, flat, re.M):
            if name.startswith(prefixes) and name not in found.functions:
                found.functions.append(name)
    return found
