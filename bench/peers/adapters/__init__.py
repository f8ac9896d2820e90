"""One module per library, each with the same small interface:

    Index(metric, m, ef_construction, storage)  an empty index; storage is the type of its values
    .parameters                                 what it is built with, in words
    .build(base, threads)                       indexes the rows of an f32 array
    .set_ef(ef)                                 the breadth of the searches to come
    .search_batch(queries, k)                   rows of the k nearest to each query, one thread
    .evaluations                                distances of the last batch; None if not known

Under Cosine the vectors come at length 1, so that no library spends time on norms.

Where a library answers the queries of a batch one after the other, it gets them in one call, which
takes Python out of the measured time.
"""
