// The mechanism: at the cursor's time, played, and pulled by its points along its constraints.
import { make, short } from "./ask.js";
import { nearest } from "./plots.js";

const WIDTH = 440;
const HEIGHT = 320;
const ROOM = 26;

/** How a plane is seen in a picture. */
const view = (scene, width, height, room) => {
  const [x0, y0] = scene.min;
  const [x1, y1] = scene.max;
  const scale = Math.min((width - 2 * room) / Math.max(x1 - x0, 1e-300), (height - 2 * room) / Math.max(y1 - y0, 1e-300));
  const usable = Number.isFinite(scale) && scale > 0 ? scale : 1;
  const [cx, cy] = [(x0 + x1) / 2, (y0 + y1) / 2];
  return {
    scale: usable,
    to: (x, y) => [width / 2 + (x - cx) * usable, height / 2 - (y - cy) * usable],
    from: (px, py) => [cx + (px - width / 2) / usable, cy - (py - height / 2) / usable],
  };
};

const points = (line) => { const all = []; for (let k = 0; k + 1 < line.length; k += 2) if (line[k] !== null && line[k + 1] !== null) all.push([line[k], line[k + 1], k / 2]); return all; };
const path = (line, seen) => points(line).map(([x, y], k) => (k ? "L" : "M") + seen.to(x, y).map((v) => v.toFixed(2)).join(" ")).join("");

/** A small picture of one frame. */
export const thumbnail = (scene, frame) => {
  const seen = view(scene, 128, 96, 14);
  const svg = make("svg", { viewBox: "0 0 128 96", "aria-hidden": "true" });
  for (const line of frame) svg.append(make("path", { class: "rod", d: path(line, seen) }));
  for (const line of frame) for (const [x, y] of points(line)) { const [cx, cy] = seen.to(x, y); svg.append(make("circle", { class: "joint", cx, cy, r: 3 })); }
  return svg;
};

/** From far (blue) to near a singular configuration (red). */
const tint = (part) => `color-mix(in oklab, var(--c0) ${Math.round(100 * Math.min(1, Math.max(0, part)))}%, var(--mark))`;

