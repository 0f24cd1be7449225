"""Which candidate, a point of a scenario's sweep, is best for a target, as gradrace advise asks: advise.py DIR.
What is asked for stands in DIR/asked.new; what is found goes there too, where gradrace takes it from:
advise.csv.new, advise.json.new and the text report.new."""

import sys
import time
from importlib.util import find_spec
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[0] = str(Path(__file__).resolve().parents[1])

from asked import Ended, answer


def advise(asked):
    """{name: text} of what is found, and the exit status; raises Ended."""
    if not find_spec("sklearn"):
        needs = Path(__file__).resolve().parents[1] / "requirements.txt"
        cure = f"{sys.executable} -m pip install --no-deps -r {needs}"
        raise Ended(
            1, f"advise: scikit-learn is not there, which fits its models; {cure} installs it"
        )
    from advise.advice import Advice  # which takes a while to load

    begin = time.monotonic()
    advice = Advice(asked)
    advice.seek()
    advice.seconds = time.monotonic() - begin
    return advice.files(), int(advice.is_cut and not advice.sure)


if __name__ == "__main__":
    sys.exit(answer(Path(sys.argv[1]), advise))
