// Curves over time: a panel for each unit and size, one cursor for all, singular times marked, the margin as a strip below.
import { make, short } from "./ask.js";

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
/** A number beside an axis. */
const tick = (value) => (value === null ? "" : Math.abs(value) >= 1e5 ? value.toExponential().replace("e+", "e") : short(value, 4));
const MOST_PANELS = 8;
const MOST_CURVES = 7;

const largest = (values) => values.reduce((most, value) => (value !== null && Math.abs(value) > most ? Math.abs(value) : most), 0);

/** Connectors carry the same values under many names: each curve once, with all its names. */
const once = (series) => {
  if (!series.some((one) => one.name.includes("."))) return series;
  const found = new Map();
  for (const one of series) {
    const key = `${one.unit}|${one.values.join()}`;
    if (!found.has(key)) found.set(key, { ...one, names: [] });
    found.get(key).names.push(one.name);
  }
  for (const one of found.values()) one.name = one.names.reduce((a, b) => (b.split(".").length < a.split(".").length ? b : a));
  return [...found.values()];
};

/** Series in panels: by unit, and within one unit by size, so that no curve lies flat beside a large one. */
export const panels = (all) => {
  const series = once(all);
  const order = new Map(series.map((one, at) => [one.name, at]));
  const groups = new Map();
  for (const one of series) {
    if (!groups.has(one.unit)) groups.set(one.unit, []);
    groups.get(one.unit).push({ ...one, size: largest(one.values) });
  }
  const found = [];
  for (const [unit, members] of groups) {
    const moving = members.filter((one) => one.size > 0).sort((a, b) => b.size - a.size);
    const sizes = [];
    for (const one of moving) {
      const last = sizes[sizes.length - 1];
      if (last && last[0].size <= 30 * one.size) last.push(one); else sizes.push([one]);
    }
    if (!moving.length) sizes.push(members.slice(0, MOST_CURVES));
    for (const alike of sizes) {
      alike.sort((a, b) => order.get(a.name) - order.get(b.name));
      const each = Math.ceil(alike.length / Math.ceil(alike.length / MOST_CURVES));
      for (let k = 0; k < alike.length; k += each) found.push({ unit, series: alike.slice(k, k + each) });
    }
  }
  return found.sort((a, b) => order.get(a.series[0].name) - order.get(b.series[0].name));
};

/** A series as it is drawn: where it changes faster than it is drawn, from its least to its largest value around each time. */
const banded = (one) => (one.low ? one.values.flatMap((value, k) => [one.low[k] ?? value, one.high[k] ?? value]) : one.values);
const bandedTimes = (times) => times.flatMap((time, k) => [time, k + 1 < times.length ? (time + times[k + 1]) / 2 : time]);

/** A run with a closer look at a part of it. */
const closer = (run, detail) => {
  if (!detail) return run;
  const [from, to] = detail.part;
  const before = run.times.filter((time) => time < from).length;
  const after = run.times.findIndex((time) => time > to);
  const joined = (old, fresh) => [...old.slice(0, before), ...fresh, ...(after < 0 ? [] : old.slice(after))];
  const series = run.series.map((one) => {
    const fresh = detail.series.find((other) => other.name === one.name);
    if (!fresh) return { ...one, values: joined(one.values, detail.times.map(() => null)), low: null };
    if (!one.low && !fresh.low) return { ...one, values: joined(one.values, fresh.values) };
    const side = (name) => joined(one[name] || one.values, fresh[name] || fresh.values);
    return { ...one, values: joined(one.values, fresh.values), low: side("low"), high: side("high") };
  });
  return { ...run, times: joined(run.times, detail.times), series };
};

/** Values at other times, along straight lines; what is outside has none. */
const resampled = (times, values, wanted) => {
  let at = 0;
  return wanted.map((time) => {
    if (time < times[0] || time > times[times.length - 1]) return null;
    while (at + 1 < times.length - 1 && times[at + 1] < time) at += 1;
    const [a, b] = [values[at], values[at + 1] ?? values[at]];
    const width = times[at + 1] - times[at];
    if (a === null || b === null) return null;
    return width > 0 ? a + ((b - a) * (time - times[at])) / width : b;
  });
};

