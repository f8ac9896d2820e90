"""The vector store for LangChain, beyond what the suite of LangChain tests."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any, ClassVar

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.indexing import InMemoryRecordManager, aindex, index

from vectord_client import AsyncClient, Client, NewPoint, Similarity, id_for
from vectord_client.langchain import VectordVectorStore

UUID_TEXT = "ABCDEFAB-0000-4000-8000-00000000000A"
NIL = "00000000-0000-0000-0000-000000000000"


class Numbers(Embeddings):
    """Texts such as "1 0" stand for their own vectors."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        values = [float(it) for it in text.split()]
        return values + [0.0] * (4 - len(values))


class AsyncOnly:
    """Gives the methods of a store that begin with `a` the names of the others."""

    def __init__(self, store: VectordVectorStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, f"a{name}")


class SyncOnly:
    """The others, awaited."""

    def __init__(self, store: VectordVectorStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)

        async def call(*args: Any, **options: Any) -> Any:
            return await asyncio.to_thread(method, *args, **options)

        return call


@pytest.fixture
async def clients(address: str, empty: None) -> AsyncIterator[dict[str, Any]]:
    key = os.environ["VECTORD_KEY"]
    with Client(address, key=key) as client:
        async with AsyncClient(address, key=key) as async_client:
            yield {"client": client, "async_client": async_client}


@pytest.fixture(params=["sync", "asyncio", "asyncio on a thread"])
async def make(request: pytest.FixtureRequest, clients: dict[str, Any]) -> Any:
    """Makes stores whose methods are awaited, whichever clients they have."""

    def make_store(**options: Any) -> Any:
        if request.param == "asyncio on a thread":
            return AsyncOnly(VectordVectorStore(Numbers(), clients["client"], **options))
        store = VectordVectorStore(Numbers(), **clients, **options)
        return SyncOnly(store) if request.param == "sync" else AsyncOnly(store)

    return make_store


METADATA = {
    "text": "é",
    "number": 1,
    "float": 1.0,
    "flag": True,
    "none": None,
    "list": ["a", "b"],
    "empty": [],
    "nested": {"a": [1, {"b": None}]},
    "mixed": [1, "a", True],
    "nulls": [None],
    "large": 2**60,
    "large list": [1, 2**53 + 1],
    "broken \ud800": "text",
    "half": "\ud800",
    "$dollar": 1,
    "_vectord_id": "not one",
    "_vectord_metadata": "not it",
}


async def test_documents_come_back_as_they_were(make: Any) -> None:
    store = make()
    documents = [
        Document(id=id_, page_content="1", metadata=METADATA)
        for id_ in ("1", "", UUID_TEXT, UUID_TEXT.lower().replace("a", "b"), NIL, "é\n")
    ]
    ids = await store.add_documents(documents)
    assert ids == [it.id for it in documents]
    got = await store.get_by_ids(ids)
    assert got == documents
    assert [type(it) for it in got[0].metadata.values()]
    assert got[0].metadata["float"] == 1.0
    assert isinstance(got[0].metadata["float"], float)


async def test_an_empty_id_is_an_id_as_any_other(make: Any, clients: dict[str, Any]) -> None:
    store = make()
    assert await store.add_texts(["1"], ids=[""]) == [""]
    (point,) = clients["client"].get([id_for("")]).points
    assert point.metadata == {"_vectord_id": ""}
    assert await store.get_by_ids([""]) == [Document(id="", page_content="1")]
    await store.delete([""])
    assert await store.get_by_ids([""]) == []


async def test_what_the_service_takes_is_kept_as_it_is(make: Any, clients: dict[str, Any]) -> None:
    await make().add_documents([Document(id="1", page_content="1", metadata=METADATA)])
    (point,) = clients["client"].get([id_for("1")]).points
    assert point.metadata["_vectord_id"] == "1"
    plain = ("text", "number", "float", "flag", "none", "list", "empty")
    kept = {key: METADATA[key] for key in plain}
    assert point.metadata == {
        **kept,
        "_vectord_id": "1",
        "_vectord_metadata": point.metadata["_vectord_metadata"],
    }


async def test_plain_documents_have_no_reserved_metadata(
    make: Any, clients: dict[str, Any]
) -> None:
    (id_,) = await make().add_texts(["1"])
    (point,) = clients["client"].get([id_]).points
    assert point.metadata is None


