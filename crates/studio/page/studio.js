// The studio: the text on the left, what it means on the right, kept together.
import { Purpose, field, later, make, send, short } from "./ask.js";
import { Text } from "./text.js";
import { Plots, nearest } from "./plots.js";
import { Mechanism, thumbnail } from "./mechanism.js";
import { ParameterMap } from "./map.js";

const $ = (id) => document.getElementById(id);
const state = { source: null, name: "", saved: "", set: {}, start: {}, model: null, run: null, pinned: null, passport: null };
/** Milliseconds from a slider's change to its picture, the newest last. */
const timings = [];
window.studio = { state, timings };

const busy = new Map();
const onBusy = (what) => (now) => {
  if (now) busy.set(what, now); else busy.delete(what);
  const parts = [...busy].map(([name, { seconds, part }]) => `${name}: ${seconds.toFixed(1)} s${part > 0 ? `, ${Math.round(100 * part)} %` : ""}`);
  $("busy").textContent = parts.join("; ");
  $("stop").hidden = !parts.length;
};
const purposes = {
  text: new Purpose("text", onBusy("reading")), run: new Purpose("run", onBusy("run")), pull: new Purpose("run"), complete: new Purpose("text"), hover: new Purpose("text"), zoom: new Purpose("run", onBusy("closer look")),
  passport: new Purpose("evidence", onBusy("passport")), singular: new Purpose("evidence", onBusy("singular configurations")),
  remarks: new Purpose("evidence", onBusy("how far it is off")), out: new Purpose("long", onBusy("file")),
};

$("stop").addEventListener("click", () => { evidence.stop(); for (const one of Object.values(purposes)) one.cancel(); });

/** What is asked about: the newest text without mistakes, with the values of the sliders. */
const question = () => ({
  name: state.name, text: state.read ?? text.text, set: Object.entries(state.set), start: Object.entries(state.start), to: toValue(), passes: $("passes").checked,
});
const toValue = () => { const value = parseFloat($("to").value); return Number.isFinite(value) ? value : null; };

// The text.

const text = new Text($("editor"), { onChange: () => { dirty(); readSoon(); }, onSave: () => save(), onFormat: () => format(), onAsk: (ask, asked, place) => purposes[ask].ask({ name: state.name, text: asked, ask, place }) });
const readSoon = later(180, () => read());

const dirty = () => {
  const changed = text.text !== state.saved;
  $("dirty").textContent = changed ? "changed" : "";
  $("save").disabled = !changed || state.source?.kind !== "file";
};

/** Reads the text: messages first, then everything that follows from it. */
const read = async () => {
  const asked = text.text;
  const answer = await purposes.text.ask({ ...question(), text: asked, ask: "text", set: [], start: [] });
  if (!answer) return;
  if (answer.refused) { messages([{ severity: "error", code: "no-answer", message: answer.refused, help: null, place: null, frame: answer.refused }], false); return; }
  text.tell(answer.diagnostics);
  messages(answer.diagnostics, answer.ok);
  const stale = !answer.model;
  for (const id of ["plots", "mechanism", "passport", "configurations", "singular-times"]) $(id).classList.toggle("stale", stale);
  if (stale) {
    evidence.stop();
    for (const one of ["run", "zoom", "passport", "singular", "remarks"]) purposes[one].cancel();
    $("run-words").textContent = state.run ? "What is shown belongs to the last text without mistakes." : "Mend the text to see what it means.";
    $("run-words").className = "bad";
    return;
  }
  const old = state.model;
  state.model = answer.model;
  state.read = asked;
  Object.assign(text.known, { names: answer.model.names, parameters: answer.model.parameters, starts: answer.model.starts });
  const shape = (model) => JSON.stringify([model?.parameters, model?.starts, model?.name]);
  if (shape(old) !== shape(answer.model)) { keepValues(); sliders(); map.offer(answer.model); }
  if (old?.to !== answer.model.to || !$("to").value) $("to").value = answer.model.to ?? "";
  rerun();
  evidence();
};

