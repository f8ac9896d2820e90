"""Annotations can be resolved at run time, as generators of forms and documentation do."""

import inspect
import typing

import pytest

import vectord_client
from vectord_client.langchain import VectordVectorStore

CLASSES = [
    *(
        value
        for name in vectord_client.__all__
        if inspect.isclass(value := getattr(vectord_client, name))
    ),
    VectordVectorStore,
]


@pytest.mark.parametrize("public", CLASSES)
def test_annotations_of_what_is_public_can_be_resolved(public: type) -> None:
    functions = [value for value in vars(public).values() if inspect.isfunction(value)]
    for annotated in (public, *functions):
        typing.get_type_hints(annotated)