async def test_values_of_numpy_are_kept_as_those_of_python(make: Any) -> None:
    store = make()
    metadata = {"a": np.float32(0.5), "b": np.int64(3), "c": np.array([1, 2])}
    await store.add_documents([Document(id="1", page_content="1", metadata=metadata)])
    (got,) = await store.get_by_ids(["1"])
    assert got.metadata == {"a": 0.5, "b": 3, "c": [1, 2]}


@pytest.mark.parametrize("value", [object(), float("nan"), [float("inf")]])
async def test_metadata_that_json_does_not_have_is_refused(make: Any, value: Any) -> None:
    with pytest.raises(ValueError, match=r"metadata\.when cannot be kept as JSON"):
        await make().add_documents([Document(page_content="1", metadata={"when": value})])


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({1: 2}, "metadata has the key 1, expected a text"),
        ({"x": {1: 2}}, r"metadata\.x has the key 1, expected a text"),
        ({"x": ({"a": {"b": [{None: 2}]}}, 1)}, r"metadata\.x has the key None, expected a text"),
    ],
)
async def test_keys_that_are_no_text_are_refused(make: Any, metadata: Any, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        await make().add_texts(["1"], [metadata])


async def test_points_of_other_clients_are_documents(make: Any, clients: dict[str, Any]) -> None:
    point = NewPoint([1, 0, 0, 0], content="by hand", metadata={"a": 1})
    (id_,) = clients["client"].upsert([point]).ids
    found = await make().similarity_search("1 0")
    assert found == [Document(id=id_, page_content="by hand", metadata={"a": 1})]


@pytest.mark.parametrize(
    "metadata",
    [
        {"_vectord_metadata": "hello"},
        {"_vectord_metadata": "[1,2]"},
        {"_vectord_metadata": "null"},
        {"_vectord_metadata": "[" * 50_000},
        {"_vectord_metadata": 5},
        {"_vectord_metadata": None, "_vectord_id": None},
        {"_vectord_id": 5, "a": 1},
        {"_vectord_id": ["x"]},
    ],
)
async def test_what_others_write_under_the_reserved_names_is_metadata(
    make: Any, clients: dict[str, Any], metadata: dict[str, Any]
) -> None:
    store = make()
    await store.add_texts(["0 1"], [{"nested": {"a": 1}}], ids=["own"])
    (id_,) = clients["client"].upsert([NewPoint([1, 0, 0, 0], metadata=metadata)]).ids
    foreign, own = await store.similarity_search("1 0")
    assert (own.id, own.metadata) == ("own", {"nested": {"a": 1}})
    assert (foreign.id, foreign.metadata) == (id_, metadata)
    foreign.page_content = "1 0"
    await store.add_documents([foreign])
    assert await store.get_by_ids([id_]) == [foreign]


async def test_searches_find_what_passes_a_filter(make: Any) -> None:
    store = make(similarity=Similarity.EUCLIDEAN)
    metadatas = [{"year": 2019}, {"year": 2020, "tags": ["pet"]}, {"year": 2021}, {}]
    await store.add_texts(["1", "2", "3", "4"], metadatas, ids=["a", "b", "c", UUID_TEXT])
    recent = {"filter": {"year": {"$gte": np.int64(2020)}}}
    found = [
        await store.similarity_search("1", **recent),
        await store.similarity_search_by_vector([1, 0, 0, 0], **recent),
        await store.max_marginal_relevance_search("1", lambda_mult=1.0, **recent),
        [it for it, _ in await store.similarity_search_with_score("1", **recent)],
        [it for it, _ in await store.similarity_search_with_relevance_scores("1", **recent)],
    ]
    assert [[it.id for it in documents] for documents in found] == [["b", "c"]] * 5

    async def ids_of(filter: Any) -> list[str | None]:
        return [it.id for it in await store.similarity_search("1", filter=filter)]

    assert await ids_of({"$or": [{"tags": "pet"}, {"year": {"$exists": False}}]}) == [
        "b",
        UUID_TEXT,
    ]
    assert await ids_of({"$id": "a"}) == ["a"]
    assert await ids_of({"$id": UUID_TEXT.lower()}) == [UUID_TEXT]
    assert await ids_of({"$id": {"$in": (UUID_TEXT, "c", "unknown")}}) == ["c", UUID_TEXT]
    assert await ids_of({"$not": {"$and": [{"$id": {"$nin": ["b"]}}]}}) == ["b"]
    assert await ids_of({}) == await ids_of(None) == ["a", "b", "c", UUID_TEXT]


async def test_what_is_kept_as_text_is_not_there_to_a_filter(make: Any) -> None:
    store = make()
    kept = ("text", "number", "float", "flag", "list", "empty")
    text = ("nested", "mixed", "nulls", "large", "large list", "half")
    await store.add_documents([Document(id="1", page_content="1", metadata=METADATA)])
    for key in (*kept, *text):
        found = await store.similarity_search("1", filter={key: {"$exists": True}})
        assert len(found) == (1 if key in kept else 0)
    assert await store.similarity_search("1", filter={"large": {"$gt": 2.0**53}}) == []
    for key in ("text", "number", "float", "flag"):
        assert len(await store.similarity_search("1", filter={key: METADATA[key]})) == 1


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ([], "filter is of the type list, expected a filter"),
        (lambda document: True, "filter is of the type function, expected a filter"),
        ({"a": {"b": 1}}, r"filter\.a\.b is 'b', expected one of \$eq"),
        ({"a": {"$in": [1, None]}}, r"filter\.a\.\$in\[1\] is None, expected a text"),
        ({"$dollar": 1}, r"filter\.\$dollar is '\$dollar', expected one of \$and"),
        ({"_vectord_id": "1"}, r"filter\._vectord_id is a name that the store keeps to itself"),
        (
            {"$or": [{}, {"$not": {"_vectord_metadata": {"$exists": True}}}]},
            r"filter\.\$or\[1\]\.\$not\._vectord_metadata is a name",
        ),
        ({"a": 2**53 + 2}, r"filter\.a is an int beyond 2\^53, which is kept as text"),
        ({"a": {"$nin": [1, -(2**60)]}}, r"filter\.a\.\$nin\[1\] is an int beyond"),
        ({"a": np.uint64(2**60)}, r"filter\.a is an int beyond"),
    ],
)
async def test_a_filter_that_finds_nothing_is_refused(
    make: Any, filter: Any, expected: str
) -> None:
    store = make()
    for search in (
        store.similarity_search("1", filter=filter),
        store.max_marginal_relevance_search("1", filter=filter),
    ):
        with pytest.raises(ValueError, match=f"^INVALID_ARGUMENT: {expected}"):
            await search


