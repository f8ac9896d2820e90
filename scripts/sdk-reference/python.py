"""Writes the reference of the Python client as HTML into a folder, from its docstrings.

Run by the Python of an environment that has pdoc and the client. Fails where public names have no
docstring, and names them; fails at each warning of pdoc, too.
"""

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pdoc.render
from pdoc.doc import Doc, Module, Namespace

MODULES = ("vectord_client", "vectord_client.langchain")
# pdoc reads the docstring of a variable only where that is defined.
VARIABLES = "vectord_client.models"


def with_docstrings(name: str) -> Module:
    module, defined = Module.from_name(name), Module.from_name(VARIABLES)
    for member in module.members.values():
        if not member.docstring and member.name in defined.members:
            member.docstring = defined.members[member.name].docstring
    return module


def undocumented(part: Doc) -> Iterator[str]:
    """The public names in a module or a class without docstrings; not those that a class inherits
    from another package."""
    if not part.docstring:
        yield part.fullname
    members = part.members.values() if isinstance(part, Namespace) else ()
    for member in members:
        is_own = part.kind == "module" or member.taken_from[0].startswith(MODULES[0])
        if is_own and not member.name.startswith("_"):
            yield from undocumented(member)


def main(folder: Path) -> None:
    warnings.simplefilter("error")
    modules = {name: with_docstrings(name) for name in MODULES}
    names = [name for module in modules.values() for name in undocumented(module)]
    if names:
        sys.exit("\n".join(f"{name} has no docstring" for name in names))
    pdoc.render.configure(docformat="google", show_source=False)
    pages = {name: pdoc.render.html_module(module, modules) for name, module in modules.items()}
    files = {f"{name.replace('.', '/')}.html": page for name, page in pages.items()}
    files["index.html"] = pdoc.render.html_index(modules)
    files["search.js"] = pdoc.render.search_index(modules)
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


main(Path(sys.argv[1]))
