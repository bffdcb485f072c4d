// A map: one measure over two parameters, coarse at once, finer while one looks; a click opens a point.
import { nearest } from "./plots.js";
import { Purpose, field, make, short } from "./ask.js";

const MEASURES = [
  ["singular-count", "number of singular configurations"], ["first-singular-time", "first singular time"], ["sigma-min", "least singular value"],
  ["status", "how the run ends"], ["index", "index"], ["dof", "degrees of freedom"],
];
const GRIDS = [7, 15, 31];
const NO_VALUE = "#9aa2ad";
const STEPS = ["#fde725", "#b5de2b", "#6ece58", "#35b779", "#1f9e89", "#26828e", "#31688e", "#3e4989", "#482878", "#440154"].reverse();

const mixed = (part) => {
  const at = Math.min(0.999999, Math.max(0, part)) * (STEPS.length - 1);
  const [a, b] = [STEPS[Math.floor(at)], STEPS[Math.floor(at) + 1]].map((c) => [1, 3, 5].map((k) => parseInt(c.slice(k, k + 2), 16)));
  return `rgb(${a.map((v, k) => Math.round(v + (b[k] - v) * (at % 1))).join(",")})`;
};

export class ParameterMap {
  constructor(parent, question, { onOpen, onPicture }) {
    Object.assign(this, { parent, question, onOpen, onPicture });
    this.words = make("span", { role: "status", class: "soft" });
    this.purpose = new Purpose("long", (busy) => { if (busy) this.words.textContent = `measuring, ${busy.seconds.toFixed(1)} s, ${Math.round(100 * busy.part)} %`; });
  }

  /** Gives up what is measured. */
  cancel(words) {
    this.purpose.cancel();
    this.words.textContent = words;
    if (this.stop) this.stop.hidden = true;
  }

  /** What a map belongs to: all that is shown, but for its own two parameters. */
  belongs() {
    const { name, text, set, start, to, passes } = this.question();
    const own = this.axes.map(({ chosen }) => chosen.value);
    return JSON.stringify([name, text, set.filter(([parameter]) => !own.includes(parameter)), start, to, passes]);
  }

  /** Something was changed: a map of what was before is given up, or told apart. */
  changed() {
    if (!this.of || this.of === this.belongs()) return;
    this.of = null;
    this.cancel("This map belongs to the values before the last change.");
  }

  /** Offers the parameters of a model. */
  offer(model) {
    this.cancel("");
    this.answer = this.chosen = this.of = null;
    const slides = model ? model.parameters.filter((one) => one.slides && one.value !== 0) : [];
    this.parent.replaceChildren();
    if (slides.length < 2) return;
    const finals = model.unknowns.filter((name) => !name.startsWith("der(")).slice(0, 40).flatMap((name) => [[`final:${name}`, `${name} at the end`], [`max:${name}`, `largest ${name}`]]);
    const usual = model.draws && model.n_equations < model.n_unknowns ? 0 : 2;
    const axis = (number) => {
      const chosen = make("select", {}, slides.map((one, k) => make("option", { value: one.name, selected: k === number }, one.name)));
      const [from, to] = [make("input", { type: "number", step: "any" }), make("input", { type: "number", step: "any" })];
      const fill = () => {
        const one = slides.find((other) => other.name === chosen.value);
        const ends = [0.5, 1.5].map((k) => k * one.value).sort((a, b) => a - b);
        [from.value, to.value] = ends.map((value) => field(Math.min(one.max ?? Infinity, Math.max(one.min ?? -Infinity, value)), 4));
      };
      chosen.addEventListener("change", fill);
      fill();
      return { chosen, from, to };
    };
    this.axes = [axis(0), axis(1)];
    const all = usual ? [...MEASURES, ...finals] : MEASURES;
    this.measure = make("select", {}, all.map(([value, words], k) => make("option", { value, selected: k === (usual && finals.length ? MEASURES.length : 0) }, words)));
    const labelled = (words, ...inputs) => make("label", {}, words, ...inputs);
    const fields = this.axes.map(({ chosen, from, to }, k) => [labelled(k ? "upwards" : "to the right", chosen), labelled("from", from), labelled("to", to)]);
    this.start = make("button", { class: "main", onclick: () => this.make() }, "Make the map");
    this.stop = make("button", { hidden: true, onclick: () => this.cancel("Stopped.") }, "Stop");
    this.svg = make("svg", { tabindex: 0, role: "application", "aria-label": "Map; arrow keys choose a point, Enter opens it" });
    this.svg.addEventListener("click", (event) => this.open(this.cellAt(event)));
    this.svg.addEventListener("mousemove", (event) => this.tell(this.cellAt(event)));
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.buttons = make("div", { class: "buttons" }, ["SVG", "PNG"].map((kind) => make("button", { onclick: () => this.onPicture(this.svg, kind) }, `Map (${kind})`)));
    for (const one of [this.svg, this.buttons]) one.setAttribute("hidden", "");
    this.parent.append(make("h2", {}, "Map"), make("div", { class: "fields" }, labelled("measure", this.measure), ...fields.map((axis_) => make("span", { class: "axis" }, axis_)), this.start, this.stop), this.svg, this.words, this.buttons);
  }

