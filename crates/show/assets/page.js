"use strict";
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const plain = (text) => (text.includes(".") && !text.includes("e") ? text.replace(/\.?0+$/, "") : text).replace("-", "\u2212");
  const number = (value) => {
    if (value == null || !isFinite(value)) return "\u2013";
    const size = Math.abs(value);
    return plain(size !== 0 && (size < 1e-4 || size >= 1e6) ? value.toExponential(4) : value.toPrecision(6));
  };
  const tick = (value, step) => {
    if (Math.abs(value) < 1e-9 * step) return "0";
    if (Math.abs(value) >= 1e5 || step < 1e-4) return plain(value.toExponential(2)).replace(/\.?0+e/, "e").replace("e+", "e");
    let digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
    // 0.025 needs three.
    while (digits < 9 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6) digits += 1;
    return value.toFixed(digits).replace("-", "\u2212");
  };
  const data = (figure) => JSON.parse(figure.querySelector("script.data").textContent);
  const plots = [];
  let now = null;

  // The time of the film, as a line over the plot: cheaper to move than to draw anew.
  const follow = (plot) => {
    const x = now === null ? -1 : plot.valToPos(now, "x");
    plot.instant.hidden = !(x >= 0 && x <= plot.over.clientWidth);
    plot.instant.style.left = `${x}px`;
  };

  const lines = (marks) => (u) => {
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio || 1;
    const line = (time, word, stroke, dash) => {
      const x = Math.round(u.valToPos(time, "x", true)) + 0.5;
      if (!(x >= bbox.left - 1 && x <= bbox.left + bbox.width + 1)) return;
      ctx.save();
      ctx.strokeStyle = ctx.fillStyle = stroke;
      ctx.lineWidth = 1.5 * ratio;
      ctx.setLineDash(dash.map((length) => length * ratio));
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      const right = x > bbox.left + bbox.width / 2;
      ctx.font = `${12 * ratio}px system-ui, sans-serif`;
      ctx.textAlign = right ? "right" : "left";
      ctx.textBaseline = "top";
      ctx.fillText(word, x + (right ? -5 : 5) * ratio, bbox.top + 4 * ratio);
      ctx.restore();
    };
    for (const [time, word] of marks) line(time, word, colour("bad"), [5, 4]);
  };

  const chart = (figure) => {
    const given = data(figure);
    const box = figure.querySelector(".live");
    const readout = figure.querySelector(".readout");
    const axis = (label) => ({
      label, stroke: () => colour("soft"), labelFont: "13px system-ui, sans-serif", font: "12px system-ui, sans-serif",
      grid: { stroke: () => colour("line"), width: 1 }, ticks: { stroke: () => colour("line"), width: 1 }, labelSize: 22,
      values: (u, ticks) => ticks.map((value) => tick(value, Math.abs(ticks[1] - ticks[0]) || 1)),
    });
    const vertical = axis(given.y);
    const powers = (u, ticks) => ticks.map((value) => (value && /^1e/.test(value.toExponential()) ? value.toExponential().replace("e+", "e") : ""));
    vertical.size = (u, words) => 20 + 7.6 * Math.max(3, ...(words || []).map((word) => word.length));
    const size = () => ({ width: Math.max(260, box.clientWidth), height: innerWidth < 640 ? 220 : 280 });
    const dash = [undefined, [8, 4], [2, 3]];
    // A curve that is closer than a line is wide to an earlier one, over more than half of its points, would hide it.
    const known = given.values.flat().filter((value) => value !== null);
    const near = (known.reduce((a, b) => Math.max(a, b), -Infinity) - known.reduce((a, b) => Math.min(a, b), Infinity)) * 1.8 / 280;
    const isNear = (value, other) => value !== null && other !== null && Math.abs(value - other) < near;
    const hides = given.values.map((values, k) => given.values.slice(0, k).some((other) => 2 * values.filter((value, at) => isNear(value, other[at])).length > values.length));
    // Where values grow without bound the axis stays with the others.
    const cutOff = (u, low, high) => {
      if (low === null || high === null) return [null, null];
      const [least, most] = given.limits;
      const isBeyond = low > most || high < least;
      return isBeyond ? uPlot.rangeNum(low, high, 0.1, true) : uPlot.rangeNum(Math.max(low, least), Math.min(high, most), 0.1, true);
    };
    const sizes = given.values.map((values) => values.map((value) => (value === null || value === 0 ? null : Math.abs(value))));
    // Of sizes on a logarithmic axis, or of values.
    const options = (log) => ({
      ...size(),
      scales: { x: { time: false }, y: log ? { distr: 3 } : given.limits ? { range: cutOff } : {} },
      axes: [{ ...axis(given.x), size: 34 }, log ? { ...vertical, values: powers } : vertical],
      series: [{ label: "t", value: (u, value, k, at) => (at == null ? "" : number(value)) }].concat(given.names.map((label, k) => ({
        label, stroke: () => colour("c" + (k % 6)), width: 1.8, dash: dash[(Math.floor(k / 6) + hides[k]) % 3], points: { show: false }, pxAlign: 0,
        value: (u, value, k, at) => (at == null ? "" : number(value)),
      }))),
      legend: { markers: { width: 0, fill: (u, k) => `var(--c${(k - 1) % 6})` } },
      cursor: { sync: { key: "time" }, drag: { x: true, y: false } },
      hooks: { draw: [lines(given.marks), (u) => { if (u.instant) follow(u); }] },
    });
    box.hidden = false;
    figure.querySelector(".still").style.display = "none";
    let plot = null;
    const build = (log) => {
      if (plot) { plots.splice(plots.indexOf(plot), 1); plot.destroy(); }
      plot = new uPlot(options(log), [given.times, ...(log ? sizes : given.values)], box);
      plot.instant = document.createElement("div");
      plot.instant.className = "instant";
      plot.over.appendChild(plot.instant);
      follow(plot);
      plots.push(plot);
      legend();
    };
    new ResizeObserver(() => { if (plot && box.clientWidth && Math.abs(box.clientWidth - plot.width) > 1) plot.setSize(size()); }).observe(box);
    const legend = () => {
      for (const row of plot.root.querySelectorAll(".u-legend .u-series")) {
        const head = row.querySelector("th");
        if (!head || row === row.parentNode.firstElementChild) continue;
        head.tabIndex = 0;
        head.setAttribute("role", "button");
        head.setAttribute("aria-label", `show or hide ${head.textContent}`);
        head.addEventListener("keydown", (event) => {
          if (event.key === "Enter" || event.key === " ") { head.click(); event.preventDefault(); event.stopPropagation(); }
        });
      }
    };
    const tools = document.createElement("span");
    tools.className = "tools";
    const tool = (name, label, act) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      button.setAttribute("aria-label", label);
      button.addEventListener("click", () => act(button));
      tools.appendChild(button);
    };
    let isLog = given.log;
    if (!given.log && sizes.some((values) => values.some((value) => value !== null))) {
      tool("log", "sizes on a logarithmic axis", (button) => {
        isLog = !isLog;
        button.setAttribute("aria-pressed", isLog);
        build(isLog);
      });
    }
    tool("CSV", `save the values of ${given.names.join(", ")}`, () => {
      const cell = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
      const rows = [["time", ...given.names].map(cell).join(",")];
      given.times.forEach((time, k) => rows.push([time, ...given.values.map((values) => values[k] ?? "")].join(",")));
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([rows.join("\n") + "\n"], { type: "text/csv" }));
      link.download = `${document.title}-${given.names[0]}.csv`.replace(/[^\w.-]+/g, "_");
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
    figure.querySelector("figcaption").appendChild(tools);
    const last = given.times.length - 1;
    const ends = [given.times[0], given.times[last]];
    let at = 0;
    const show = () => {
      plot.setCursor({ left: plot.valToPos(given.times[at], "x"), top: 10 });
      const values = given.names.map((name, k) => `${name} = ${number(given.values[k][at])}`);
      readout.textContent = `t = ${number(given.times[at])}: ${values.join(", ")}`;
    };
    const zoom = (factor) => {
      const { min, max } = plot.scales.x;
      const middle = Math.min(max, Math.max(min, given.times[at]));
      const range = { min: Math.max(ends[0], middle + factor * (min - middle)), max: Math.min(ends[1], middle + factor * (max - middle)) };
      plot.setScale("x", range);
      show();
    };
    box.addEventListener("keydown", (event) => {
      const stride = event.shiftKey ? Math.ceil(last / 20) : 1;
      const moves = { ArrowLeft: at - stride, ArrowRight: at + stride, Home: 0, End: last };
      if (event.key in moves) { at = Math.min(last, Math.max(0, moves[event.key])); show(); }
      else if (event.key === "+" || event.key === "=") zoom(0.5);
      else if (event.key === "-") zoom(2);
      else if (event.key === "0" || event.key === "Escape") { plot.setScale("x", { min: ends[0], max: ends[1] }); show(); }
      else return;
      event.preventDefault();
    });
    build(isLog);
  };

  const film = (figure) => {
    const { times, lengths, frames, marks } = data(figure);
    const [button, scrub, output, pace] = ["button", "input", "output", "select"].map((name) => figure.querySelector(name));
    const rods = figure.querySelectorAll(".now path");
    const joints = figure.querySelectorAll(".now circle");
    const path = (points) => {
      let open = false;
      return points.map((point) => {
        const piece = point ? (open ? "L" : "M") + point.join(" ") : "";
        open = point !== null;
        return piece;
      }).join("");
    };
    const nearest = (time) => {
      let best = 0;
      times.forEach((other, k) => { if (Math.abs(other - time) < Math.abs(times[best] - time)) best = k; });
      return best;
    };
    const noted = new Map(marks.map(([time, word]) => [nearest(time), word]));
    const show = (k) => {
      let first = 0;
      rods.forEach((rod, line) => {
        rod.setAttribute("d", path(frames[k].slice(first, first + lengths[line])));
        first += lengths[line];
      });
      joints.forEach((joint) => {
        const point = frames[k][joint.dataset.k];
        joint.setAttribute("cx", point ? point[0] : -1000);
        joint.setAttribute("cy", point ? point[1] : -1000);
      });
      const word = noted.has(k) ? ` (${noted.get(k)})` : "";
      output.textContent = `t = ${number(times[k])}${word}`;
      scrub.value = k;
      scrub.setAttribute("aria-valuetext", output.textContent);
      now = times[k];
      plots.forEach(follow);
    };
    let running = false;
    let from = 0;
    let began = 0;
    const length = 6000;
    const stop = () => { running = false; button.textContent = "Play"; };
    const step = (clock) => {
      if (!running) return;
      // A frame that was begun before the click has an earlier clock.
      const k = Math.round(from + (Math.max(0, clock - began) * pace.value * (times.length - 1)) / length);
      show(Math.min(k, times.length - 1));
      if (k >= times.length - 1) stop(); else requestAnimationFrame(step);
    };
    button.addEventListener("click", () => {
      if (running) return stop();
      running = true;
      button.textContent = "Pause";
      from = +scrub.value >= times.length - 1 ? 0 : +scrub.value;
      began = performance.now();
      requestAnimationFrame(step);
    });
    pace.addEventListener("change", () => { from = +scrub.value; began = performance.now(); });
    scrub.addEventListener("input", () => { stop(); show(+scrub.value); });
    figure.querySelector(".controls").hidden = false;
    show(0);
    now = null;
  };

  document.querySelectorAll(".hint").forEach((hint) => { hint.hidden = false; });
  document.querySelectorAll(".chart").forEach(chart);
  document.querySelectorAll(".film").forEach(film);
  dark.addEventListener("change", () => plots.forEach((plot) => plot.redraw()));
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((details) => { details.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((details) => { details.open = false; }));
})();
