#!/usr/bin/env python3
"""Opens a plan's page in Chromium and holds it against the plan.

plan_page_test.py PAGE JSON [--screenshots=DIR]
  PAGE   written by `snug plan ... --html=PAGE`
  JSON   what `snug plan ... --json` printed for the same arguments
  DIR    gets wide-light.png, wide-dark.png, phone-light.png, phone-dark.png
"""
import argparse
import contextlib
import json
import os
import re
import sys
import tempfile
import time
import unittest

from chromium import BrowserError, Chromium

PAGE = JSON = SHOTS = None
ROLES = ["weights", "gradients", "optimizer state", "activations", "loss head", "workspace", "I/O"]


def format_bytes(count):
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if count >= 1024**power:
            return f"{count / 1024**power:.2f} {unit}"
    return f"{count} B"


class PlanPage(unittest.TestCase):
    PICTURE = ("[...document.querySelectorAll('path.band, #peak text')]"
               ".map((part) => part.getAttribute('d') || part.textContent).join()")

    @classmethod
    def setUpClass(cls):
        with open(JSON, encoding="utf-8") as file:
            cls.plan = json.load(file)
            cls.plan["fixes"] = [fix for fix in cls.plan["fixes"] if fix["helps"]]
        cls.exit = contextlib.ExitStack()
        cls.browser = cls.exit.enter_context(Chromium())

    @classmethod
    def tearDownClass(cls):
        cls.exit.close()

    def setUp(self):
        self.browser.events.clear()
        self.browser.media(prefers_color_scheme="light", prefers_reduced_motion="reduce")
        self.browser.resize(1200, 900)
        self.browser.open(PAGE)

    def tearDown(self):
        thrown = self.browser.of_kind("Runtime.exceptionThrown")
        complaints = [entry for entry in self.browser.of_kind("Log.entryAdded")
                      if entry["entry"]["level"] in ("error", "warning")]
        self.assertEqual(thrown + complaints, [], "the page's script or policy complains")

    def js(self, expression):
        return self.browser.evaluate(expression)

    def text(self, selector):
        return self.js(f"document.querySelector({json.dumps(selector)}).textContent.trim()")

    def attribute(self, selector, name):
        return self.js(f"document.querySelector({json.dumps(selector)})"
                       f".getAttribute({json.dumps(name)})")

    def wait_for(self, expression, wanted):
        deadline = time.monotonic() + 10
        while self.js(expression) != wanted and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(self.js(expression), wanted)

    def shown_setting(self):
        return self.js("[...document.querySelectorAll('#fixes tbody tr')]"
                       ".findIndex((row) => row.matches('.on'))")

    def check_headline(self, total_bytes, fits):
        self.assertEqual(self.attribute("#verdict", "data-fits"), str(fits).lower())
        self.assertEqual(self.text("#need"), format_bytes(total_bytes))
        self.assertEqual(self.attribute("#need", "data-bytes"), str(total_bytes))
        self.assertEqual(self.text("#budget"), format_bytes(self.plan["budget"]["limit_bytes"]))
        self.assertEqual("not" in self.text("#word"), not fits)

    def test_headline_is_the_plan_s(self):
        self.check_headline(self.plan["total_bytes"], self.plan["fits"])

    def test_breakdown_ends_in_the_budget(self):
        last = self.text("#breakdown div.sum dd")
        self.assertTrue(last.endswith(format_bytes(self.plan["budget"]["limit_bytes"])), last)

    def test_every_role_has_a_band(self):
        paths = self.js("Object.fromEntries([...document.querySelectorAll('#chart path.band')]"
                        ".map((path) => [path.dataset.role, path.getBBox().height]))")
        self.assertEqual(sorted(paths), sorted(ROLES + ["outside the arena"]))
        for role in ("weights", "activations"):
            self.assertGreater(paths[role], 1, role)

    def test_peak_is_the_plan_s(self):
        peak = self.plan["peak"]
        self.assertEqual(self.attribute("#peak", "data-op"), peak["op"])
        self.assertEqual(self.attribute("#peak", "data-bytes"),
                         str(peak["bytes"] + self.plan["overhead_bytes"]))
        self.assertEqual(self.text("#op"), peak["op"])
        for role in ROLES:
            self.assertEqual(self.text(f'#legend tr[data-role="{role}"] td'),
                             format_bytes(self.plan["roles"][role]), role)
        total = sum(self.plan["roles"][role] for role in ROLES) + self.plan["overhead_bytes"]
        self.assertEqual(self.text("#alive"), format_bytes(total))

    def test_the_largest_tensors_at_the_peak_are_named(self):
        shown = self.js("[...document.querySelectorAll('#largest li')].map((item) =>"
                        " [item.children[0].textContent, item.children[1].textContent])")
        self.assertEqual(len(shown), 5)
        # One per kind of tensor. Only kinds of several tensors can displace the largest of all.
        kind = re.sub(r"(^|\.)h\.\d+\.", r"\1h.*.", self.plan["largest"][0]["name"])
        if not all("×" in detail for _, detail in shown):
            self.assertIn(kind, [re.sub(r"(^|\.)h\.\d+\.", r"\1h.*.", name) for name, _ in shown])

    def test_the_budget_line_lies_where_it_belongs(self):
        # The peak's dot and its bytes give the scale.
        scale, axis, line = self.js(
            "(() => { const y = (e) => e.getBBox();"
            " const axis = y(document.querySelector('.axis')).y;"
            " const peak = document.getElementById('peak');"
            " const dot = Number(peak.querySelector('circle').getAttribute('cy'));"
            " return [(axis - dot) / Number(peak.dataset.bytes), axis,"
            " Number(document.getElementById('budget-line').getAttribute('y1'))]; })()")
        wanted = axis - self.plan["budget"]["limit_bytes"] * scale
        if wanted > 0:
            self.assertAlmostEqual(line, wanted, delta=1.5)
        else:
            self.assertIn("↑", self.text("#budget-label"))

    def test_a_row_per_fix_in_the_plan_s_order(self):
        rows = self.js("[...document.querySelectorAll('#fixes tr[data-name]')].map((row) =>"
                       " [row.dataset.name, Number(row.dataset.totalBytes), row.dataset.fits])")
        wanted = [[fix["name"], fix["total_bytes"], str(fix["fits"]).lower()]
                  for fix in self.plan["fixes"]]
        self.assertEqual(rows[1:], wanted)
        self.assertEqual(rows[0][1], self.plan["total_bytes"])

    def test_a_click_on_a_row_shows_that_fix(self):
        drawn_bytes = self.plan["total_bytes"]
        for index, fix in list(enumerate(self.plan["fixes"], start=1))[:4]:
            before = self.js(self.PICTURE)
            self.browser.click(f'#fixes tr[data-setting="{index}"] button')
            self.wait_for("document.getElementById('need').dataset.bytes", str(fix["total_bytes"]))
            self.check_headline(fix["total_bytes"], fix["fits"])
            self.assertEqual(self.shown_setting(), index)
            self.assertEqual(self.js("location.hash"), f"#setting={index}")
            self.assertEqual(self.attribute(f'#fixes tr[data-setting="{index}"] button',
                                            "aria-pressed"), "true")
            if fix["total_bytes"] != drawn_bytes:
                self.assertNotEqual(self.js(self.PICTURE), before)
            drawn_bytes = fix["total_bytes"]

    def test_back_shows_the_setting_before(self):
        if not self.plan["fixes"]:
            self.skipTest("the plan has no fixes")
        need = "document.getElementById('need').dataset.bytes"
        self.browser.click('#fixes tr[data-setting="1"]')
        self.wait_for(need, str(self.plan["fixes"][0]["total_bytes"]))
        self.js("history.back()")
        self.wait_for(need, str(self.plan["total_bytes"]))

    def test_an_address_opens_its_setting(self):
        if not self.plan["fixes"]:
            self.skipTest("the plan has no fixes")
        index = min(3, len(self.plan["fixes"]))
        fix = self.plan["fixes"][index - 1]
        self.browser.open(PAGE, f"#setting={index}&op=7")
        self.check_headline(fix["total_bytes"], fix["fits"])
        self.assertTrue(self.text("#when").startswith("Op 7 of "))
        self.browser.open(PAGE, "#setting=999&op=999999")
        self.check_headline(self.plan["total_bytes"], self.plan["fits"])

    def test_motion_ends_in_the_exact_picture(self):
        if not self.plan["fixes"]:
            self.skipTest("the plan has no fixes")
        self.browser.open(PAGE, "#setting=1")
        still = self.js(self.PICTURE)
        self.browser.media(prefers_color_scheme="light", prefers_reduced_motion="no-preference")
        self.browser.open(PAGE)
        self.js("void (location.hash = '#setting=1')")
        self.wait_for(f"{self.PICTURE} === {json.dumps(still)}", True)

    def test_pointing_names_op_and_bytes(self):
        x, y, width, height = self.js(
            "(() => { const band = document.querySelector('path.band[data-role=\"weights\"]');"
            "band.scrollIntoView({block: 'center'}); const b = band.getBoundingClientRect();"
            "return [b.x, b.y, b.width, b.height]; })()")
        self.browser.mouse("mouseMoved", x + 0.6 * width, y + height / 2)
        self.wait_for("document.getElementById('when').textContent.startsWith('Op ')", True)
        self.assertTrue(self.text("#op"))
        self.assertRegex(self.text("#phase"), "train|evaluate")
        self.assertEqual(self.attribute("#legend tr.on", "data-role"), "weights")
        self.assertRegex(self.text("#largest"), r"weight.*(float|bfloat)\d+")
        self.assertRegex(self.text("#largest b"), r"^[\d.]+ [KMG]?i?B$")
        self.browser.mouse("mouseMoved", 2, 2)
        self.wait_for("document.getElementById('when').textContent", "At the peak")

    def test_arrow_keys_walk_over_the_ops(self):
        self.js("document.getElementById('chart').focus()")
        for key, wanted in (("Home", 1), ("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2)):
            self.browser.key(key)
            self.wait_for("document.getElementById('chart').getAttribute('aria-valuenow')",
                          str(wanted))
        self.browser.key("ArrowUp")
        self.assertEqual(self.js("document.querySelectorAll('#legend tr.on').length"), 1)
        self.browser.key("End")
        count = self.attribute("#chart", "aria-valuemax")
        self.assertEqual(self.attribute("#chart", "aria-valuenow"), count)
        self.assertEqual(self.js("location.hash"), f"#setting=0&op={count}")
        self.browser.key("Escape")
        self.assertEqual(self.text("#when"), "At the peak")

    def test_nothing_is_asked_for(self):
        with open(PAGE, encoding="utf-8") as file:
            self.assertNotRegex(file.read(), r"https?:")
        asked = {event["request"]["url"].split("#")[0]
                 for event in self.browser.of_kind("Network.requestWillBeSent")}
        self.assertLessEqual(asked, {"file://" + os.path.abspath(PAGE)})

    def test_looks(self):
        """Never wider than the window, in every look, with every setting; colours follow."""
        grounds = {}
        for name, width, height in (("wide", 1200, 900), ("tablet", 768, 1024), ("phone", 360, 800)):
            for scheme in ("light", "dark"):
                self.browser.resize(width, height, 2 if name == "phone" else 1)
                self.browser.media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
                self.browser.open(PAGE)
                for index in range(len(self.plan["fixes"]) + 1):
                    self.js(f"void (location.hash = '#setting={index}')")
                    self.wait_for("[...document.querySelectorAll('#fixes tbody tr')]"
                                  ".findIndex((row) => row.matches('.on'))", index)
                    self.assertLessEqual(self.js("document.documentElement.scrollWidth"), width,
                                         f"{name}, {scheme}, setting {index}")
                grounds[scheme] = self.js("getComputedStyle(document.body).backgroundColor")
                self.browser.open(PAGE)
                shot = os.path.join(SHOTS, f"{name}-{scheme}.png")
                self.browser.screenshot(shot)
                self.assertGreater(os.path.getsize(shot), 10_000)
        self.assertNotEqual(grounds["light"], grounds["dark"])

    def test_print_is_light(self):
        self.browser.media("print", prefers_color_scheme="dark")
        self.assertEqual(self.js("getComputedStyle(document.body).backgroundColor"),
                         "rgb(255, 255, 255)")


def main():
    global PAGE, JSON, SHOTS
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page")
    parser.add_argument("json")
    parser.add_argument("--screenshots")
    arguments, rest = parser.parse_known_args()
    PAGE, JSON = arguments.page, arguments.json
    with tempfile.TemporaryDirectory() as scratch:
        SHOTS = arguments.screenshots or scratch
        os.makedirs(SHOTS, exist_ok=True)
        try:
            with Chromium():
                pass
        except BrowserError as error:
            sys.exit(f"cannot test the page: {error}")
        unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