  async make() {
    const axes = this.axes.map(({ chosen, from, to }) => [chosen.value, +from.value, +to.value]);
    if (axes[0][0] === axes[1][0]) { this.words.textContent = "Choose two different parameters."; return; }
    this.of = this.belongs();
    this.stop.hidden = false;
    await this.refine(axes);
    if (!this.purpose.running) this.stop.hidden = true;
  }

  /** Coarse at once, then finer. */
  async refine(axes) {
    for (const n of GRIDS) {
      const began = performance.now();
      const over = axes.map(([name, from, to]) => `${name}=${from}:${to}:${n}`);
      this.words.textContent = "measuring…";
      const answer = await this.purpose.ask({ ...this.question(), ask: "map", over, measure: this.measure.value });
      if (!answer) return;
      if (answer.refused) { this.words.textContent = answer.refused + (answer.help ? ` ${answer.help}` : ""); return; }
      // The point that was opened is the nearest of the finer map.
      const opened = this.answer && this.chosen && this.chosen.map((k, axis) => nearest(answer.axes[axis], this.answer.axes[axis][k]));
      this.answer = { ...answer, n };
      this.chosen = opened || null;
      this.draw();
      const seconds = (performance.now() - began) / 1000;
      const reasons = Object.entries(answer.reasons);
      const failed = reasons.length ? ` ${reasons.reduce((sum, [, points]) => sum + points.length, 0)} points have a remark, such as: ${reasons[0][0]}` : "";
      this.words.textContent = `${n} × ${n} points in ${seconds.toFixed(1)} s. A click opens a point.${failed} ${answer.warnings.join(" ")}`;
      if (seconds > 20) return;
    }
  }

  /** The colour of every value, and what it means. */
  scale() {
    const known = this.answer.values.filter((value) => value !== null);
    const kinds = [...new Set(known)];
    if (kinds.length <= 10 && kinds.every((value) => typeof value === "string" || Number.isInteger(value))) {
      kinds.sort((a, b) => (a < b ? -1 : 1));
      const of = new Map(kinds.map((value, k) => [value, mixed(kinds.length > 1 ? k / (kinds.length - 1) : 0.5)]));
      return { of: (value) => of.get(value), keys: kinds.map((value) => [String(value), of.get(value)]) };
    }
    const numbers = known.filter((value) => typeof value === "number");
    const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
    const of = (value) => mixed(most > least ? (value - least) / (most - least) : 0.5);
    return { of, keys: [0, 0.25, 0.5, 0.75, 1].map((k) => [short(least + k * (most - least), 4), mixed(k)]) };
  }

