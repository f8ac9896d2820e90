"""One module per server, each with a class of the same interface, on top of ../server.py:

    title, client       what it is called, and how it is spoken to
    BATCH, LOADERS      points in a request while loading, and connections that load
    setting             what it is told, in words
    metric              how close two vectors are, which comes with the set
    versions()          name and version of what runs, in words
    prepare()           what comes before the first start
    command()           what starts it, and `environment()`, `user` besides
    ready()             whether it takes requests: asked for until it does
    create()            makes an empty collection of the dimension
    connect()           a connection, with `call(request)`
    insert(rows, vectors)  the request that stores these, `rows` being their numbers
    insert_one(row, vector)  the request of a client that has this one point to store
    learn(rows, answer)    learns from the answer what the server calls the points
    index()             has them indexed, if that is a step of its own, or waits until they are;
                        answers when they were
    settle()            what it would do by itself some time after a load
    search(query), search_batch(queries)  requests for the K nearest, with the breadth `ef`;
                        `search_batch` is None where there is no such request
    found(answer), found_batch(answer)    the numbers of the rows that were found
    set_ef(ef)          the breadth of the searches to come
    crew(requests, connections, start, end, cycle)  its clients in a slice, if not processes

Where points have contents (../payload.py), single inserts and batches are not asked for; besides:

    payload             whether a search asks for distances and contents
    contents(answer)    the contents of the rows that were found

All keep what they store as durable as they do by themselves, but for Redis, which is told to sync.
"""
