#!/usr/bin/env python3
"""Opens the page of `snug plot` in Chromium and holds it against the runs' metrics.jsonl.

plot_page_test.py SNUG [--screenshots=DIR]
  DIR    gets wide-light.png, wide-dark.png, phone-light.png
"""
import argparse
import contextlib
import json
import os
import subprocess
import tempfile
import unittest

from chromium import Chromium

SNUG = SHOTS = None
FLOOR = 0.9


def metrics(start, evaluations):
    """A run of 400 iterations whose loss falls towards the floor."""
    lines = []
    for i in range(401):
        loss = FLOOR + start / (1 + i / 40)
        if i % (400 // evaluations) == 0:
            lines.append({"iter": i, "train_loss": loss, "val_loss": loss + 0.05, "floor": FLOOR})
        lines.append({"iter": i, "loss": loss + 0.1 * (-1) ** i, "lr": 1e-3, "grad_norm": 1.0,
                      "time_ms": 2.0, "tokens_per_second": 12345.6})
    return "".join(json.dumps(line) + "\n" for line in lines)


class PlotPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.exit = contextlib.ExitStack()
        folder = cls.exit.enter_context(tempfile.TemporaryDirectory())
        for name, start, evaluations in (("out-a", 3, 8), ("out-<b>", 2, 4)):
            os.mkdir(os.path.join(folder, name))
            with open(os.path.join(folder, name, "metrics.jsonl"), "w") as file:
                file.write(metrics(start, evaluations))
        subprocess.run([SNUG, "plot", "out-a", "out-<b>"], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)
        cls.page, cls.svg = os.path.join(folder, "plot.html"), os.path.join(folder, "plot.svg")
        cls.browser = cls.exit.enter_context(Chromium())

    @classmethod
    def tearDownClass(cls):
        cls.exit.close()

    def setUp(self):
        self.browser.events.clear()
        self.browser.media(prefers_color_scheme="light")
        self.browser.resize(1200, 900)
        self.browser.open(self.page)

    def tearDown(self):
        thrown = self.browser.of_kind("Runtime.exceptionThrown")
        complaints = [entry for entry in self.browser.of_kind("Log.entryAdded")
                      if entry["entry"]["level"] in ("error", "warning")]
        self.assertEqual(thrown + complaints, [], "the page's script or policy complains")

    def js(self, expression):
        return self.browser.evaluate(expression)

    def test_table_and_drawing_show_the_runs(self):
        rows = self.js("[...document.querySelectorAll('tbody tr')].map((r) => r.innerText)")
        self.assertEqual(len(rows), 2)
        self.assertIn("out-<b>", rows[1])
        self.assertIn("12,345", rows[0])
        self.assertIn(f"{FLOOR + 3 / 11 + 0.05:.4f} at 400", rows[0])
        self.assertEqual(self.js("document.querySelectorAll('#chart .run circle').length"), 9 + 5)
        self.assertIn("0.9000", self.js("document.querySelector('.floor').textContent"))

    def test_curves_lie_inside_of_the_axes_and_above_the_floor(self):
        inside = self.js("""(() => {
          const grid = document.querySelector('.grid').getBBox();
          const floor = document.querySelector('.floor path').getBBox().y;
          return [...document.querySelectorAll('.run path')].every((path) => {
            const box = path.getBBox();
            return box.x >= grid.x && box.x + box.width <= grid.x + grid.width + 1 &&
                   box.y + box.height <= floor + 0.5;
          });
        })()""")
        self.assertTrue(inside)

    def test_a_box_hides_its_run(self):
        shown = "getComputedStyle(document.querySelector('.run[data-run=\"1\"]')).display"
        self.assertNotEqual(self.js(shown), "none")
        self.browser.click("input[data-run='1']")
        self.assertEqual(self.js(shown), "none")
        self.browser.click("input[data-run='1']")
        self.assertNotEqual(self.js(shown), "none")

    def test_the_pointer_reads_values(self):
        middle = self.js("""(() => {
          const box = document.querySelector('#chart svg').getBoundingClientRect();
          return [box.x + box.width / 2, box.y + box.height / 2];
        })()""")
        self.browser.mouse("mouseMoved", *middle)
        text = self.js("document.getElementById('readout').textContent")
        self.assertRegex(text, r"iteration \d+ .*out-a: loss \d.*val .*out-<b>: loss")

    def test_pictures(self):
        self.assertTrue(self.js("document.documentElement.scrollWidth <= innerWidth"))
        if SHOTS:
            self.browser.screenshot(os.path.join(SHOTS, "wide-light.png"), whole_page=True)
            self.browser.media(prefers_color_scheme="dark")
            self.browser.screenshot(os.path.join(SHOTS, "wide-dark.png"), whole_page=True)
            self.browser.media(prefers_color_scheme="light")
        self.browser.resize(390, 800)
        self.assertTrue(self.js("document.documentElement.scrollWidth <= innerWidth"))
        heights = self.js("""[...document.querySelectorAll('#chart svg text')].map(
            (text) => text.getBoundingClientRect().height).filter((height) => height > 0)""")
        self.assertGreater(min(heights), 8, "text that can be read on a phone")
        self.assertGreater(self.js("document.querySelector('td').getBoundingClientRect().width"), 100)
        self.assertTrue(self.js("""[...document.querySelectorAll('td')].every(
            (cell) => cell.getBoundingClientRect().right <= innerWidth)"""), "no figure is cut off")
        names = self.js("""[...document.querySelectorAll('tbody tr:first-child td')].slice(1).map(
            (cell) => getComputedStyle(cell, '::before').content.replaceAll('"', ''))""")
        self.assertEqual(names, self.js(
            "[...document.querySelectorAll('th')].slice(1).map((name) => name.textContent)"))
        if SHOTS:
            self.browser.screenshot(os.path.join(SHOTS, "phone-light.png"), whole_page=True)

    def test_the_drawing_stands_alone(self):
        self.browser.open(self.svg)
        self.assertEqual(self.js("document.querySelectorAll('g.run').length"), 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("snug")
    parser.add_argument("--screenshots")
    arguments = parser.parse_args()
    SNUG, SHOTS = os.path.abspath(arguments.snug), arguments.screenshots
    unittest.main(argv=["plot_page_test.py"])
