"""In which order the indexes take turns."""


def in_turn(items, turn):
    """The items in the order of this turn. In as many turns as there are items, or twice as many if
    their number is odd, each is first equally often and follows each other one equally often
    (Williams, 1949): whatever one leaves behind in caches and memory, it leaves to all.
    """
    count = len(items)
    # 0, 1, -1, 2, -2 and so on: of an even number, no step from one to the next comes twice.
    places = [(place + 1) // 2 * (1 if place % 2 else -1) for place in range(count)]
    order = [items[(turn + place) % count] for place in places]
    # Of an odd number, half of the steps come twice and the reverse has the others.
    return order[::-1] if count % 2 and turn // count % 2 else order


def passes_in_turn(breadths, turn):
    """Which index makes a pass at which of its breadths, in the order of this round: all at their
    first, then all at their second and so on. Such breadths find about equally much, so that what
    is compared is measured within a second, when the machine does the same.
    """
    for step in range(max(map(len, breadths.values()))):
        names = [name for name, own in breadths.items() if step < len(own)]
        for name in in_turn(names, turn):
            yield name, breadths[name][step]


def one_round(running, turn):
    """A curve of every index, of one pass over all queries at each of its breadths."""
    curves = {name: [] for name in running}
    breadths = {name: process.breadths for name, process in running.items()}
    for name, ef in passes_in_turn(breadths, turn):
        curves[name].append(running[name].one_pass(ef))
    return curves