async def test_a_retriever_takes_a_filter(clients: dict[str, Any]) -> None:
    store = VectordVectorStore(Numbers(), **clients)
    store.add_texts(["1", "2"], [{"a": 1}, {"a": 2}], ids=["1", "2"])
    for kind in ("similarity", "mmr"):
        retriever = store.as_retriever(search_type=kind, search_kwargs={"filter": {"a": 2}})
        assert [it.id for it in retriever.invoke("1")] == ["2"]
        assert [it.id for it in await retriever.ainvoke("1")] == ["2"]


async def test_what_is_not_known_is_refused(make: Any) -> None:
    with pytest.raises(TypeError, match="filters is not known, expected ef or exact"):
        await make().similarity_search("1", filters={})
    with pytest.raises(TypeError, match="batch is not known"):
        await make().add_texts(["1"], batch=1)
    with pytest.raises(TypeError, match="filter is not known"):
        await make().delete(filter={"a": 1})
    with pytest.raises(ValueError, match="ids has 1 items, expected 2, as many as texts"):
        await make().add_texts(["1", "2"], ids=["1"])
    with pytest.raises(ValueError, match="metadatas has 1 items, expected 2"):
        await make().add_texts(["1", "2"], [{}])
    with pytest.raises(ValueError, match=r"metadatas\[0\] is None, expected a mapping"):
        await make().add_texts(["1", "2"], [None, {}])
    for call in (make().add_texts(["1"], ids=[5]), make().get_by_ids([5]), make().delete([5])):
        with pytest.raises(ValueError, match="the id of a document is 5, expected a text"):
            await call


async def test_scores_are_distances_and_searches_take_options(make: Any) -> None:
    store = make(similarity=Similarity.EUCLIDEAN)
    await store.add_texts(["1 0", "3 0", "9 0"], ids=["1", "3", "9"])
    found = await store.similarity_search_with_score("2.5 0", k=2, ef=10, exact=True)
    assert [(it.id, score) for it, score in found] == [("3", 0.5), ("1", 1.5)]
    found = await store.similarity_search("2.5 0", max_distance=1.0)
    assert [it.id for it in found] == ["3"]
    found = await store.similarity_search_by_vector([9, 0, 0, 0], k=1)
    assert [it.id for it in found] == ["9"]


