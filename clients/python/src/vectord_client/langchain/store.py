"""The vector store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast
from uuid import uuid4

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import run_in_executor
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from .._core.operations import items_of, similarity_of
from ..async_client import AsyncClient
from ..client import Client
from ..errors import invalid
from ..models import NewPoint, Part, Point, Similarity, SimilarityLike
from .documents import point_id_of, to_document, to_point
from .filters import filter_on_points

_DOCUMENT: tuple[Part, ...] = ("distance", "content", "metadata")
_WITH_VECTOR: tuple[Part, ...] = (*_DOCUMENT, "vector")

# What `delete` is given without ids: None may be a mistake. LangChain says list[str] | None.
_ALL: Any = object()

_OPTIONS = ("ef", "exact", "max_distance", "filter", "timeout")


class VectordVectorStore(VectorStore):
    """Documents in a vectord service. The service has one collection: every point in it is a
    document of this store, those of other clients, too, under the ids of their points.

    A document may have any id, and any metadata that JSON has, up to 64 KiB as they are kept;
    `vectord_client.langchain.documents` says how that is.

    Searches take `ef`, `exact`, `max_distance`, `filter` and `timeout`, as those of `Client` do. A
    filter asks for metadata as documents have them; `vectord_client.langchain.filters` says what it
    finds.

    Scores are distances, of which the smallest is the best. Relevance scores are 1 - distance under
    Cosine, and otherwise 1 / (1 + distance).
    """

    def __init__(
        self,
        embedding: Embeddings,
        client: Client,
        *,
        async_client: AsyncClient | None = None,
        similarity: SimilarityLike = Similarity.COSINE,
    ) -> None:
        """
        Args:
            embedding: What makes vectors of texts, as many values each as the service has
                dimensions.
            client: Where the documents are. The store does not close it.
            async_client: The same service for the methods that begin with `a`; without it they
                use `client` on a thread. The store does not close it.
            similarity: How searches measure distances.
        """
        self._embedding = embedding
        self._client = client
        self._async_client = async_client
        self._similarity = similarity_of(similarity, "similarity")

    @property
    def embeddings(self) -> Embeddings:
        """What makes vectors of texts."""
        return self._embedding

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> VectordVectorStore:
        """A store that has these texts, too. `client` and what else the constructor takes are given
        by their names."""
        store = cls(embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    @classmethod
    async def afrom_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> VectordVectorStore:
        """See `from_texts`."""
        store = cls(embedding, **kwargs)
        await store.aadd_texts(texts, metadatas, ids=ids)
        return store

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        batch_size: int | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Stores texts, in batches; one whose id exists is replaced whole.

        Args:
            texts: What is embedded and kept.
            metadatas: One for each text.
            ids: One for each text, each once; None for one that is to be made.
            batch_size: The most texts that are embedded at once, as `index` of LangChain gives it;
                None for all.
            **kwargs: None is known.

        Returns:
            The ids of all texts, in their order.

        Raises:
            InvalidArgumentError: A list has another length than the texts, or metadata holds what
                JSON does not have.
            VectordError: The service refuses or cannot be reached. Some texts may be stored.
        """
        _refuse_unknown(kwargs, ())
        contents = list(texts)
        vectors: list[list[float]] = []
        for batch in _batches(contents, batch_size):
            vectors += self._embedding.embed_documents(batch)
        ids_, points = _points(contents, vectors, metadatas, ids)
        self._client.bulk(points)
        return ids_

    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        batch_size: int | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """See `add_texts`."""
        if self._async_client is None:
            kwargs["batch_size"] = batch_size
            return await super().aadd_texts(texts, metadatas, ids=ids, **kwargs)
        _refuse_unknown(kwargs, ())
        contents = list(texts)
        vectors: list[list[float]] = []
        for batch in _batches(contents, batch_size):
            vectors += await self._embedding.aembed_documents(batch)
        ids_, points = _points(contents, vectors, metadatas, ids)
        await self._async_client.bulk(points)
        return ids_

    def delete(self, ids: list[str] | None = _ALL, **kwargs: Any) -> bool:
        """Deletes documents; one that is not there is no error. Without `ids`, deletes all points
        of the service; None in their place, which a program may have got by mistake, is refused."""
        _refuse_unknown(kwargs, ())
        if ids is _ALL:
            self._client.delete_all(self._client.count())
        else:
            self._client.delete(_point_ids(ids))
        return True

    async def adelete(self, ids: list[str] | None = _ALL, **kwargs: Any) -> bool:
        """See `delete`."""
        client = self._async_client
        if client is None:
            return bool(await super().adelete(ids, **kwargs))
        _refuse_unknown(kwargs, ())
        if ids is _ALL:
            await client.delete_all(await client.count())
        else:
            await client.delete(_point_ids(ids))
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents with these ids that are there, in the order of the ids."""
        got = self._client.get(_point_ids(ids), include=("content", "metadata"))
        return [to_document(point) for point in got.points]

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """See `get_by_ids`."""
        if self._async_client is None:
            return await super().aget_by_ids(ids)
        got = await self._async_client.get(_point_ids(ids), include=("content", "metadata"))
        return [to_document(point) for point in got.points]

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """The `k` documents nearest to a text, closest first."""
        return _documents(self._near(self._embedding.embed_query(query), k, _DOCUMENT, kwargs))

    async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """See `similarity_search`."""
        vector = await self._embedding.aembed_query(query)
        return _documents(await self._anear(vector, k, _DOCUMENT, kwargs))

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        """The `k` documents nearest to a vector of shape (dimension,), closest first."""
        return _documents(self._near(embedding, k, _DOCUMENT, kwargs))

    async def asimilarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        """See `similarity_search_by_vector`."""
        return _documents(await self._anear(embedding, k, _DOCUMENT, kwargs))

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """The `k` documents nearest to a text with their distances, closest first."""
        return _scored(self._near(self._embedding.embed_query(query), k, _DOCUMENT, kwargs))

    async def asimilarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """See `similarity_search_with_score`."""
        vector = await self._embedding.aembed_query(query)
        return _scored(await self._anear(vector, k, _DOCUMENT, kwargs))

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """The `k` documents of the `fetch_k` nearest to a text that are near it and far from each
        other; `lambda_mult` is 1 for the nearest and 0 for the farthest from each other."""
        vector = self._embedding.embed_query(query)
        return self.max_marginal_relevance_search_by_vector(
            vector, k, fetch_k, lambda_mult, **kwargs
        )

    async def amax_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """See `max_marginal_relevance_search`."""
        vector = await self._embedding.aembed_query(query)
        return await self.amax_marginal_relevance_search_by_vector(
            vector, k, fetch_k, lambda_mult, **kwargs
        )

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        """As `max_marginal_relevance_search`, for a vector of shape (dimension,)."""
        return _spread(
            embedding, self._near(embedding, fetch_k, _WITH_VECTOR, kwargs), k, lambda_mult
        )

    async def amax_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        """See `max_marginal_relevance_search_by_vector`."""
        found = await self._anear(embedding, fetch_k, _WITH_VECTOR, kwargs)
        return _spread(embedding, found, k, lambda_mult)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        if self._similarity is Similarity.COSINE:
            return lambda distance: 1.0 - distance
        return lambda distance: 1.0 / (1.0 + distance)

    def _near(
        self, vector: list[float], k: int, include: tuple[Part, ...], options: dict[str, Any]
    ) -> list[Point]:
        _refuse_unknown(options, _OPTIONS)
        return self._client.search(
            vector, similarity=self._similarity, limit=k, include=include, **_given(options)
        )

    async def _anear(
        self, vector: list[float], k: int, include: tuple[Part, ...], options: dict[str, Any]
    ) -> list[Point]:
        client = self._async_client
        if client is None:
            return await run_in_executor(None, self._near, vector, k, include, options)
        _refuse_unknown(options, _OPTIONS)
        return await client.search(
            vector, similarity=self._similarity, limit=k, include=include, **_given(options)
        )


def _batches(texts: list[str], size: int | None) -> Iterator[list[str]]:
    if size is not None and size < 1:
        raise invalid(f"batch_size is {size}, expected at least 1")
    step = size or max(1, len(texts))
    for start in range(0, len(texts), step):
        yield texts[start : start + step]


def _points(
    texts: list[str],
    vectors: list[list[float]],
    metadatas: list[dict[str, Any]] | None,
    ids: Sequence[str | None] | None,
) -> tuple[list[str], list[NewPoint]]:
    """The ids of all texts, and their points."""
    for name, given in (("metadatas", metadatas), ("ids", ids)):
        if given is not None and len(given) != len(texts):
            raise invalid(f"{name} has {len(given)} items, expected {len(texts)}, as many as texts")
    document_ids = [str(uuid4()) if it is None else it for it in ids or [None] * len(texts)]
    all_metadata = metadatas or [{}] * len(texts)
    for at, metadata in enumerate(all_metadata):
        if not isinstance(metadata, Mapping):
            raise invalid(f"metadatas[{at}] is {metadata!r}, expected a mapping")
    rows = zip(document_ids, texts, all_metadata, vectors, strict=True)
    return document_ids, [to_point(*row) for row in rows]


def _point_ids(ids: Iterable[str] | None) -> list[str]:
    return [point_id_of(it) for it in items_of(cast("Iterable[str]", ids), "ids")]


def _documents(points: list[Point]) -> list[Document]:
    return [to_document(point) for point in points]


def _scored(points: list[Point]) -> list[tuple[Document, float]]:
    return [(to_document(point), point.distance or 0.0) for point in points]


def _spread(vector: list[float], found: list[Point], k: int, lambda_mult: float) -> list[Document]:
    vectors: list[Any] = [point.vector for point in found]
    query = np.asarray(vector, dtype=np.float32)
    chosen = maximal_marginal_relevance(query, vectors, lambda_mult=lambda_mult, k=k)
    return [to_document(found[at]) for at in chosen]


def _refuse_unknown(options: dict[str, Any], known: tuple[str, ...]) -> None:
    for name in options:
        if name not in known:
            raise TypeError(f"{name} is not known, expected {' or '.join(known) or 'nothing more'}")


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a search as those of the client."""
    filter = options.get("filter")
    return options if filter is None else {**options, "filter": filter_on_points(filter)}