export class Plots {
  constructor(parent, { onCursor, onZoom, onWanted }) {
    Object.assign(this, { parent, onCursor, onZoom, onWanted });
    this.shown = [];
    this.hidden = new Set();
    this.logs = new Set();
    this.wanted = [];
    this.zoomed = null;
    this.shape = "";
    this.at = 0;
    new ResizeObserver(() => this.resize()).observe(parent);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.shape = ""; if (this.run) this.draw(this.run, this.pinned); });
  }

  resize() {
    for (const { plot, holder } of this.shown) {
      const width = Math.max(160, holder.clientWidth);
      if (plot.width !== width) plot.setSize({ width, height: plot.height });
    }
  }

  clear() {
    for (const { plot } of this.shown) plot.destroy();
    this.shown = [];
    this.parent.replaceChildren();
    this.shape = "";
  }

  /** Forgets what was chosen for another model. */
  forget() {
    this.clear();
    this.hidden.clear();
    this.logs.clear();
    this.wanted = [];
    Object.assign(this, { zoomed: null, detail: null, run: null });
  }

  /** Draws a run, and a pinned one behind it. */
  draw(run, pinned) {
    if (run !== this.run) {
      this.detail = null;
      const [from, to] = [run.times[0], run.times[run.times.length - 1]];
      if (this.zoomed && !(this.zoomed[0] < to && this.zoomed[1] > from)) this.zoomed = null;
      if (this.zoomed) this.onZoom(this.zoomed);
    }
    this.run = run;
    this.pinned = pinned;
    const seen = closer(run, this.zoomed && this.detail);
    const chosen = seen.series.filter((one) => this.wanted.includes(one.name));
    const all = [...panels(chosen), ...panels(seen.series.filter((one) => !this.wanted.includes(one.name)))];
    const found = all.slice(0, MOST_PANELS);
    const shape = JSON.stringify([found.map((panel) => [panel.unit, panel.series.map((one) => one.name)]), !!pinned, [...this.logs], run.others?.length]);
    if (shape !== this.shape) {
      this.clear();
      this.shape = shape;
      for (const panel of found) this.shown.push(this.panel(panel));
      const left = [...all.slice(MOST_PANELS).flatMap((panel) => panel.series.map((one) => one.name)), ...(run.others || [])];
      if (left.length) this.parent.append(this.chooser(left));
      this.shown.push(this.strip());
      this.resize();
    }
    this.times = seen.times;
    found.forEach((panel, at) => {
      const isBanded = panel.series.some((one) => one.low);
      const times = isBanded ? bandedTimes(seen.times) : seen.times;
      const columns = panel.series.map((one) => (isBanded && !one.low ? one.values.flatMap((value) => [value, value]) : banded(one)));
      if (pinned) {
        for (const one of panel.series) {
          const old = pinned.series.find((other) => other.name === one.name);
          columns.push(old ? resampled(pinned.times, old.values, times) : times.map(() => null));
        }
      }
      this.shown[at].names = panel.series;
      this.fill(this.shown[at].plot, [times, ...columns]);
    });
    const strip = this.shown[this.shown.length - 1];
    const margins = run.margins.values.some((value) => value !== null && value > 0);
    strip.box.hidden = !margins;
    if (margins) {
      // The strip ends six decades below its top; what is told beside it is the value itself.
      const least = 1e-6 * largest(run.margins.values);
      this.fill(strip.plot, [run.margins.times, run.margins.values.map((value) => (value === null ? null : Math.max(value, least)))]);
    }
    this.values();
  }

  /** Gives a plot its values; what was zoomed stays so. */
  fill(plot, data) {
    this.filling = true;
    plot.batch(() => {
      plot.setData(data, !this.zoomed);
      if (this.zoomed) plot.setScale("x", { min: this.zoomed[0], max: this.zoomed[1] });
    });
    this.filling = false;
  }

  /** The times that are seen were changed by the mouse. */
  scaled(plot, key) {
    if (key !== "x" || this.filling || !this.run || !plot.data?.[0]?.length) return;
    const { min, max } = plot.scales.x;
    const times = this.run.times;
    const [from, to] = [times[0], times[times.length - 1]];
    const isAll = !(min > from || max < to) || !(max > min);
    const before = JSON.stringify(this.zoomed);
    this.zoomed = isAll ? null : [Math.max(from, min), Math.min(to, max)];
    if (JSON.stringify(this.zoomed) !== before) this.onZoom(this.zoomed);
  }

  /** Takes a closer look at what is zoomed. */
  look(part, detail) {
    if (JSON.stringify(part) !== JSON.stringify(this.zoomed) || detail.refused || !detail.times?.length) return;
    this.detail = { ...detail, part };
    this.draw(this.run, this.pinned);
  }

  /** Offers what is not drawn. */
  chooser(left) {
    const list = make("datalist", { id: "not-drawn" }, left.map((name) => make("option", { value: name })));
    const input = make("input", { list: "not-drawn", autocomplete: "off", spellcheck: "false" });
    input.addEventListener("change", () => {
      const name = input.value.trim();
      if (!left.includes(name)) return;
      this.wanted = [name, ...this.wanted.filter((other) => other !== name)].slice(0, MOST_CURVES);
      input.value = "";
      this.onWanted(this.wanted);
    });
    return make("p", { class: "soft" }, make("label", {}, "Draw also ", input), ` ${left.length} quantities are not drawn: ${left.slice(0, 6).join(", ")}${left.length > 6 ? ", …" : ""}`, list);
  }

  options(height, series, axis) {
    const ink = colour("--soft");
    const grid = { stroke: colour("--line"), width: 1 };
    const font = "12px system-ui, sans-serif";
    return {
      width: 300, height, legend: { show: false },
      cursor: { sync: { key: "time" }, drag: { x: true, y: false }, y: false, points: { size: 6 } },
      scales: { x: { time: false }, ...(axis.scales || {}) },
      axes: [
        { stroke: ink, grid, ticks: grid, font, size: axis.bare ? 28 : 34, label: axis.bare ? undefined : "t", labelSize: 15, labelFont: font },
        { stroke: ink, grid, ticks: grid, font, size: 58, space: 20, values: (_, all) => all.map(tick), ...axis.y },
      ],
      series: [{}, ...series],
      hooks: { setCursor: [(plot) => this.moved(plot)], setScale: [(plot, key) => this.scaled(plot, key)], draw: [(plot) => this.marks(plot)] },
    };
  }

  panel(panel) {
    const legend = make("div", { class: "legend" });
    const values = [];
    const series = panel.series.map((one, at) => ({
      label: one.name, stroke: colour(`--c${at % 8}`), width: 2, show: !this.hidden.has(one.name), points: { show: false }, pxAlign: 0,
    }));
    panel.series.forEach((one, at) => {
      const value = make("span", { class: "value" });
      values.push(value);
      const button = make("button", {
        "aria-pressed": String(!this.hidden.has(one.name)), title: one.names?.length > 1 ? one.names.join(" = ") : "Show or hide this curve",
        onclick: () => this.toggle(one.name),
      }, make("i", { style: `background: ${colour(`--c${at % 8}`)}` }), make("span", { class: "name" }, one.name), one.names?.length > 1 ? make("span", { class: "soft" }, ` (${one.names.length} names)`) : null, " ", value);
      button.dataset.name = one.name;
      legend.append(button);
    });
    legend.prepend(make("h3", {}, panel.unit ? `${panel.unit}` : "no unit"));
    const key = panel.series[0].name;
    const isLog = this.logs.has(key);
    const size = Math.max(...panel.series.map((one) => one.size));
    legend.append(make("button", {
      class: "log", "aria-pressed": String(isLog), title: "Logarithmic axis: small values beside large ones, of either sign",
      onclick: () => { if (!this.logs.delete(key)) this.logs.add(key); this.draw(this.run, this.pinned); },
    }, "log"));
    const axis = isLog && size > 0 ? { scales: { y: { distr: 4, asinh: 1e-4 * size } }, y: { space: 26, grid: { show: false }, ticks: { show: false } } } : {};
    if (this.pinned) {
      panel.series.forEach((one, at) => series.push({ label: one.name + " pinned", stroke: colour(`--c${at % 8}`), width: 1.2, dash: [5, 4], alpha: 0.75, show: !this.hidden.has(one.name), points: { show: false }, pxAlign: 0 }));
    }
    const holder = make("div", { role: "img", tabindex: "0", "aria-label": `Curves over time: ${panel.series.map((one) => one.name).join(", ")}. Arrow keys move the cursor.` });
    holder.addEventListener("keydown", (event) => this.key(event));
    const box = make("div", { class: "panel" }, legend, holder);
    this.parent.append(box);
    const plot = new uPlot(this.options(176, series, axis), [[], ...series.map(() => [])], holder);
    return { plot, box, holder, values, names: panel.series };
  }

  strip() {
    const value = make("span", { class: "value" });
    const holder = make("div", { role: "img", "aria-label": "The least singular value over time: how far the equations are from singular" });
    const box = make("div", { class: "strip" }, make("h3", {}, "margin "), make("span", { class: "soft" }, "least singular value, 0 where the equations no longer determine the unknowns "), value, holder);
    this.parent.append(box);
    const series = [{ label: "margin", stroke: colour("--c7"), fill: colour("--wash"), width: 1.5, points: { show: false }, pxAlign: 0 }];
    const axis = { bare: true, scales: { y: { distr: 3 } }, y: { values: (_, all) => all.map((one) => (one === null ? "" : short(one, 2))), space: 18, grid: { show: false }, ticks: { show: false } } };
    const plot = new uPlot(this.options(104, series, axis), [[], []], holder);
    return { plot, box, holder, values: [value], names: null };
  }

  toggle(name) {
    if (this.hidden.has(name)) this.hidden.delete(name); else this.hidden.add(name);
    for (const { plot, box } of this.shown) {
      plot.series.forEach((one, at) => { if (at && (one.label === name || one.label === name + " pinned")) plot.setSeries(at, { show: !this.hidden.has(name) }); });
      for (const button of box.querySelectorAll(".legend button")) if (button.dataset.name === name) button.setAttribute("aria-pressed", String(!this.hidden.has(name)));
    }
  }

  /** The cursor was moved by the mouse. */
  moved(plot) {
    if (this.setting || !this.run || plot.cursor.left === undefined || plot.cursor.left < 0) return;
    const time = plot.posToVal(plot.cursor.left, "x");
    if (Number.isFinite(time)) { this.at = time; this.values(); this.onCursor(time); }
  }

  key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || !this.run) return;
    event.preventDefault();
    const times = this.run.times;
    const width = (times[times.length - 1] - times[0]) / 200;
    const time = Math.min(times[times.length - 1], Math.max(times[0], this.at + step * width * (event.shiftKey ? 10 : 1)));
    this.set(time);
    this.onCursor(time);
  }

  /** Puts the cursor to a time. */
  set(time) {
    this.at = time;
    this.setting = true;
    for (const { plot } of this.shown) plot.setCursor({ left: plot.valToPos(time, "x"), top: plot.over ? plot.over.clientHeight / 2 : 10 }, false);
    this.setting = false;
    this.values();
  }

  /** What the legends tell: the values at the cursor. */
  values() {
    if (!this.run) return;
    for (const { values, names, plot } of this.shown) {
      const times = names ? this.times : plot.data[0];
      if (!times || !times.length) continue;
      const at = nearest(times, this.at);
      if (names) names.forEach((one, k) => { values[k].textContent = short(one.values[at], 5); });
      else values[0].textContent = this.run.margins.values[at] === null ? "" : `${short(this.run.margins.values[at], 3)} at t = ${short(times[at], 4)}`;
    }
  }

  /** Singular times and events, as lines with words. */
  marks(plot) {
    if (!this.run) return;
    const context = plot.ctx;
    const { top, height, left, width } = plot.bbox;
    const line = (time, stroke, dash, words) => {
      const x = plot.valToPos(time, "x", true);
      if (x < left || x > left + width) return;
      context.save();
      context.strokeStyle = stroke; context.lineWidth = 1.4 * devicePixelRatio; context.setLineDash(dash);
      context.beginPath(); context.moveTo(x, top); context.lineTo(x, top + height); context.stroke();
      if (words && height > 120) {
        context.fillStyle = stroke; context.textAlign = "left"; context.textBaseline = "alphabetic"; context.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
        const room = context.measureText(words).width + 6;
        context.fillText(words, x + room > left + width ? x - room : x + 5, top + 12 * devicePixelRatio);
      }
      context.restore();
    };
    const first = plot === this.shown[0]?.plot;
    for (const event of this.run.events.slice(0, 200)) line(event.time, colour("--c7"), [2, 3], "");
    for (const mark of this.run.marks) line(mark.time, colour("--mark"), [5, 3], first ? "singular" : "");
  }
}

/** The position of the time that is nearest. */
export const nearest = (times, time) => {
  let [low, high] = [0, times.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle; else high = middle;
  }
  return Math.abs(times[high] - time) < Math.abs(times[low] - time) ? high : low;
};
