"""A headless Chromium that a test drives: the DevTools protocol over two pipes."""

import itertools
import json
import os
import select
import shutil
import subprocess
import time

NAMES = ("chromium-headless-shell", "chromium", "google-chrome")
PATIENCE = 60  # seconds


def find_browser():
    """The program, or None."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """One page, without a network. What it says and asks for is gathered: `errors` (of the console
    and uncaught), `requests` (URLs)."""

    def __init__(self, profile, width=1200, height=900):
        theirs_in, self.to = os.pipe()
        self.of, theirs_out = os.pipe()
        words = [
            find_browser(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={profile}",
            f"--window-size={width},{height}", "--remote-debugging-pipe", "about:blank",
        ]  # fmt: skip
        # The protocol's pipes are 3 (its input) and 4.
        shell = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self.process = subprocess.Popen(
            ["bash", "-c", shell, "browser", *words], pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)
        self.numbers = itertools.count(1)
        self.rest, self.session = b"", None
        self.events, self.errors, self.requests = [], [], []
        self.start()

    def start(self):
        page = next(target for target in self.call("Target.getTargets")["targetInfos"] if target["type"] == "page")
        words = {"targetId": page["targetId"], "flatten": True}
        self.session = self.call("Target.attachToTarget", **words)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        self.session = None
        self.call("Browser.close")
        self.process.wait(PATIENCE)
        os.close(self.to)
        os.close(self.of)

    def receive(self, until):
        """The next message."""
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.of], [], [], max(0, until - time.monotonic()))
            part = os.read(self.of, 1 << 16) if ready else b""
            if not part:
                raise RuntimeError("the browser " + ("ended" if ready else "does not answer"))
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def note(self, event):
        """Keeps what a test asks about."""
        self.events.append(event["method"])
        told = event["params"]
        if event["method"] == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif event["method"] == "Runtime.consoleAPICalled" and told["type"] in ("error", "assert"):
            self.errors.append(" ".join(str(word.get("value", word)) for word in told["args"]))
        elif event["method"] == "Log.entryAdded" and told["entry"]["level"] == "error":
            self.errors.append(told["entry"]["text"])
        elif event["method"] == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])

    def call(self, method, **words):
        """The result of a command of the protocol."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": words}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            answer = self.receive(until)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.note(answer)

    def open(self, path):
        """Loads the file to its end."""
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        until = time.monotonic() + PATIENCE
        while "Page.loadEventFired" not in self.events:
            self.note_next(until)

    def note_next(self, until):
        message = self.receive(until)
        if "method" in message:
            self.note(message)

    def ask(self, script):
        """The value of a JavaScript expression."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait_for(self, script):
        """Until the expression is true."""
        until = time.monotonic() + PATIENCE
        while not self.ask(script):
            if time.monotonic() > until:
                raise RuntimeError(f"never true: {script}")
            time.sleep(0.05)

    def resize(self, width, height):
        """The page as on a screen of that size."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=True)

    def click(self, element):
        """Clicks with the mouse into the middle of what the JavaScript expression names."""
        place = self.ask(
            f"(() => {{ const e = {element}; e.scrollIntoView({{block: 'center'}});"
            " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        mouse = {"x": place[0], "y": place[1], "button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
        self.call("Input.dispatchMouseEvent", type="mousePressed", **mouse)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", **mouse)
