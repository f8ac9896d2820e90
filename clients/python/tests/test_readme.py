"""What the README shows runs, from the top to the end."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_examples_of_the_readme_run(
    address: str, empty: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(EXAMPLES) > 3
    names: dict[str, object] = {}
    for example in EXAMPLES:
        exec(example.replace("127.0.0.1:50051", address), names)
    printed = capsys.readouterr().out
    for expected in re.findall(r"# prints: (.*)", README):
        assert expected in printed
