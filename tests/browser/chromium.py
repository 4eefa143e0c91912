"""A headless Chromium that a test drives: one process, one page, over the debugging pipe.

Standard library only. Knows the DevTools protocol as far as the tests need it.
"""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

SECONDS = 60  # for one answer; a loaded machine needs a few


class BrowserError(Exception):
    pass


class Chromium:
    """Use as a context manager; the process and its profile end with it."""

    def __enter__(self):
        program = shutil.which("chromium")
        if program is None:
            raise BrowserError("chromium is not installed: apt-get install chromium")
        self.profile = tempfile.TemporaryDirectory(prefix="snug-chromium-")
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        # Chromium reads from 3 and writes to 4. Out of the way first, so that neither overwrites
        # the other.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser, from_browser)]

        def connect():
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-background-networking", "--hide-scrollbars",
             "--remote-debugging-pipe", "--user-data-dir=" + self.profile.name, "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            close_fds=False, preexec_fn=connect)
        for end in (to_browser, from_browser, *ends):
            os.close(end)
        self.buffer = b""
        self.last_id = 0
        self.session = None
        self.events = []
        try:
            self._attach()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        for _ in range(50):  # its children may still be writing
            try:
                self.profile.cleanup()
                return
            except OSError:
                time.sleep(0.1)

    def _attach(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")

    def _receive(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read_end], [], [], max(0, deadline - time.monotonic()))
            chunk = os.read(self.read_end, 1 << 16) if ready else b""
            if not chunk:
                raise BrowserError("chromium does not answer")
            self.buffer += chunk
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method, **params):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_end, data):]
        deadline = time.monotonic() + SECONDS
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def of_kind(self, method):
        return [event["params"] for event in self.events if event["method"] == method]

    def open(self, path, fragment=""):
        """Loads a file anew, and returns when its script has run."""
        self.call("Page.navigate", url="about:blank")
        url = "file://" + os.path.abspath(path)
        self.call("Page.navigate", url=url + fragment)
        deadline = time.monotonic() + SECONDS
        while not self.evaluate("location.protocol === 'file:' && document.readyState === 'complete'"):
            if time.monotonic() > deadline:
                raise BrowserError("the page does not load")
            time.sleep(0.02)

    def evaluate(self, expression):
        """The value of a JavaScript expression; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(f"{expression}: {json.dumps(answer['exceptionDetails'])}")
        return answer["result"].get("value")

    def resize(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=scale, mobile=width < 600)

    def media(self, kind="", **features):
        """kind: "print" or ""; features such as prefers_color_scheme="dark"."""
        self.call("Emulation.setEmulatedMedia", media=kind,
                  features=[{"name": name.replace("_", "-"), "value": value}
                            for name, value in features.items()])

    def mouse(self, kind, x, y):
        button = "none" if kind == "mouseMoved" else "left"
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=1)

    def click(self, selector):
        """Presses the middle of an element, wherever it is on the page."""
        x, y = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center', behavior: 'instant'});"
            " const b = e.getBoundingClientRect();"
            " return [b.x + b.width / 2, b.y + b.height / 2]; })()")
        self.mouse("mousePressed", x, y)
        self.mouse("mouseReleased", x, y)

    def key(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def screenshot(self, path, whole_page=False):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole_page)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
