"""A peer in a process of its own: worker.py MODULE CLASS WORK, where WORK is the work's JSON.

A peer is a class that is made from a work.  advance(minibatches) does at least so many and returns how
many it did; result() says what came out; of images, start_from(number) is another start with other
draws.  Each line of standard input is "advance MINIBATCHES", "result" or "start NUMBER"; each answer is
a line of JSON.  The first line says the peer's version.
"""

import importlib
import json
import os
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[0] = str(Path(__file__).resolve().parents[1])


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    answer = lambda values: print(json.dumps(values), file=answers, flush=True)
    module, name, work = sys.argv[1:]
    module = importlib.import_module(f"peers.{module}")
    peer = getattr(module, name)(json.loads(work))
    answer({"version": module.VERSION})
    for line in sys.stdin:
        command, *count = line.split()
        if command == "result":
            answer(peer.result())
            continue
        if command == "start":
            answer(peer.start_from(int(*count)))
            continue
        wall, processor = time.perf_counter(), time.process_time()
        done = peer.advance(int(*count))
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        answer({"count": done, "seconds": wall, "processor_seconds": processor})


if __name__ == "__main__":
    main()