const messages = (all, ok) => {
  const box = $("messages");
  box.replaceChildren();
  if (!all.length) { box.append(make("p", { class: "fine" }, "No mistakes, no warnings.")); return; }
  all.slice(0, 50).forEach((one, k) => {
    const summary = make("summary", {}, make("b", {}, `${one.severity}[${one.code}]`), " ", one.message);
    const details = make("details", { class: one.severity, open: k === 0 && !ok }, summary, make("pre", {}, one.frame));
    if (one.place) details.append(make("button", { onclick: () => text.show(...one.place) }, "Go there"));
    box.append(details);
  });
  if (all.length > 50) box.append(make("p", { class: "fine" }, `${all.length - 50} more.`));
};

// Runs, and the sliders that change them.

/** Values that sliders gave stay, as far as the new text has their names. */
const keepValues = () => {
  const kept = (values, all) => Object.fromEntries(Object.entries(values).filter(([name]) => all.some((one) => one.name === name)));
  state.set = kept(state.set, state.model.parameters.filter((one) => one.slides));
  state.start = kept(state.start, state.model.starts);
};

const plots = new Plots($("plots"), {
  onCursor: (time) => mechanism.goTo(time, true),
  onZoom: (part) => look(part),
  onWanted: () => rerun(),
});
window.studio.plots = plots;
/** Takes a closer look at a part of the run. */
const look = later(120, async (part) => {
  purposes.zoom.cancel();
  const run = state.run;
  if (!part || !run?.times) return;
  const detail = await purposes.zoom.ask({ ...question(), ask: "run", part, wanted: plots.wanted });
  if (detail && run === state.run) plots.look(part, detail);
});
const mechanism = new Mechanism($("mechanism"), {
  onTime: (time) => plots.set(time),
  onPull: (wish) => purposes.pull.ask({ ...question(), ask: "pull", ...wish }),
});

let began = null;
let pending = false;
let underWay = null;
let quickly = false;
/** Runs with the newest values. A short run is let through, so that every picture of a drag is seen; a long one is given up. */
const rerun = async (since) => {
  began = since ?? began ?? performance.now();
  // While a slider moves, singular points are named and not explained; they are when it rests.
  quickly = since !== undefined || (pending && quickly);
  // Remarks on an older run, and a closer look at it, do not belong to the next one.
  for (const one of ["remarks", "zoom"]) purposes[one].cancel();
  map.changed();
  if (underWay && performance.now() - underWay < 700) { pending = true; return; }
  const mine = underWay = performance.now();
  const [asked, quick] = [began, quickly];
  began = null;
  pending = false;
  const again = setTimeout(() => { if (pending && underWay === mine) { underWay = null; rerun(); } }, 720);
  const answer = await purposes.run.ask({ ...question(), ask: "run", wanted: plots.wanted, quick });
  clearTimeout(again);
  if (underWay !== mine) return;
  underWay = null;
  if (answer) {
    answer.quick = quick;
    show(answer);
    // Behind the next frame: the picture is painted then.
    if (quick) requestAnimationFrame(() => setTimeout(() => timings.push(performance.now() - asked)));
  }
  if (pending) rerun();
};

/** The values of all unknowns at a time of the run, in the order of the model. */
const valuesAt = (time) => {
  const run = state.run;
  if (run.start?.list) return run.start.list;
  const at = nearest(run.times, time);
  const byName = new Map(run.series.map((one) => [one.name, one.values[at]]));
  return state.model.unknowns.map((name) => byName.get(name) ?? 0);
};

/** Words as a sentence. */
const sentence = (words) => { const all = words.charAt(0).toUpperCase() + words.slice(1); return /[.?!…]$/.test(all) ? all : `${all}.`; };