  draw() {
    const { n, values, labels, axes, curves } = this.answer;
    const { of, keys } = this.scale();
    const [width, height] = [680, 540];
    const room = { left: 84, bottom: 76, top: 8, right: 14 };
    const [w, h] = [width - room.left - room.right, height - room.top - room.bottom];
    this.frame = { ...room, w, h, width, height };
    for (const one of [this.svg, this.buttons]) one.removeAttribute("hidden");
    const half = axes.map((axis) => (axis[n - 1] - axis[0]) / (n - 1) / 2);
    const x = (value) => room.left + ((value - axes[0][0] + half[0]) / (axes[0][n - 1] - axes[0][0] + 2 * half[0])) * w;
    const y = (value) => room.top + h - ((value - axes[1][0] + half[1]) / (axes[1][n - 1] - axes[1][0] + 2 * half[1])) * h;
    const [edgeX, edgeY] = [(i) => Math.round(room.left + (i * w) / n), (j) => Math.round(room.top + ((n - j) * h) / n)];
    const box = (i, j) => ({ x: edgeX(i), y: edgeY(j + 1), width: edgeX(i + 1) - edgeX(i), height: edgeY(j) - edgeY(j + 1) });
    // Cells end at whole pixels, so that no line shows between them.
    const cells = make("g", { "shape-rendering": "crispEdges" }, values.map((value, k) => make("rect", { ...box(Math.floor(k / n), k % n), fill: value === null ? NO_VALUE : of(value) })));
    const way = (curve) => { let d = ""; for (let k = 0; k + 1 < curve.length; k += 2) d += `${k ? "L" : "M"}${x(curve[k]).toFixed(1)} ${y(curve[k + 1]).toFixed(1)}`; return d; };
    const lines = make("g", { fill: "none", stroke: "#ffffff", "stroke-width": 1.5, "clip-path": "url(#map-room)" }, curves.map((curve) => make("path", { d: way(curve) })));
    const words = (text, px, py, anchor, more = {}) => make("text", { x: px, y: py, "text-anchor": anchor, class: "ink", "font-size": 15, "font-family": "system-ui, sans-serif", ...more }, text);
    const ticks = [0, Math.floor(n / 2), n - 1].flatMap((k) => [words(short(axes[0][k], 4), x(axes[0][k]), room.top + h + 18, "middle"), words(short(axes[1][k], 4), room.left - 6, y(axes[1][k]) + 5, "end")]);
    const middle = room.top + h / 2;
    const names = [words(labels[0], room.left + w / 2, room.top + h + 38, "middle"), words(labels[1], 18, middle, "middle", { transform: `rotate(-90 18 ${middle})` })];
    let at = room.left;
    const all = values.includes(null) ? [...keys, ["no value", NO_VALUE]] : keys;
    const key = all.flatMap(([text, colour]) => {
      const parts = [make("rect", { x: at, y: height - 22, width: 16, height: 12, fill: colour }), words(text, at + 21, height - 11, "start", { "font-size": 13 })];
      at += 36 + 7.6 * text.length;
      return parts;
    });
    const chosen = this.chosen ? [["#ffffff", 4], ["#000000", 2]].map(([stroke, width_]) => make("rect", { ...box(...this.chosen), fill: "none", stroke, "stroke-width": width_ })) : [];
    const clip = make("clipPath", { id: "map-room" }, make("rect", { x: room.left, y: room.top, width: w, height: h }));
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.replaceChildren(clip, cells, lines, ...ticks, ...names, ...key, ...chosen);
  }

  cellAt(event) {
    if (!this.answer) return null;
    const box = this.svg.getBoundingClientRect();
    const { left, top, w, h, width, height } = this.frame;
    const [px, py] = [((event.clientX - box.left) * width) / box.width, ((event.clientY - box.top) * height) / box.height];
    const n = this.answer.n;
    const [i, j] = [Math.floor(((px - left) * n) / w), n - 1 - Math.floor(((py - top) * n) / h)];
    return i >= 0 && i < n && j >= 0 && j < n ? [i, j] : null;
  }

  tell(cell) {
    if (!cell) return;
    const { n, axes, names, values, reasons } = this.answer;
    const number = cell[0] * n + cell[1];
    const why = Object.entries(reasons).find(([, points]) => points.includes(number));
    const value = values[number];
    this.words.textContent = `${names[0]} = ${short(axes[0][cell[0]])}, ${names[1]} = ${short(axes[1][cell[1]])}: ${value === null ? "no value" : typeof value === "number" ? short(value) : value}${why ? ` (${why[0]})` : ""}`;
  }

  open(cell) {
    if (!cell) return;
    this.chosen = cell;
    this.draw();
    const { axes, names } = this.answer;
    this.onOpen([[names[0], axes[0][cell[0]]], [names[1], axes[1][cell[1]]]]);
  }

  key(event) {
    if (!this.answer) return;
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    const middle = Math.floor(this.answer.n / 2);
    if (way) {
      event.preventDefault();
      const [i, j] = this.chosen || [middle, middle];
      this.chosen = [i + way[0], j + way[1]].map((k) => Math.min(this.answer.n - 1, Math.max(0, k)));
      this.draw();
      this.tell(this.chosen);
    } else if (event.key === "Enter" && this.chosen) this.open(this.chosen);
  }
}
