"""The codes of messages: factors, whole gradients, and what others make of them."""

WHOLE, TOP_K, RANDOM_K, SIGN = "whole gradients", "top-k", "random-k", "sign"


def factors(rank, warm=True, memory=True):
    """The name of factors of that rank."""
    return f"rank {rank}" + ("" if warm else ", cold") + ("" if memory else ", no memory")


def name_of(row):
    """The name of a row's code."""
    code = row["compression"]
    if code["kind"] == "power":
        return factors(code["rank"], code.get("warm_start", True), "memory" in code)
    return {"qsgd": WHOLE, "top-k": TOP_K, "random-k": RANDOM_K, "sign": SIGN}[code["kind"]]


def matrices_of(scenario):
    """Outputs and inputs of each layer of its perceptron."""
    model = scenario["model"]
    sizes = [model["dataset"]["features"], *model["widths"], 10]
    return list(zip(sizes[1:], sizes))


def bytes_of(code, scenario):
    """Of a message of the perceptron; code: a row's."""
    shapes = matrices_of(scenario)
    numbers, biases = sum(a * b for a, b in shapes), sum(a for a, _ in shapes)
    all = numbers + biases
    if code["kind"] == "power":
        return 4 * (sum(min(code["rank"] * (a + b), a * b) for a, b in shapes) + biases)
    if code["kind"] == "top-k":
        places = (all - 1).bit_length()
        return 4 * code["k"] + -(-code["k"] * places // 8)
    if code["kind"] == "sign":
        return -(-all // 8) + 4 * 2 * len(shapes)
    return 4 * all
