from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Similarity(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SIMILARITY_UNSPECIFIED: _ClassVar[Similarity]
    SIMILARITY_EUCLIDEAN: _ClassVar[Similarity]
    SIMILARITY_MANHATTAN: _ClassVar[Similarity]
    SIMILARITY_HAMMING: _ClassVar[Similarity]
    SIMILARITY_COSINE: _ClassVar[Similarity]

class ContentType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONTENT_TYPE_UNSPECIFIED: _ClassVar[ContentType]
    CONTENT_TYPE_TEXT: _ClassVar[ContentType]
    CONTENT_TYPE_IMAGE: _ClassVar[ContentType]

class Order(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ORDER_UNSPECIFIED: _ClassVar[Order]
    ORDER_OLDEST: _ClassVar[Order]
    ORDER_NEWEST: _ClassVar[Order]

class GraphState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GRAPH_STATE_UNSPECIFIED: _ClassVar[GraphState]
    GRAPH_STATE_BUILDING: _ClassVar[GraphState]
    GRAPH_STATE_READY: _ClassVar[GraphState]
    GRAPH_STATE_FAILED: _ClassVar[GraphState]

class FilterIndexState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FILTER_INDEX_STATE_UNSPECIFIED: _ClassVar[FilterIndexState]
    FILTER_INDEX_STATE_BUILDING: _ClassVar[FilterIndexState]
    FILTER_INDEX_STATE_READY: _ClassVar[FilterIndexState]
    FILTER_INDEX_STATE_SCANNED: _ClassVar[FilterIndexState]
SIMILARITY_UNSPECIFIED: Similarity
SIMILARITY_EUCLIDEAN: Similarity
SIMILARITY_MANHATTAN: Similarity
SIMILARITY_HAMMING: Similarity
SIMILARITY_COSINE: Similarity
CONTENT_TYPE_UNSPECIFIED: ContentType
CONTENT_TYPE_TEXT: ContentType
CONTENT_TYPE_IMAGE: ContentType
ORDER_UNSPECIFIED: Order
ORDER_OLDEST: Order
ORDER_NEWEST: Order
GRAPH_STATE_UNSPECIFIED: GraphState
GRAPH_STATE_BUILDING: GraphState
GRAPH_STATE_READY: GraphState
GRAPH_STATE_FAILED: GraphState
FILTER_INDEX_STATE_UNSPECIFIED: FilterIndexState
FILTER_INDEX_STATE_BUILDING: FilterIndexState
FILTER_INDEX_STATE_READY: FilterIndexState
FILTER_INDEX_STATE_SCANNED: FilterIndexState

class Include(_message.Message):
    __slots__ = ("distance", "vector", "content", "content_type", "metadata")
    DISTANCE_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    distance: bool
    vector: bool
    content: bool
    content_type: bool
    metadata: bool
    def __init__(self, distance: bool = ..., vector: bool = ..., content: bool = ..., content_type: bool = ..., metadata: bool = ...) -> None: ...

class NewPoint(_message.Message):
    __slots__ = ("id", "vector", "content", "content_type", "metadata")
    ID_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    id: str
    vector: bytes
    content: str
    content_type: ContentType
    metadata: str
    def __init__(self, id: _Optional[str] = ..., vector: _Optional[bytes] = ..., content: _Optional[str] = ..., content_type: _Optional[_Union[ContentType, str]] = ..., metadata: _Optional[str] = ...) -> None: ...

class Point(_message.Message):
    __slots__ = ("id", "vector", "content", "content_type", "metadata", "distance")
    ID_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    DISTANCE_FIELD_NUMBER: _ClassVar[int]
    id: str
    vector: bytes
    content: str
    content_type: ContentType
    metadata: str
    distance: float
    def __init__(self, id: _Optional[str] = ..., vector: _Optional[bytes] = ..., content: _Optional[str] = ..., content_type: _Optional[_Union[ContentType, str]] = ..., metadata: _Optional[str] = ..., distance: _Optional[float] = ...) -> None: ...

class UpsertRequest(_message.Message):
    __slots__ = ("points", "if_absent", "collection")
    POINTS_FIELD_NUMBER: _ClassVar[int]
    IF_ABSENT_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    points: _containers.RepeatedCompositeFieldContainer[NewPoint]
    if_absent: bool
    collection: str
    def __init__(self, points: _Optional[_Iterable[_Union[NewPoint, _Mapping]]] = ..., if_absent: bool = ..., collection: _Optional[str] = ...) -> None: ...

class UpsertResponse(_message.Message):
    __slots__ = ("ids", "stored", "replaced", "kept")
    IDS_FIELD_NUMBER: _ClassVar[int]
    STORED_FIELD_NUMBER: _ClassVar[int]
    REPLACED_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[str]
    stored: int
    replaced: int
    kept: int
    def __init__(self, ids: _Optional[_Iterable[str]] = ..., stored: _Optional[int] = ..., replaced: _Optional[int] = ..., kept: _Optional[int] = ...) -> None: ...

class UpsertStreamRequest(_message.Message):
    __slots__ = ("points", "if_absent", "collection")
    POINTS_FIELD_NUMBER: _ClassVar[int]
    IF_ABSENT_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    points: _containers.RepeatedCompositeFieldContainer[NewPoint]
    if_absent: bool
    collection: str
    def __init__(self, points: _Optional[_Iterable[_Union[NewPoint, _Mapping]]] = ..., if_absent: bool = ..., collection: _Optional[str] = ...) -> None: ...

class UpsertStreamResponse(_message.Message):
    __slots__ = ("ids", "stored", "replaced", "kept")
    IDS_FIELD_NUMBER: _ClassVar[int]
    STORED_FIELD_NUMBER: _ClassVar[int]
    REPLACED_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[str]
    stored: int
    replaced: int
    kept: int
    def __init__(self, ids: _Optional[_Iterable[str]] = ..., stored: _Optional[int] = ..., replaced: _Optional[int] = ..., kept: _Optional[int] = ...) -> None: ...

class GetRequest(_message.Message):
    __slots__ = ("ids", "include", "collection")
    IDS_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[str]
    include: Include
    collection: str
    def __init__(self, ids: _Optional[_Iterable[str]] = ..., include: _Optional[_Union[Include, _Mapping]] = ..., collection: _Optional[str] = ...) -> None: ...

class GetResponse(_message.Message):
    __slots__ = ("points", "missing")
    POINTS_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    points: _containers.RepeatedCompositeFieldContainer[Point]
    missing: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, points: _Optional[_Iterable[_Union[Point, _Mapping]]] = ..., missing: _Optional[_Iterable[str]] = ...) -> None: ...

class Filter(_message.Message):
    __slots__ = ("all", "any", "negated", "condition")
    ALL_FIELD_NUMBER: _ClassVar[int]
    ANY_FIELD_NUMBER: _ClassVar[int]
    NEGATED_FIELD_NUMBER: _ClassVar[int]
    CONDITION_FIELD_NUMBER: _ClassVar[int]
    all: FilterList
    any: FilterList
    negated: Filter
    condition: Condition
    def __init__(self, all: _Optional[_Union[FilterList, _Mapping]] = ..., any: _Optional[_Union[FilterList, _Mapping]] = ..., negated: _Optional[_Union[Filter, _Mapping]] = ..., condition: _Optional[_Union[Condition, _Mapping]] = ...) -> None: ...

class FilterList(_message.Message):
    __slots__ = ("filters",)
    FILTERS_FIELD_NUMBER: _ClassVar[int]
    filters: _containers.RepeatedCompositeFieldContainer[Filter]
    def __init__(self, filters: _Optional[_Iterable[_Union[Filter, _Mapping]]] = ...) -> None: ...

class Condition(_message.Message):
    __slots__ = ("field", "eq", "ne", "gt", "gte", "lt", "lte", "any_of", "none_of", "exists")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    EQ_FIELD_NUMBER: _ClassVar[int]
    NE_FIELD_NUMBER: _ClassVar[int]
    GT_FIELD_NUMBER: _ClassVar[int]
    GTE_FIELD_NUMBER: _ClassVar[int]
    LT_FIELD_NUMBER: _ClassVar[int]
    LTE_FIELD_NUMBER: _ClassVar[int]
    ANY_OF_FIELD_NUMBER: _ClassVar[int]
    NONE_OF_FIELD_NUMBER: _ClassVar[int]
    EXISTS_FIELD_NUMBER: _ClassVar[int]
    field: str
    eq: FilterValue
    ne: FilterValue
    gt: FilterValue
    gte: FilterValue
    lt: FilterValue
    lte: FilterValue
    any_of: FilterValues
    none_of: FilterValues
    exists: bool
    def __init__(self, field: _Optional[str] = ..., eq: _Optional[_Union[FilterValue, _Mapping]] = ..., ne: _Optional[_Union[FilterValue, _Mapping]] = ..., gt: _Optional[_Union[FilterValue, _Mapping]] = ..., gte: _Optional[_Union[FilterValue, _Mapping]] = ..., lt: _Optional[_Union[FilterValue, _Mapping]] = ..., lte: _Optional[_Union[FilterValue, _Mapping]] = ..., any_of: _Optional[_Union[FilterValues, _Mapping]] = ..., none_of: _Optional[_Union[FilterValues, _Mapping]] = ..., exists: bool = ...) -> None: ...

class FilterValue(_message.Message):
    __slots__ = ("text", "number", "boolean")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    BOOLEAN_FIELD_NUMBER: _ClassVar[int]
    text: str
    number: float
    boolean: bool
    def __init__(self, text: _Optional[str] = ..., number: _Optional[float] = ..., boolean: bool = ...) -> None: ...

class FilterValues(_message.Message):
    __slots__ = ("values",)
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedCompositeFieldContainer[FilterValue]
    def __init__(self, values: _Optional[_Iterable[_Union[FilterValue, _Mapping]]] = ...) -> None: ...

class Query(_message.Message):
    __slots__ = ("vector", "like", "similarity", "limit", "ef", "exact", "max_distance", "include", "filter")
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    LIKE_FIELD_NUMBER: _ClassVar[int]
    SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    EF_FIELD_NUMBER: _ClassVar[int]
    EXACT_FIELD_NUMBER: _ClassVar[int]
    MAX_DISTANCE_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    vector: bytes
    like: str
    similarity: Similarity
    limit: int
    ef: int
    exact: bool
    max_distance: float
    include: Include
    filter: Filter
    def __init__(self, vector: _Optional[bytes] = ..., like: _Optional[str] = ..., similarity: _Optional[_Union[Similarity, str]] = ..., limit: _Optional[int] = ..., ef: _Optional[int] = ..., exact: bool = ..., max_distance: _Optional[float] = ..., include: _Optional[_Union[Include, _Mapping]] = ..., filter: _Optional[_Union[Filter, _Mapping]] = ...) -> None: ...

class SearchRequest(_message.Message):
    __slots__ = ("queries", "collection")
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    queries: _containers.RepeatedCompositeFieldContainer[Query]
    collection: str
    def __init__(self, queries: _Optional[_Iterable[_Union[Query, _Mapping]]] = ..., collection: _Optional[str] = ...) -> None: ...

class Neighbours(_message.Message):
    __slots__ = ("points",)
    POINTS_FIELD_NUMBER: _ClassVar[int]
    points: _containers.RepeatedCompositeFieldContainer[Point]
    def __init__(self, points: _Optional[_Iterable[_Union[Point, _Mapping]]] = ...) -> None: ...

class SearchResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[Neighbours]
    def __init__(self, results: _Optional[_Iterable[_Union[Neighbours, _Mapping]]] = ...) -> None: ...

class ScrollRequest(_message.Message):
    __slots__ = ("limit", "after", "order", "include", "collection", "filter")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    limit: int
    after: str
    order: Order
    include: Include
    collection: str
    filter: Filter
    def __init__(self, limit: _Optional[int] = ..., after: _Optional[str] = ..., order: _Optional[_Union[Order, str]] = ..., include: _Optional[_Union[Include, _Mapping]] = ..., collection: _Optional[str] = ..., filter: _Optional[_Union[Filter, _Mapping]] = ...) -> None: ...

class ScrollResponse(_message.Message):
    __slots__ = ("points", "next")
    POINTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    points: _containers.RepeatedCompositeFieldContainer[Point]
    next: str
    def __init__(self, points: _Optional[_Iterable[_Union[Point, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class ScrollStreamRequest(_message.Message):
    __slots__ = ("after", "order", "include", "collection", "filter")
    AFTER_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    after: str
    order: Order
    include: Include
    collection: str
    filter: Filter
    def __init__(self, after: _Optional[str] = ..., order: _Optional[_Union[Order, str]] = ..., include: _Optional[_Union[Include, _Mapping]] = ..., collection: _Optional[str] = ..., filter: _Optional[_Union[Filter, _Mapping]] = ...) -> None: ...

class ScrollStreamResponse(_message.Message):
    __slots__ = ("points", "next")
    POINTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    points: _containers.RepeatedCompositeFieldContainer[Point]
    next: str
    def __init__(self, points: _Optional[_Iterable[_Union[Point, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class CountRequest(_message.Message):
    __slots__ = ("collection", "filter")
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    collection: str
    filter: Filter
    def __init__(self, collection: _Optional[str] = ..., filter: _Optional[_Union[Filter, _Mapping]] = ...) -> None: ...

class CountResponse(_message.Message):
    __slots__ = ("count",)
    COUNT_FIELD_NUMBER: _ClassVar[int]
    count: int
    def __init__(self, count: _Optional[int] = ...) -> None: ...

class DeleteRequest(_message.Message):
    __slots__ = ("ids", "all", "confirm", "collection", "filter")
    IDS_FIELD_NUMBER: _ClassVar[int]
    ALL_FIELD_NUMBER: _ClassVar[int]
    CONFIRM_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[str]
    all: bool
    confirm: int
    collection: str
    filter: Filter
    def __init__(self, ids: _Optional[_Iterable[str]] = ..., all: bool = ..., confirm: _Optional[int] = ..., collection: _Optional[str] = ..., filter: _Optional[_Union[Filter, _Mapping]] = ...) -> None: ...

class DeleteResponse(_message.Message):
    __slots__ = ("deleted", "missing")
    DELETED_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    deleted: int
    missing: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, deleted: _Optional[int] = ..., missing: _Optional[_Iterable[str]] = ...) -> None: ...

class PointUpdate(_message.Message):
    __slots__ = ("id", "content", "content_type", "metadata")
    ID_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    id: str
    content: str
    content_type: ContentType
    metadata: str
    def __init__(self, id: _Optional[str] = ..., content: _Optional[str] = ..., content_type: _Optional[_Union[ContentType, str]] = ..., metadata: _Optional[str] = ...) -> None: ...

class UpdateRequest(_message.Message):
    __slots__ = ("points", "collection")
    POINTS_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    points: _containers.RepeatedCompositeFieldContainer[PointUpdate]
    collection: str
    def __init__(self, points: _Optional[_Iterable[_Union[PointUpdate, _Mapping]]] = ..., collection: _Optional[str] = ...) -> None: ...

class UpdateResponse(_message.Message):
    __slots__ = ("updated", "missing")
    UPDATED_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    updated: int
    missing: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, updated: _Optional[int] = ..., missing: _Optional[_Iterable[str]] = ...) -> None: ...

class InfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class InfoResponse(_message.Message):
    __slots__ = ("version", "dimension", "points", "bytes", "graphs", "limits", "filter_index")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    DIMENSION_FIELD_NUMBER: _ClassVar[int]
    POINTS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    GRAPHS_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    FILTER_INDEX_FIELD_NUMBER: _ClassVar[int]
    version: str
    dimension: int
    points: int
    bytes: int
    graphs: _containers.RepeatedCompositeFieldContainer[Graph]
    limits: Limits
    filter_index: _containers.RepeatedCompositeFieldContainer[FilterIndex]
    def __init__(self, version: _Optional[str] = ..., dimension: _Optional[int] = ..., points: _Optional[int] = ..., bytes: _Optional[int] = ..., graphs: _Optional[_Iterable[_Union[Graph, _Mapping]]] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., filter_index: _Optional[_Iterable[_Union[FilterIndex, _Mapping]]] = ...) -> None: ...

class Graph(_message.Message):
    __slots__ = ("similarity", "state", "slots", "linked", "bytes", "idle_seconds")
    SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    LINKED_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    IDLE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    similarity: Similarity
    state: GraphState
    slots: int
    linked: int
    bytes: int
    idle_seconds: int
    def __init__(self, similarity: _Optional[_Union[Similarity, str]] = ..., state: _Optional[_Union[GraphState, str]] = ..., slots: _Optional[int] = ..., linked: _Optional[int] = ..., bytes: _Optional[int] = ..., idle_seconds: _Optional[int] = ...) -> None: ...

class FilterIndex(_message.Message):
    __slots__ = ("field", "state", "bytes")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    field: str
    state: FilterIndexState
    bytes: int
    def __init__(self, field: _Optional[str] = ..., state: _Optional[_Union[FilterIndexState, str]] = ..., bytes: _Optional[int] = ...) -> None: ...

class Limits(_message.Message):
    __slots__ = ("max_request_bytes", "max_batch", "max_content_bytes", "max_search_work", "max_inflight_bytes", "max_filter_index_bytes")
    MAX_REQUEST_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_BATCH_FIELD_NUMBER: _ClassVar[int]
    MAX_CONTENT_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_SEARCH_WORK_FIELD_NUMBER: _ClassVar[int]
    MAX_INFLIGHT_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_FILTER_INDEX_BYTES_FIELD_NUMBER: _ClassVar[int]
    max_request_bytes: int
    max_batch: int
    max_content_bytes: int
    max_search_work: int
    max_inflight_bytes: int
    max_filter_index_bytes: int
    def __init__(self, max_request_bytes: _Optional[int] = ..., max_batch: _Optional[int] = ..., max_content_bytes: _Optional[int] = ..., max_search_work: _Optional[int] = ..., max_inflight_bytes: _Optional[int] = ..., max_filter_index_bytes: _Optional[int] = ...) -> None: ...
