"""Writes a C++ program that prints every constant, layout and signature which our header declares. Compiled once with our
header and once with another, the two outputs must be equal.

    make_table.py nccl|cuda OUTPUT HEADER..."""

import sys
from pathlib import Path

from declarations import read_declarations

PREAMBLE = """\
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <type_traits>
#include <typeinfo>

#include <{include}>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace {{

template <typename T>
void show(const char* name, const T& value) {{
  if constexpr (std::is_enum_v<T>) {{
    std::printf("%s = %lld (enum of %zu bytes)\\n", name, static_cast<long long>(value), sizeof(T));
  }} else if constexpr (std::is_integral_v<T>) {{
    std::printf("%s = %lld\\n", name, static_cast<long long>(value));
  }} else if constexpr (std::is_floating_point_v<T>) {{
    std::printf("%s = %g\\n", name, static_cast<double>(value));
  }} else if constexpr (std::is_convertible_v<T, const char*>) {{
    const char* text = value;
    std::printf("%s = \\"%s\\"\\n", name, text == nullptr ? "(null)" : text);
  }} else {{
    std::printf("%s = %p\\n", name, reinterpret_cast<void*>(value));
  }}
}}

}}  // namespace

int main() {{
"""

INITIALIZED = {"NCCL_CONFIG_INITIALIZER": "ncclConfig_t", "NCCL_SIM_INFO_INITIALIZER": "ncclSimInfo_t"}


def main() -> None:
    kind, output, *headers = sys.argv[1:]
    found = read_declarations([Path(header) for header in headers], (kind, "p" + kind, "dim3", "uint3"))
    lines = [PREAMBLE.format(include={"nccl": "nccl.h", "cuda": "cuda_runtime_api.h"}[kind])]
    for name in found.macros + found.enumerators:
        lines.append(f'  show("{name}", {name});\n')
    for name, fields in found.structures.items():
        lines.append(f'  std::printf("{name}: %zu bytes, alignment %zu\\n", sizeof({name}), alignof({name}));\n')
        for member in fields:
            lines.append(
                f'  std::printf("{name}.{member} at %zu, %zu bytes\\n", offsetof({name}, {member}), '
                f"sizeof({name}::{member}));\n"
            )
    for name in found.initializers:
        kind_of = INITIALIZED[name]
        lines.append(f"  {{\n    const {kind_of} value = {name};\n")
        for member in found.structures[kind_of]:
            lines.append(f'    show("{name}.{member}", value.{member});\n')
        lines.append("  }\n")
    for name in found.functions:
        lines.append(f'  std::printf("{name}: %s\\n", typeid(decltype(&{name})).name());\n')
    lines.append("  return 0;\n}\n")
    Path(output).write_text("".join(lines))


main()