const show = (run) => {
  const before = state.run;
  state.run = run;
  const notices = [];
  const hasCurves = !run.refused && run.series.length > 0;
  if (run.refused) {
    $("run-words").textContent = run.start && !run.start.refused ? "A position, no run" : "No run";
    const rests = run.start && !run.start.refused;
    const help = rests ? "Nothing drives it, so there is no run; it can be moved by hand." : run.help && sentence(run.help);
    notices.push(make("p", { class: "notice" + (rests ? " info" : "") }, sentence(run.refused), help ? make("span", { class: "soft" }, ` ${help}`) : null));
    if (run.frame && !run.start?.values) notices.push(make("details", {}, make("summary", {}, "Where it comes from"), make("pre", {}, run.frame)));
    for (const words of run.start?.words || []) notices.push(make("p", { class: "notice info" }, words));
    if (run.start?.refused) notices.push(make("details", { class: "notice", open: true }, make("summary", {}, run.start.refused), make("pre", {}, run.start.frame || "")));
  } else {
    $("run-words").textContent = sentence(run.message);
    $("run-words").className = run.status === "success" ? "" : run.status === "singularity" ? "warn" : "bad";
  }
  for (const words of run.warnings || []) notices.push(make("p", { class: "notice" }, words));
  $("notices").replaceChildren(...notices.slice(0, 12));
  const scene = run.scene || run.start?.scene || null;
  document.querySelector(".stage").classList.toggle("flat", !scene);
  mechanism.room = !!run.refused;
  if (!before || before.refused !== run.refused) mechanism.time = undefined;
  mechanism.show(scene, valuesAt, run.margins, state.pinned?.scene);
  mechanism.instants(run.marks || []);
  $("plots").hidden = !hasCurves;
  if (hasCurves) {
    plots.draw(run, state.pinned);
    plots.set(Math.min(run.times[run.times.length - 1], Math.max(run.times[0], mechanism.time ?? plots.at)));
  } else plots.clear();
  singularTimes(run);
  $("out").hidden = false;
  $("pin").disabled = !hasCurves;
  for (const [id, isThere] of Object.entries({ plots: hasCurves, margin: hasCurves && run.margins.values.some((value) => value > 0), mechanism: !!scene, stills: hasCurves && !!scene && !state.model.events, csv: hasCurves })) $(`take-${id}`).hidden = !isThere;
  commands();
};

/** Where the run is singular, and why, in words. */
const singularTimes = (run) => {
  const cards = (run.marks || []).slice(0, 12).map((mark) => make("div", { class: "card singular" },
    make("h2", {}, mark.title, " ", make("button", { onclick: () => { mechanism.goTo(mark.time); plots.set(mark.time); } }, "Show this instant")),
    mark.kind_words ? make("p", {}, mark.kind_words) : null,
    make("pre", {}, mark.words.trim()),
    mark.lines.length ? make("p", { class: "soft" }, "Equations: ", mark.lines.map((line) => make("button", { onclick: () => text.showLine(line) }, `line ${line}`))) : null));
  if ((run.marks || []).length > 12) cards.push(make("p", { class: "soft" }, `${run.marks.length - 12} more singular times; the report lists them.`));
  $("singular-times").replaceChildren(...cards);
};

/** A slider's range: the bounds of the text, or around its value. */
const range = (one) => {
  const size = Math.abs(one.value) || 1;
  const usual = one.value > 0 ? [0.2, 2] : one.value < 0 ? [-2, -0.2] : [-1, 1];
  const low = one.min ?? usual[0] * size;
  const high = one.max ?? usual[1] * size;
  return [Math.max(low, one.value - 50 * size), Math.min(high, one.value + 50 * size)];
};

const sliders = () => {
  const { parameters, starts } = state.model;
  const box = $("sliders");
  box.replaceChildren();
  const group = (title, all, values) => {
    if (!all.length) return;
    const reset = make("button", { onclick: () => { for (const name of Object.keys(values)) delete values[name]; sliders(); rerun(); evidence(); } }, "as in the text");
    box.append(make("h2", {}, title, reset));
    for (const one of all.slice(0, 40)) box.append(slider(one, values));
    if (all.length > 40) box.append(make("p", { class: "soft" }, `${all.length - 40} more in the text.`));
  };
  group("Parameters", parameters.filter((one) => one.slides), state.set);
  group("Start values", starts, state.start);
  box.classList.toggle("long", [...parameters, ...starts].some(({ name }) => name.length > 8));
  if (!box.childElementCount) box.append(make("p", { class: "soft" }, "The model has no parameters and gives no start values."));
};

