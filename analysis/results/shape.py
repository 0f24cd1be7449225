"""What a JSON document must be like: told where it is not, by the dotted path of a value."""

import json

WORDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


def shown(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:40] + "..."


def is_one(value, kind):
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def check(value, shape, path=""):
    """A shape is a type; a tuple of shapes of which one fits, where None is null; [shape] of every
    item of a list; {key: shape} of an object's keys, of which one that ends with "?" may be missing;
    {str: shape} of every key; `object`: anything. Raises ValueError."""
    if shape is object:
        return
    if isinstance(shape, tuple):
        if value is None and None in shape:
            return
        return check(value, next(one for one in shape if one is not None), path)
    kind = shape if isinstance(shape, type) else type(shape)
    if not is_one(value, kind):
        raise ValueError(f"{path or 'it'}: expected {WORDS[kind]}, got {shown(value)}")
    if kind is list and shape is not list:
        for i, item in enumerate(value):
            check(item, shape[0], f"{path}[{i}]")
    if kind is not dict or shape is dict:
        return
    begin = path and path + "."
    if str in shape:
        for key, item in value.items():
            check(item, shape[str], begin + key)
        return
    for key, its in shape.items():
        name = key.removesuffix("?")
        if name in value:
            check(value[name], its, begin + name)
        elif name == key:
            raise ValueError(f"{begin}{name}: is missing")
