"""What no JSON schema can express, made true of bodies that are to be accepted.

Schemathesis makes up values that the document allows. Some rules of the bodies below /v1 are on
more than one value, on how a value is written, or on what the service has answered before: the
document has them in words. Here bodies are changed that break one of these, so that every body that
the document allows is to be accepted.
"""

import re

import schemathesis

# An answer's `next`, which stateful tests hand back.
TOKEN = re.compile(r"[A-Za-z0-9_-]{32}")
MAX_WHOLE = 2**53
MAX_DEPTH = 8


@schemathesis.hook
def before_add_examples(context, examples):
    """Changes bodies that are made of the examples of the document, and of what these lack."""
    for case in examples:
        map_case(context, case)


@schemathesis.hook
def map_case(context, case):
    """Changes bodies that are made up."""
    is_positive = case.meta is not None and case.meta.generation.mode.is_positive
    if is_positive and case.path.startswith("/v1/points/") and isinstance(case.body, dict):
        case.body = mended(case.body)
    return case


def mended(body):
    """The body as it is to be: only the document tells what is in it."""
    body = dict(body)
    for name in ("points", "queries"):
        if name in body:
            body[name] = [mended_item(item) for item in body[name]]
    if "points" in body:
        body["points"] = distinct(body["points"])
    if isinstance(body.get("filter"), dict):
        body["filter"] = mended_filter(body["filter"])
    if isinstance(body.get("after"), str) and not TOKEN.fullmatch(body["after"]):
        body["after"] = None
    return body


def mended_item(item):
    """A point or a query of several."""
    item = dict(item)
    if isinstance(item.get("filter"), dict):
        item["filter"] = mended_filter(item["filter"])
    if isinstance(item.get("metadata"), dict):
        metadata = item["metadata"].items()
        item["metadata"] = {key: mended_value(value) for key, value in metadata}
    return item


def mended_filter(value, depth=0):
    """A filter in which no more than a few others lie within each other."""
    if depth > MAX_DEPTH:
        return {"year": 2024}
    kept = {}
    for key, inner in value.items():
        if key == "$not":
            kept[key] = mended_filter(inner, depth + 1)
        elif key in ("$and", "$or"):
            kept[key] = [mended_filter(one, depth + 1) for one in inner]
        elif isinstance(inner, dict):
            kept[key] = {operator: mended_value(operand) for operator, operand in inner.items()}
        else:
            kept[key] = mended_value(inner)
    return kept


def mended_value(value):
    """A whole number beyond 2^53 has to be written as a float."""
    if isinstance(value, list):
        return [mended_value(item) for item in value]
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return 0.5 if is_whole and abs(value) > MAX_WHOLE else value


def distinct(points):
    """Each id once."""
    seen = set()
    kept = []
    for point in points:
        point_id = (point.get("id") or "").lower()
        if point_id == "" or point_id not in seen:
            kept.append(point)
        seen.add(point_id)
    return kept