const slider = (one, values) => {
  const [low, high] = range(one);
  const now = values[one.name] ?? one.value;
  const label = one.name + (one.fixed ? " (fixed)" : "");
  const input = make("input", { type: "range", min: Math.min(low, now), max: Math.max(high, now), step: "any", value: now, "aria-label": `${label}${one.comment ? `, ${one.comment}` : ""}` });
  const number = make("input", { type: "number", step: "any", value: field(now), "aria-label": `Value of ${label}` });
  const row = make("div", { class: "slider", title: one.comment || null }, make("label", {}, one.name), input, number, make("span", { class: "unit" }, [one.unit, one.fixed ? "fixed" : ""].filter(Boolean).join(" ")));
  row.dataset.name = one.name;
  const change = (value, since) => {
    if (!Number.isFinite(value)) return;
    if (value === one.value) delete values[one.name]; else values[one.name] = value;
    row.classList.toggle("changed", one.name in values);
    input.setAttribute("aria-valuetext", `${short(value)} ${one.unit}`);
    rerun(since);
    evidence();
  };
  row.classList.toggle("changed", one.name in values);
  input.addEventListener("input", () => { const value = +(+input.value).toPrecision(5); number.value = field(value); change(value, performance.now()); });
  number.addEventListener("change", () => {
    const value = +number.value;
    if (value < +input.min) input.min = value;
    if (value > +input.max) input.max = value;
    input.value = value;
    change(value);
  });
  return row;
};

// The passport and the singular configurations: after the last change, since they take longer than a run.

const evidence = later(350, async () => {
  const asked = question();
  if (state.run?.quick && state.run.marks?.length) rerun();
  for (const one of ["singular", "remarks"]) purposes[one].cancel();
  const passport = await purposes.passport.ask({ ...asked, ask: "passport" });
  if (!passport) return;
  state.passport = passport;
  Object.assign(text.known, { hidden: passport.hidden || [], blocks: passport.blocks || [] });
  const box = $("passport");
  if (passport.refused) {
    box.replaceChildren(make("details", {}, make("summary", {}, sentence(passport.refused), passport.help ? make("span", { class: "at" }, ` ${sentence(passport.help)}`) : null), make("pre", {}, passport.frame || "")));
  } else {
    const loci = passport.loci.slice(0, 3).map((one) => (one.length > 90 ? `${one.slice(0, 86)} …` : one));
    const where = loci.length ? ` ${sentence(`Singular where ${loci.join(", or ")}${passport.loci.length > 3 ? ", …" : ""}`)}` : "";
    const free = passport.free.length ? ` Free: ${passport.free.slice(0, 6).join(", ")}.` : "";
    const start = startWords(passport.point || {});
    const open = box.querySelector("details")?.open;
    box.replaceChildren(make("details", { open: !!open }, make("summary", {}, passport.summary, make("span", { class: "at" }, free + start + where)), passport.mode ? make("p", {}, passport.mode.replace(" --modes lists all modes.", "")) : null, make("pre", {}, passport.text)));
  }
  if (state.model?.events) configurations(null);
  else {
    const found = await purposes.singular.ask({ ...asked, ask: "singular" });
    if (!found) return;
    configurations(found);
  }
  const remarks = await purposes.remarks.ask({ ...asked, ask: "remarks" });
  const told = [...$("notices").children].map((one) => one.textContent);
  for (const words of remarks?.warnings || []) if (!told.includes(words)) $("notices").append(make("p", { class: "notice" }, words));
});

/** Whether the start is the one that is given. */
const startWords = (point) => {
  if (!Object.keys(point).length) return " Start: none found.";
  const given = state.model.starts.filter(({ name }) => typeof point[name] === "number").map(({ name, value }) => [point[name], state.start[name] ?? value]);
  const moved = given.filter(([found, wanted]) => Math.abs(found - wanted) > 1e-9 * (1 + Math.abs(wanted))).length;
  if (!given.length) return "";
  return moved ? ` Start: ${moved} of ${given.length} given values moved to be consistent.` : " Start: as given.";
};

