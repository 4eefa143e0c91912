// Shows the values under the pointer, and hides runs whose box is not checked. The drawing itself
// needs no script.
"use strict";
(() => {
  const runs = JSON.parse(document.getElementById("data").textContent);
  const svg = document.querySelector("#chart svg");
  const readout = document.getElementById("readout");
  const hidden = new Set();

  document.querySelectorAll("input[data-run]").forEach((box) => {
    box.addEventListener("change", () => {
      const index = Number(box.dataset.run);
      box.checked ? hidden.delete(index) : hidden.add(index);
      svg.querySelector(`.run[data-run="${index}"]`).classList.toggle("hidden", !box.checked);
    });
  });

  const nearest = (points, iteration) => {
    let best = null;
    for (const point of points) {
      if (best === null || Math.abs(point[0] - iteration) < Math.abs(best[0] - iteration)) best = point;
    }
    return best;
  };

  const { left, right, low, high } = svg.dataset;
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const x = (event.clientX - box.left) * (svg.viewBox.baseVal.width / box.width);
    const share = (x - Number(left)) / (Number(right) - Number(left));
    if (share < 0 || share > 1) return;
    const iteration = Math.round(Number(low) + share * (Number(high) - Number(low)));
    const parts = runs.flatMap((run, index) => {
      if (hidden.has(index)) return [];
      const loss = nearest(run.loss, iteration), val = nearest(run.val, iteration);
      const values = [];
      if (loss) values.push(`loss ${loss[1].toFixed(4)}`);
      if (val) values.push(`val ${val[1].toFixed(4)} (at ${val[0]})`);
      return [`${run.name}: ${values.join(", ")}`];
    });
    readout.textContent = `iteration ${iteration}   ${parts.join("   ")}`;
  });
})();
