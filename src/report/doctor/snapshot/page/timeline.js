// Draws the timeline, stacked by role, and shows the figures under the pointer or the arrow keys.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const host = document.getElementById("picture");
  if (!host || data.points.length === 0) return;
  const { roles, points, words } = data;
  const readout = document.getElementById("readout");
  // As wide as the page shows it, so that its words keep their size on a phone.
  const width = Math.min(900, Math.max(300, host.clientWidth || 900)), height = width < 600 ? 260 : 340;
  const left = 64, right = 14, top = 22, bottom = 30;
  const SVG = "http://www.w3.org/2000/svg";

  const totals = points.map((point) => point[1].reduce((sum, bytes) => sum + bytes, 0));
  const most = Math.max(1, ...totals);
  const first = points[0][0], last = Math.max(first + 1, points[points.length - 1][0]);
  const x = (event) => left + ((event - first) / (last - first)) * (width - left - right);
  const y = (bytes) => height - bottom - (bytes / (most * 1.06)) * (height - top - bottom);

  const amount = (bytes) => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0, value = bytes;
    while (value >= 1024 && unit + 1 < units.length) { value /= 1024; ++unit; }
    return `${value.toFixed(unit === 0 ? 0 : 2).replace(".", words.decimal)} ${units[unit]}`;
  };
  const colour = (role) => (role.band < 0 ? "var(--line)" : `var(--band-${role.band})`);

  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const add = (name, attributes, text) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    svg.appendChild(element);
    return element;
  };

  // Steps of 1, 2 or 5 of a power of two that has a unit.
  const step = (() => {
    const unit = Math.pow(1024, Math.floor(Math.log(most) / Math.log(1024)));
    const raw = most / unit / 4, power = Math.pow(10, Math.floor(Math.log10(raw)));
    return unit * power * [1, 2, 5, 10].find((factor) => factor * power >= raw);
  })();
  for (let bytes = 0; bytes <= most * 1.05; bytes += step) {
    add("line", { class: "grid-line", x1: left, x2: width - right, y1: y(bytes), y2: y(bytes) });
    add("text", { class: "axis", x: left - 6, y: y(bytes) + 4, "text-anchor": "end" }, amount(bytes));
  }
  add("text", { class: "axis", x: left, y: height - 9 }, `${words.event} ${first}`);
  add("text", { class: "axis", x: width - right, y: height - 9, "text-anchor": "end" }, `${last}`);

  // Every point holds until the next one: steps, from below to above.
  let base = points.map(() => 0);
  roles.forEach((role, index) => {
    const above = points.map((point, i) => base[i] + point[1][index]);
    let path = "";
    points.forEach((point, i) => {
      const end = i + 1 < points.length ? points[i + 1][0] : last;
      path += `${i === 0 ? "M" : "L"}${x(point[0]).toFixed(1)} ${y(above[i]).toFixed(1)}H${x(end).toFixed(1)}`;
    });
    for (let i = points.length - 1; i >= 0; --i) {
      const end = i + 1 < points.length ? points[i + 1][0] : last;
      path += `L${x(end).toFixed(1)} ${y(base[i]).toFixed(1)}H${x(points[i][0]).toFixed(1)}`;
    }
    add("path", { class: "band", d: `${path}Z`, fill: colour(role) });
    base = above;
  });

  const peak = points[data.peak];
  const anchor = (at) => (x(at) > width * 0.7 ? "end" : x(at) < width * 0.2 ? "start" : "middle");
  add("circle", { class: "peak", cx: x(peak[0]), cy: y(totals[data.peak]), r: 3.5 });
  add("text", { class: "peak-name", x: x(peak[0]) - 6, y: y(totals[data.peak]) - 7, "text-anchor": anchor(peak[0]) },
      `${words.peak} ${amount(totals[data.peak])}`);
  if (data.failure !== null && data.failure >= first) {
    const at = x(Math.min(last, data.failure));
    add("line", { class: "mark", x1: at, x2: at, y1: 4, y2: height - bottom });
    add("text", { class: "mark-name", x: at - 5, y: height - bottom - 8, "text-anchor": "end" }, words.failure);
  }
  const cursor = add("line", { class: "cursor", x1: -9, x2: -9, y1: top, y2: height - bottom });
  host.appendChild(svg);

  const element = (name, text, className) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };
  const show = (index) => {
    const point = points[index];
    cursor.setAttribute("x1", x(point[0]));
    cursor.setAttribute("x2", x(point[0]));
    const table = element("table"), body = element("tbody");
    const row = (name, bytes, role) => {
      const line = element("tr", undefined, role ? "" : "total"), head = element("th");
      if (role) {
        const swatch = element("span", undefined, "swatch");
        swatch.style.setProperty("--band", colour(role));
        head.append(swatch);
      }
      head.append(name);
      line.append(head, element("td", amount(bytes)));
      body.append(line);
    };
    for (let i = roles.length - 1; i >= 0; --i) {
      if (point[1][i] > 0) row(roles[i].name, point[1][i], roles[i]);
    }
    row(words.total, totals[index]);
    table.append(body);
    const parts = [`${words.event} ${point[0]}`];
    if (point[2]) parts.push(`${words.largest}: ${point[2].filter((part) => part !== "").join(" · ")}`);
    readout.replaceChildren(element("p", parts.join("   "), "head"), table);
  };

  let shown = data.peak;
  const move = (index) => {
    shown = Math.min(points.length - 1, Math.max(0, index));
    show(shown);
  };
  host.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * width;
    const wanted = first + ((at - left) / (width - left - right)) * (last - first);
    let index = points.findIndex((point) => point[0] > wanted) - 1;
    if (index < -1) index = points.length - 1;
    move(index);
  });
  host.addEventListener("keydown", (event) => {
    const far = event.shiftKey ? 20 : 1;
    if (event.key === "ArrowLeft") move(shown - far);
    else if (event.key === "ArrowRight") move(shown + far);
    else return;
    event.preventDefault();
  });
  move(shown);
})();
