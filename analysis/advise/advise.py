"""Which candidate, a point of a scenario's sweep, is best for a target, as gradrace advise asks: advise.py DIR.
What is asked for stands in DIR/asked.new; what is found goes there too, where gradrace takes it from:
advise.csv.new, advise.json.new and the text report.new."""

import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[0] = str(Path(__file__).resolve().parents[1])

from asked import Ended, answer


def advise(asked):
    """{name: text} of what is found, and the exit status; raises Ended."""
    try:
        import sklearn  # noqa: F401  pylint: disable=unused-import
    except ImportError as problem:
        needs = Path(__file__).resolve().parents[1] / "requirements.txt"
        cure = f"{sys.executable} -m pip install --no-deps -r {needs}"
        raise Ended(
            1, f"advise: scikit-learn is not there, which fits its models; {cure} installs it"
        ) from problem
    from advise.advice import Advice  # which needs it

    begin = time.monotonic()
    advice = Advice(asked)
    advice.seek()
    advice.seconds = time.monotonic() - begin
    return advice.files(), int(advice.is_cut and not advice.sure)


if __name__ == "__main__":
    sys.exit(answer(Path(sys.argv[1]), advise))