const configurations = (found) => {
  const box = $("configurations");
  box.replaceChildren();
  mechanism.configurations([]);
  $("take-configurations").hidden = !found?.scene;
  if (!found) return;
  if (found.refused) { if (state.model.draws) box.append(make("h2", {}, "Singular configurations"), make("p", { class: "soft" }, sentence(found.refused))); return; }
  const title = sentence(found.found.replace("as above", "as the evidence lists them")).slice(0, -1);
  box.append(make("h2", {}, "Singular configurations"), make("p", {}, `${title}; verdict: ${found.verdict}.`));
  if (found.cases?.length) box.append(make("details", { open: found.cases.length === 1 }, make("summary", {}, sentence(found.cases_title).slice(0, -1) + ":"), make("ul", {}, found.cases.map((words) => make("li", {}, words)))));
  if (found.scene) {
    mechanism.configurations(found.scene.frames.map((frame, k) => {
      const one = found.configurations[k];
      const known = { ...one.values, ...one.angles };
      const listed = (digits) => Object.entries(one.angles).map(([name, value]) => `${name} = ${short(value, digits)}`);
      return {
        scene: found.scene, frame, words: `${k + 1}. ${listed(4).slice(0, 3).join(", ")}`,
        told: `Configuration ${k + 1}, singular: ${one.cases.join("; ")}. ${listed(6).join(", ")}`,
        values: state.model.unknowns.map((name) => known[name] ?? 0),
      };
    }));
  }
  box.append(make("details", {}, make("summary", {}, "Evidence"), make("pre", {}, found.text)));
};

// The map.

const map = new ParameterMap($("map"), question, {
  onOpen: (point) => {
    for (const [name, value] of point) state.set[name] = +value.toPrecision(8);
    sliders();
    rerun();
    evidence();
    $("sliders").scrollIntoView({ block: "nearest" });
  },
  onPicture: (svg, kind) => taken(pictureOf(svg), `${stem()}-map`, kind),
});

// What is taken along.

const stem = () => state.name.replace(/.*[/\\.](?=[^/\\.])/, (found) => (state.name.endsWith(".mo") ? found.replace(/.*[/\\]/, "") : "")).replace(/\.mo$/, "") || "model";

