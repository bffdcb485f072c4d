// A map: one measure over two parameters, coarse at once, finer while one looks; a click opens a point.
import { Purpose, make, short } from "./ask.js";

const MEASURES = [
  ["singular-count", "number of singular configurations"], ["first-singular-time", "first singular time"], ["sigma-min", "least singular value"],
  ["status", "how the run ends"], ["index", "index"], ["dof", "degrees of freedom"],
];
const GRIDS = [7, 15, 31];
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

  /** Offers the parameters of a model. */
  offer(model) {
    this.purpose.cancel();
    this.answer = null;
    const slides = model ? model.parameters.filter((one) => one.slides && one.value !== 0) : [];
    this.parent.replaceChildren();
    if (slides.length < 2) return;
    const finals = model.unknowns.filter((name) => !name.startsWith("der(")).slice(0, 40).flatMap((name) => [[`final:${name}`, `${name} at the end`], [`max:${name}`, `largest ${name}`]]);
    const usual = model.draws && model.n_equations < model.n_unknowns ? 0 : 2;
    const axis = (number) => {
      const chosen = make("select", {}, slides.map((one, k) => make("option", { value: one.name, selected: k === number }, one.name)));
      const [from, to] = [make("input", { type: "number", step: "any" }), make("input", { type: "number", step: "any" })];
      const fill = () => { const one = slides.find((other) => other.name === chosen.value); [from.value, to.value] = [0.5, 1.5].map((k) => +(k * one.value).toPrecision(4)); };
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
    this.canvas = make("canvas", { tabindex: 0, role: "application", hidden: true, "aria-label": "Map; arrow keys choose a point, Enter opens it" });
    this.canvas.addEventListener("click", (event) => this.open(this.cellAt(event)));
    this.canvas.addEventListener("mousemove", (event) => this.tell(this.cellAt(event)));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.keys = make("div", { class: "keys" });
    this.picture = make("button", { hidden: true, onclick: () => this.canvas.toBlob((blob) => this.onPicture(blob)) }, "Map (PNG)");
    this.parent.append(make("h2", {}, "Map"), make("div", { class: "fields" }, labelled("measure", this.measure), fields, this.start), this.canvas, this.keys, this.words, make("div", { class: "buttons" }, this.picture));
  }

  async make() {
    const axes = this.axes.map(({ chosen, from, to }) => [chosen.value, +from.value, +to.value]);
    if (axes[0][0] === axes[1][0]) { this.words.textContent = "Choose two different parameters."; return; }
    for (const n of GRIDS) {
      const began = performance.now();
      const over = axes.map(([name, from, to]) => `${name}=${from}:${to}:${n}`);
      this.words.textContent = "measuring…";
      const answer = await this.purpose.ask({ ...this.question(), ask: "map", over, measure: this.measure.value });
      if (!answer) return;
      if (answer.refused) { this.words.textContent = answer.refused + (answer.help ? ` ${answer.help}` : ""); return; }
      this.answer = { ...answer, n };
      this.chosen = null;
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
    const [width, height] = [680, 520];
    const room = { left: 74, bottom: 46, top: 8, right: 14 };
    Object.assign(this.canvas, { width, height, hidden: false });
    this.picture.hidden = false;
    const context = this.canvas.getContext("2d");
    context.clearRect(0, 0, width, height);
    const [w, h] = [width - room.left - room.right, height - room.top - room.bottom];
    this.frame = { ...room, w, h, width, height };
    // Cells overlap by a pixel, so that no line shows between them.
    for (let i = 0; i < n; i += 1) {
      for (let j = 0; j < n; j += 1) {
        const value = values[i * n + j];
        context.fillStyle = value === null ? "#9aa2ad" : of(value);
        context.fillRect(Math.floor(room.left + (i * w) / n), Math.floor(room.top + ((n - 1 - j) * h) / n), Math.ceil(w / n) + 1, Math.ceil(h / n) + 1);
      }
    }
    const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
    const half = axes.map((axis) => (axis[n - 1] - axis[0]) / (n - 1) / 2);
    const x = (value) => room.left + ((value - axes[0][0] + half[0]) / (axes[0][n - 1] - axes[0][0] + 2 * half[0])) * w;
    const y = (value) => room.top + h - ((value - axes[1][0] + half[1]) / (axes[1][n - 1] - axes[1][0] + 2 * half[1])) * h;
    context.save();
    context.beginPath(); context.rect(room.left, room.top, w, h); context.clip();
    context.strokeStyle = "#ffffff"; context.lineWidth = 1.5;
    for (const curve of curves) {
      context.beginPath();
      for (let k = 0; k + 1 < curve.length; k += 2) context[k ? "lineTo" : "moveTo"](x(curve[k]), y(curve[k + 1]));
      context.stroke();
    }
    context.restore();
    context.fillStyle = ink; context.font = "15px system-ui, sans-serif"; context.textAlign = "center";
    for (const k of [0, Math.floor(n / 2), n - 1]) {
      context.fillText(short(axes[0][k], 4), x(axes[0][k]), room.top + h + 18);
      context.textAlign = "right"; context.fillText(short(axes[1][k], 4), room.left - 6, y(axes[1][k]) + 5); context.textAlign = "center";
    }
    context.fillText(labels[0], room.left + w / 2, height - 8);
    context.save(); context.translate(16, room.top + h / 2); context.rotate(-Math.PI / 2); context.fillText(labels[1], 0, 0); context.restore();
    this.keys.replaceChildren(...keys.map(([words, colour]) => make("span", {}, make("i", { style: `background: ${colour}` }), words)));
    if (values.includes(null)) this.keys.append(make("span", {}, make("i", { style: "background: #9aa2ad" }), "no value"));
    if (this.chosen) {
      const [i, j] = this.chosen;
      context.strokeStyle = "#ffffff"; context.lineWidth = 4; context.strokeRect(room.left + (i * w) / n, room.top + ((n - 1 - j) * h) / n, w / n, h / n);
      context.strokeStyle = "#000000"; context.lineWidth = 2; context.strokeRect(room.left + (i * w) / n, room.top + ((n - 1 - j) * h) / n, w / n, h / n);
    }
  }

  cellAt(event) {
    if (!this.answer) return null;
    const box = this.canvas.getBoundingClientRect();
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