@pytest.mark.parametrize(
    ("similarity", "scores"),
    [
        (Similarity.COSINE, [1.0, 0.0]),
        (Similarity.EUCLIDEAN, [1.0, 1 / (1 + 2**0.5)]),
        (Similarity.MANHATTAN, [1.0, 1 / 3]),
        (Similarity.HAMMING, [1.0, 1 / 3]),
    ],
)
async def test_relevance_is_1_for_the_same_and_less_for_others(
    make: Any, similarity: Similarity, scores: list[float]
) -> None:
    store = make(similarity=similarity)
    await store.add_texts(["1 0", "0 1"])
    found = await store.similarity_search_with_relevance_scores("1 0")
    assert [score for _, score in found] == pytest.approx(scores)


async def test_results_may_be_far_from_each_other(make: Any) -> None:
    store = make()
    await store.add_texts(["1 0", "1 0.01", "1 0.5", "0.2 1"], ids=["a", "b", "c", "d"])
    near = await store.max_marginal_relevance_search("1 0", k=2, lambda_mult=1.0)
    assert [it.id for it in near] == ["a", "b"]
    spread = await store.max_marginal_relevance_search("1 0", k=2, lambda_mult=0.1)
    assert [it.id for it in spread] == ["a", "d"]
    narrow = await store.max_marginal_relevance_search_by_vector(
        [1, 0, 0, 0], k=2, fetch_k=2, lambda_mult=0.0
    )
    assert {it.id for it in narrow} == {"a", "b"}


async def test_a_delete_without_ids_deletes_all(make: Any) -> None:
    store = make()
    await store.add_texts(["1", "2"], ids=["1", "2"])
    assert await store.delete([]) is True
    for wrong, message in ((None, "ids is None, expected a list"), (["1", None], "is None, exp")):
        with pytest.raises(ValueError, match=message):
            await store.delete(wrong)
        with pytest.raises(ValueError, match=message):
            await store.delete(ids=wrong)
    assert len(await store.similarity_search("1")) == 2
    assert await store.delete() is True
    assert await store.similarity_search("1") == []


async def test_index_of_langchain_adds_skips_and_deletes(
    clients: dict[str, Any],
) -> None:
    store = VectordVectorStore(Numbers(), **clients)
    documents = [Document(f"{at} 1", metadata={"source": str(at % 2)}) for at in range(5)]
    for asynchronous in (False, True):
        records = InMemoryRecordManager(namespace=str(asynchronous))
        records.create_schema()
        for given, expected in (
            (documents, (5, 0, 0)),
            (documents, (0, 5, 0)),
            (documents[:3], (0, 3, 2)),
        ):
            options: dict[str, Any] = {
                "cleanup": "incremental",
                "source_id_key": "source",
                "key_encoder": "sha256",
            }
            done = (
                await aindex(given, records, store, **options)
                if asynchronous
                else await asyncio.to_thread(index, given, records, store, **options)
            )
            counts = (done["num_added"], done["num_skipped"], done["num_deleted"])
            assert counts == expected
        assert len(await store.asimilarity_search("1 1", k=9)) == 3
        await store.adelete()


async def test_texts_are_embedded_in_batches(clients: dict[str, Any]) -> None:
    class Counting(Numbers):
        sizes: ClassVar[list[int]] = []

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            self.sizes.append(len(texts))
            return super().embed_documents(texts)

    store = VectordVectorStore(Counting(), **clients)
    texts = ["1", "2", "3", "4", "5"]
    await asyncio.to_thread(store.add_texts, texts, batch_size=2)
    await store.aadd_texts(texts, batch_size=5)
    await store.aadd_texts(texts)
    assert Counting.sizes == [2, 2, 1, 5, 5]
    with pytest.raises(ValueError, match="batch_size is 0, expected at least 1"):
        await store.aadd_texts(texts, batch_size=0)


async def test_a_store_is_made_from_texts(clients: dict[str, Any]) -> None:
    store = VectordVectorStore.from_texts(["1"], Numbers(), [{"a": 1}], ids=["x"], **clients)
    assert isinstance(store.embeddings, Numbers)
    more = await VectordVectorStore.afrom_texts(["2"], Numbers(), ids=["y"], **clients)
    found = await more.asimilarity_search("1")
    assert {it.id: it.metadata for it in found} == {"x": {"a": 1}, "y": {}}
    found = store.as_retriever(search_kwargs={"k": 1}).invoke("1")
    assert len(found) == 1
