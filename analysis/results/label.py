"""The name of a point among the others."""


class Label(str):
    """As runs.csv has it, "k-async k=4", with its parts: ("", "k-async"), ("k", "4")."""

    def __new__(cls, parts):
        parts = tuple((key, text) for key, text in parts)
        one = super().__new__(
            cls, " ".join(f"{key}={text}" if key else text for key, text in parts)
        )
        one.parts = parts
        return one

    def __reduce__(self):
        return Label, (self.parts,)

    @property
    def phrases(self):
        """["k-async", "k=4"], ["sync until work=0.5"]."""
        found, last = [], ""
        for key, text in self.parts:
            told = f"{key}={text}" if key else text
            if found and (not key or last == "until"):
                found[-1] += " " + told
            else:
                found.append(told)
            last = "" if key else text
        return found

    def without(self, parts):
        """The Label of the other parts; itself where there are none."""
        return Label(part for part in self.parts if part not in parts) or self


def shared_parts(labels):
    """The parts that all of the labels have, in the order of the first."""
    first, *rest = labels
    others = [set(label.parts) for label in rest]
    return [part for part in first.parts if all(part in one for one in others)]