export class Mechanism {
  constructor(parent, { onTime, onPull, onPose }) {
    Object.assign(this, { parent, onTime, onPull, onPose });
    this.playing = 0;
    this.svg = make("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": "The mechanism; its moving joints can be dragged, or pulled with the arrow keys" });
    this.slider = make("input", { type: "range", min: 0, max: 1000, value: 0, step: "any", "aria-label": "Time" });
    this.slider.addEventListener("input", () => { this.stop(); this.goTo(this.timeOf(+this.slider.value)); });
    this.button = make("button", { onclick: () => (this.playing ? this.stop() : this.play()) }, "Play");
    this.back = make("button", { onclick: () => this.unpose(), hidden: true }, "Back to the run");
    this.caption = make("figcaption", { role: "status" });
    this.controls = make("div", { class: "bar" }, this.button, this.slider, this.back);
    this.thumbs = { instants: make("div", { class: "thumbs" }), configurations: make("div", { class: "thumbs" }) };
    parent.append(this.svg, this.controls, this.caption, this.thumbs.instants, this.thumbs.configurations);
    this.svg.addEventListener("pointermove", (event) => this.drag(event));
    for (const end of ["pointerup", "pointercancel"]) this.svg.addEventListener(end, () => this.drop());
  }

  /** Shows a scene; the frames of a pinned run lie behind it. */
  show(scene, values, margins, pinned) {
    Object.assign(this, { scene, values, margins, pinned });
    if (!scene) { this.stop(); this.instants([]); this.configurations([]); return; }
    const both = pinned ? { min: [0, 1].map((k) => Math.min(scene.min[k], pinned.min[k])), max: [0, 1].map((k) => Math.max(scene.max[k], pinned.max[k])) } : scene;
    this.seen = view(this.room ? this.joined(both) : both, WIDTH, HEIGHT, ROOM);
    const usable = (margins?.values || []).filter((one) => one !== null && one > 0);
    this.most = usable.length ? usable.sort((a, b) => a - b)[usable.length >> 1] : this.mostPulled;
    this.controls.hidden = false;
    const moves = scene.times.length > 1;
    this.button.hidden = this.slider.hidden = !moves;
    const held = this.pulled && this.pose;
    this.build();
    this.pose = null;
    this.back.hidden = true;
    this.goTo(this.time ?? scene.times[0], true);
    // Whoever pulls a joint keeps hold of it.
    if (held && held.frame.length === scene.frames[0].length) this.posed(held.frame, this.caption.textContent, held.values);
  }

  /** A linkage that is pulled may go beyond where it started. */
  joined(scene) {
    const [w, h] = [scene.max[0] - scene.min[0], scene.max[1] - scene.min[1]];
    const size = Math.hypot(w, h);
    const middle = [0, 1].map((k) => (scene.min[k] + scene.max[k]) / 2);
    return { min: middle.map((m) => m - 0.62 * size), max: middle.map((m) => m + 0.62 * size) };
  }

  /** Small pictures of the instants at which the run is singular. */
  instants(marks) {
    const { scene } = this;
    const shown = scene && scene.times.length > 1 ? marks : [];
    this.thumbs.instants.replaceChildren(...shown.slice(0, 12).map((mark) => make("button", { onclick: () => { this.stop(); this.goTo(mark.time); } },
      thumbnail(scene, scene.frames[nearest(scene.times, mark.time)]), `singular at t = ${short(mark.time, 5)}`)));
  }

  /** Small pictures of singular configurations: each has a scene, a frame, words and what a click shows. */
  configurations(all) {
    this.thumbs.configurations.replaceChildren(...all.map(({ scene, frame, words, told, values }) => make("button", {
      onclick: () => { this.posed(frame, told, values, 0); this.parent.scrollIntoView({ block: "nearest" }); },
    }, thumbnail(scene, frame), words)));
  }

  build() {
    const { scene, seen } = this;
    this.svg.replaceChildren();
    const moving = (line, at) => !scene.fixed[line]?.[at];
    if (scene.times.length > 2) {
      scene.frames[0].forEach((line, l) => points(line).forEach(([, , at]) => {
        if (!moving(l, at)) return;
        const way = scene.frames.map((frame) => [frame[l][2 * at], frame[l][2 * at + 1]]).filter(([x, y]) => x !== null && y !== null);
        this.svg.append(make("path", { class: "path", d: way.map(([x, y], k) => (k ? "L" : "M") + seen.to(x, y).map((v) => v.toFixed(1)).join(" ")).join("") }));
      }));
    }
    this.ghosts = (this.pinned?.frames[0] || []).map(() => this.svg.appendChild(make("path", { class: "ghost" })));
    this.rods = scene.frames[0].map(() => this.svg.appendChild(make("path", { class: "rod", stroke: "var(--c0)" })));
    this.joints = [];
    scene.frames[0].forEach((line, l) => points(line).forEach(([x, y, at]) => {
      const free = moving(l, at);
      if (!free) {
        const [px, py] = seen.to(x, y);
        this.svg.append(make("path", { class: "ground", d: `M${px - 11} ${py + 9}h22m-20 0l-4 6m10-6l-4 6m10-6l-4 6m10-6l-4 6` }));
      }
      const joint = make("circle", {
        class: free ? "joint moves" : "joint", r: free ? 6.5 : 4.5, tabindex: free ? 0 : null, role: free ? "button" : null,
        "aria-label": free ? `Joint ${l + 1}.${at + 1}: drag it, or pull it with the arrow keys` : null,
      });
      if (free) {
        joint.addEventListener("pointerdown", (event) => this.grab(event, l, at, joint));
        joint.addEventListener("keydown", (event) => this.nudge(event, l, at));
      }
      this.svg.append(joint);
      this.joints.push({ joint, line: l, at });
    }));
  }

  timeOf(part) { const { times } = this.scene; return times[0] + (times[times.length - 1] - times[0]) * (part / 1000); }

  /** Shows the mechanism at a time of the run. */
  goTo(time, quietly) {
    if (!this.scene) return;
    const { times, frames } = this.scene;
    this.time = Math.min(times[times.length - 1], Math.max(times[0], time));
    this.pose = null;
    this.back.hidden = true;
    const at = nearest(times, this.time);
    const span = times[times.length - 1] - times[0];
    this.slider.value = span > 0 ? (1000 * (this.time - times[0])) / span : 0;
    this.slider.setAttribute("aria-valuetext", `t = ${short(this.time, 4)}`);
    const margin = this.marginAt(this.time);
    this.paint(frames[at], margin);
    const old = this.pinned?.frames[nearest(this.pinned.times, this.time)];
    this.ghosts.forEach((ghost, k) => ghost.setAttribute("d", old ? path(old[k], this.seen) : ""));
    const words = times.length > 1 ? `t = ${short(this.time, 4)}` : "at rest: drag a joint";
    this.caption.textContent = margin !== null && times.length > 1 ? `${words}, margin ${short(margin, 3)}` : words;
    if (!quietly) this.onTime(this.time);
  }

  marginAt(time) {
    const { times, values } = this.margins || { times: [], values: [] };
    return times.length ? values[nearest(times, time)] : null;
  }

  paint(frame, margin) {
    this.frame = frame;
    const part = margin === 0 ? 0 : margin === null || margin === undefined || !this.most ? 1 : Math.sqrt(margin / this.most);
    this.rods.forEach((rod, k) => { rod.setAttribute("d", path(frame[k], this.seen)); rod.setAttribute("stroke", tint(part)); });
    for (const { joint, line, at } of this.joints) {
      const [x, y] = [frame[line][2 * at], frame[line][2 * at + 1]];
      const known = x !== null && y !== null;
      joint.setAttribute("visibility", known ? "visible" : "hidden");
      if (known) { const [cx, cy] = this.seen.to(x, y); joint.setAttribute("cx", cx.toFixed(2)); joint.setAttribute("cy", cy.toFixed(2)); }
    }
  }

  play() {
    const { times } = this.scene;
    const [from, to] = [times[0], times[times.length - 1]];
    if (this.time >= to) this.time = from;
    const seconds = Math.min(10, Math.max(3, to - from));
    let last = performance.now();
    this.button.textContent = "Pause";
    const step = (now) => {
      const next = this.time + ((to - from) * (now - last)) / 1000 / seconds;
      last = now;
      this.goTo(next);
      if (next >= to) this.stop(); else this.playing = requestAnimationFrame(step);
    };
    this.playing = requestAnimationFrame(step);
  }

  stop() { cancelAnimationFrame(this.playing); this.playing = 0; this.button.textContent = "Play"; }

  /** Shows one position that is not of the run. */
  posed(frame, words, values, margin) {
    this.stop();
    this.pose = { frame, values };
    this.back.hidden = this.scene.times.length < 2;
    this.paint(frame, margin);
    this.caption.textContent = words;
    this.onPose?.(frame);
  }

  unpose() { this.goTo(this.time); }

  /** The values of all unknowns where the mechanism is now. */
  here() {
    if (this.pose?.values) return this.pose.values;
    return this.values(this.time);
  }

  place(event) {
    const box = this.svg.getBoundingClientRect();
    return this.seen.from(((event.clientX - box.left) * WIDTH) / box.width, ((event.clientY - box.top) * HEIGHT) / box.height);
  }

  grab(event, line, at, joint) {
    event.preventDefault();
    this.stop();
    this.svg.setPointerCapture(event.pointerId);
    joint.focus();
    this.pulled = { line, at };
  }

  drag(event) { if (this.pulled) this.pull(this.pulled.line, this.pulled.at, this.place(event)); }

  drop() { this.pulled = null; }

  /** Leads a point of a mechanism whose motion is prescribed along its path: to the time near the present one at which it is closest to a place. */
  lead(line, at, target) {
    const { times, frames } = this.scene;
    const here = nearest(times, this.time);
    const away = (k) => Math.hypot(frames[k][line][2 * at] - target[0], frames[k][line][2 * at + 1] - target[1]);
    let best = here;
    // Downhill along the path: another part of it that passes closer by is not jumped to.
    for (const step of [1, -1]) {
      let least = away(here);
      for (let k = here + step, worse = 0; k >= 0 && k < times.length && worse < 6; k += step) {
        const now = away(k);
        if (now < least) { least = now; worse = 0; if (now < away(best)) best = k; } else worse += 1;
      }
    }
    this.goTo(times[best]);
    this.caption.textContent += "; the motion is prescribed, so the joint leads it through time";
  }

  nudge(event, line, at) {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!way) return;
    event.preventDefault();
    const step = (event.shiftKey ? 40 : 10) / this.seen.scale;
    const [x, y] = [this.frame[line][2 * at], this.frame[line][2 * at + 1]];
    this.pull(line, at, [x + way[0] * step, y + way[1] * step]);
  }

  /** Pulls a point; while one pull is under way only the newest place waits. */
  async pull(line, at, target) {
    this.wanted = { line, at, target };
    if (this.asking) return;
    this.asking = true;
    while (this.wanted) {
      const wish = this.wanted;
      this.wanted = null;
      const answer = await this.onPull({ vertex: [wish.line, wish.at], target: wish.target, values: this.here(), time: this.time ?? this.scene.times[0] });
      if (!answer) continue;
      if (answer.refused) { this.caption.textContent = answer.refused; continue; }
      if (answer.margin !== null) { this.mostPulled = Math.max(this.mostPulled || 0, answer.margin); if (!this.most || answer.margin > this.most) this.most = answer.margin; }
      const [x, y] = [answer.frame[wish.line][2 * wish.at], answer.frame[wish.line][2 * wish.at + 1]];
      const missed = Math.hypot(x - wish.target[0], y - wish.target[1]) * this.seen.scale > 12;
      if (!answer.is_free && !this.pose && this.scene.times.length > 2) { this.lead(wish.line, wish.at, wish.target); continue; }
      const margin = answer.margin === null ? "no constraint holds it" : `margin ${short(answer.margin, 3)}`;
      this.posed(answer.frame, `Pulled: ${margin}${missed ? "; its constraints let it go no farther" : ""}.`, answer.values, answer.margin);
    }
    this.asking = false;
  }
}