const download = (name, kind, content) => {
  const link = make("a", { href: URL.createObjectURL(new Blob([content], { type: kind })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};

const take = async (ask, name, kind, more = {}) => {
  const words = $("out-words");
  words.textContent = "";
  const answer = await purposes.out.ask({ ...question(), ask, ...more });
  if (!answer) return;
  if (answer.refused) { words.textContent = answer.refused + (answer.help ? ` ${answer.help}` : ""); return; }
  if (kind === "SVG" || kind === "PNG") taken(answer.text, name, kind); else download(name, kind, answer.text);
};

/** A picture as a file. */
const taken = (svg, name, kind) => {
  if (kind === "SVG") { download(`${name}.svg`, "image/svg+xml", svg); return; }
  const image = new Image();
  image.onload = () => {
    const canvas = make("canvas", { width: 2 * image.width, height: 2 * image.height });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => download(`${name}.png`, "image/png", blob));
  };
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg);
};

/** A picture of the page as a file of its own: with its colours, on the ground that it stands on. */
const pictureOf = (svg) => {
  const copy = svg.cloneNode(true);
  const [, , width, height] = svg.getAttribute("viewBox").split(" ");
  const styles = ["fill", "stroke", "stroke-width", "stroke-linecap", "stroke-linejoin", "stroke-dasharray", "opacity"];
  const all = svg.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((one, k) => {
    const seen = getComputedStyle(all[k]);
    for (const style of styles) one.setAttribute(style, seen.getPropertyValue(style));
    for (const name of ["class", "tabindex", "role", "aria-label"]) one.removeAttribute(name);
  });
  for (const { name } of [...copy.attributes]) if (name !== "viewBox") copy.removeAttribute(name);
  const ground = make("rect", { width, height, fill: getComputedStyle(document.documentElement).getPropertyValue("--card").trim() });
  copy.prepend(ground);
  for (const [name, value] of [["xmlns", "http://www.w3.org/2000/svg"], ["width", width], ["height", height]]) copy.setAttribute(name, value);
  return new XMLSerializer().serializeToString(copy);
};

const quoted = (word) => (/^[\w\-./=:,+@%]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** The lines that repeat what is shown. */
const commands = () => {
  const hasStarts = Object.keys(state.start).length > 0;
  const model = hasStarts ? `${stem()}-flat.mo` : state.name;
  const sets = hasStarts ? [] : Object.entries(state.set);
  const to = toValue() !== null && toValue() !== state.model?.to ? [["--to", String(toValue())]] : [];
  const words = ["daelight", state.run?.refused ? "init" : "solve", model, ...sets.flatMap(([name, value]) => ["--set", `${name}=${value}`])];
  if (!state.run?.refused) words.push(...to.flat(), ...($("passes").checked ? ["--on-singularity", "continue"] : []));
  $("command").textContent = words.map(quoted).join(" ");
  const builtIn = state.source?.kind === "built-in" && !hasStarts && text.text === state.saved;
  const lines = ["import daelight", builtIn ? `model = daelight.example(${JSON.stringify(state.name)})` : `model = daelight.load(${JSON.stringify(model)})`];
  if (sets.length) lines.push(`model = model.with_parameters({${sets.map(([name, value]) => `${JSON.stringify(name)}: ${value}`).join(", ")}})`);
  lines.push(state.run?.refused ? "start = model.init()" : `run = model.solve(${pythonOptions()})`);
  $("python").textContent = lines.join("\n");
  const unsaved = text.text !== state.saved;
  $("repeat").textContent = (unsaved ? "Save the text first: the lines read the file. " : "")
    + (hasStarts ? "Start values differ from the text: download the flat Modelica, which has them." : "");
};
const pythonOptions = () => {
  const options = [];
  if (toValue() !== null && toValue() !== state.model?.to) options.push(`(${state.model?.from ?? 0}, ${toValue()})`);
  if ($("passes").checked) options.push('on_singularity="continue"');
  return options.join(", ");
};

/** A picture to be taken along, in both kinds. */
const picture = (id, words, onTake) => make("span", { id: `take-${id}` }, `${words} `, ["SVG", "PNG"].map((kind) => make("button", { "aria-label": `${words} as ${kind}`, onclick: () => onTake(kind) }, kind)));
$("out").append(
  make("h2", {}, "Take along"),
  make("div", { class: "buttons" },
    make("button", { id: "take-report", onclick: () => take("report", `${stem()}.html`, "text/html") }, "Report"),
    make("button", { id: "take-csv", onclick: () => take("csv", `${stem()}.csv`, "text/csv") }, "Values (CSV)"),
    make("button", { onclick: () => take("flat", `${stem()}-flat.mo`, "text/plain") }, "Flat Modelica")),
  make("div", { class: "pictures" },
    picture("plots", "Plots", (kind) => take("picture", stem(), kind, { what: "trajectory" })),
    picture("margin", "Margin", (kind) => take("picture", `${stem()}-margin`, kind, { what: "margin" })),
    picture("mechanism", "Mechanism, as shown", (kind) => taken(pictureOf(mechanism.svg), `${stem()}-mechanism`, kind)),
    picture("stills", "Mechanism along the run", (kind) => take("picture", `${stem()}-stills`, kind, { what: "drawing" })),
    picture("configurations", "Configurations", (kind) => take("picture", `${stem()}-configurations`, kind, { what: "configurations" }))),
  make("p", { id: "out-words", role: "status", class: "warn" }),
  make("p", { class: "soft" }, "The same in a terminal:"), make("pre", { id: "command", tabindex: 0 }),
  make("p", { class: "soft" }, "and in Python:"), make("pre", { id: "python", tabindex: 0 }), make("p", { id: "repeat", class: "warn" }));

// Controls of the run.

for (const id of ["to", "passes"]) $(id).addEventListener("change", () => { rerun(); evidence(); });
$("pin").addEventListener("click", () => {
  state.pinned = state.pinned ? null : state.run;
  $("pin").setAttribute("aria-pressed", String(!!state.pinned));
  $("pin").textContent = state.pinned ? "Unpin" : "Pin run";
  show(state.run);
});

// Files.

const open = async (kind, name) => {
  if (text.text !== state.saved && !confirm("The text was changed and not saved. Leave it?")) { choose(); return; }
  const answer = await send("open", kind === "file" ? { file: name } : { built_in: name }).catch(() => ({ refused: "The studio does not answer." }));
  if (answer.refused) { messages([{ severity: "error", code: "unreadable-file", message: answer.refused, place: null, frame: answer.refused }], false); return; }
  Object.assign(state, { source: { kind, name }, name, saved: answer.text, set: {}, start: {}, model: null, read: null, pinned: null, run: null });
  forget();
  document.title = `${name} · daelight studio`;
  text.text = answer.text;
  dirty();
  choose();
  readSoon.stop();
  await read();
};

/** Nothing of the model before stays. */
const forget = () => {
  evidence.stop();
  for (const one of Object.values(purposes)) one.cancel();
  underWay = began = null;
  pending = false;
  $("pin").setAttribute("aria-pressed", "false");
  $("pin").textContent = "Pin run";
  $("pin").disabled = true;
  $("to").value = "";
  plots.forget();
  mechanism.show(null);
  Object.assign(mechanism, { time: undefined, mostPulled: 0, pose: null });
  map.offer(null);
  for (const id of ["run-words", "notices", "singular-times", "configurations", "passport", "sliders"]) $(id).replaceChildren();
  document.querySelector(".stage").classList.add("flat");
  for (const id of ["plots", "out"]) $(id).hidden = true;
};

const choose = () => { if (state.source) $("models").value = `${state.source.kind}:${state.source.name}`; };

const save = async () => {
  if (state.source?.kind !== "file") { saveAs(); return; }
  const content = text.text;
  const answer = await send("save", { file: state.source.name, text: content, before: state.saved });
  if (answer.refused) { alert(answer.refused); return; }
  state.saved = content;
  dirty();
  commands();
};

const saveAs = () => {
  const dialog = $("name-dialog");
  $("file-name").value = `${stem()}.mo`;
  $("name-words").textContent = "";
  dialog.showModal();
};
$("name-ok").addEventListener("click", async (event) => {
  event.preventDefault();
  const name = $("file-name").value.trim();
  const content = text.text;
  const answer = await send("save", { file: name, text: content });
  if (answer.refused) { $("name-words").textContent = answer.refused; return; }
  $("name-dialog").close();
  state.saved = content;
  Object.assign(state, { source: { kind: "file", name }, name });
  await menu();
  dirty();
  choose();
  commands();
});
$("save").addEventListener("click", save);
/** Even spaces and indentation, as by the language server. */
const format = async () => {
  const asked = text.text;
  const answer = await purposes.text.ask({ ...question(), text: asked, ask: "format", set: [], start: [] });
  if (answer?.text === undefined || text.text !== asked) return;
  text.replace(answer.text);
  dirty();
  readSoon();
};
$("format").addEventListener("click", format);
$("save-as").addEventListener("click", saveAs);
addEventListener("beforeunload", (event) => { if (text.text !== state.saved) event.preventDefault(); });

const menu = async () => {
  const home = await send("home");
  const option = (kind, name, comment) => make("option", { value: `${kind}:${name}`, title: comment || null }, name);
  const isPart = (one) => one.name.startsWith("Parts.");
  const group = (label, options) => (options.length ? make("optgroup", { label }, options) : null);
  $("models").replaceChildren(...[
    group(`This folder (${home.folder})`, home.files.map((name) => option("file", name))),
    group("Built-in models", home.built_in.filter((one) => !isPart(one)).map((one) => option("built-in", one.name, one.comment))),
    group("Examples of the library of components", home.built_in.filter(isPart).map((one) => option("built-in", one.name, one.comment))),
  ].filter(Boolean));
  return home;
};
$("models").addEventListener("change", () => { const [kind, name] = $("models").value.split(/:(.*)/s); open(kind, name); });

const home = await menu();
const first = home.first ?? (home.files.length ? home.files[0] : "built-in:pendulum");
if (first.startsWith("built-in:")) await open("built-in", first.slice(9)); else await open("file", first);
