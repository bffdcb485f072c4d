// Uses the studio as a person does: types, drags, reads, maps, takes a report along, and ends it.
"use strict";
const { chromium } = require("playwright-core");
const assert = require("node:assert/strict");
const { spawn } = require("node:child_process");
const path = require("node:path");
const fs = require("node:fs");

const [out, daelight] = process.argv.slice(2);
const DRAGS = +(process.env.DRAGS || 8);
const BALL = `model Ball
  parameter Real g(unit = "m/s2") = 9.81;
  parameter Real e(min = 0, max = 1) = 0.8;
  Real h(unit = "m", start = 1, fixed = true);
  Real v(unit = "m/s", start = 0, fixed = true);
  Boolean on;
  Integer n(start = 0, fixed = true);
equation
  der(h) = v;
  der(v) = -g;
  on = h < 0.2;
  when h < 0 then
    reinit(v, -e*pre(v));
    n = pre(n) + 1;
  end when;
  annotation(experiment(StopTime = 3));
end Ball;
`;
const shot = (page, name) => page.screenshot({ path: path.join(out, "screenshots", `studio-${name}.png`) });

/// Starts a studio in an empty folder; gives its address and how to end it.
const start = async (model, folder) => {
  const server = spawn(daelight, ["studio", model, "--no-open"], { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
  const ended = new Promise((resolve) => server.on("exit", (code, signal) => resolve([code, signal])));
  const address = await new Promise((resolve) => server.stdout.once("data", (bytes) => resolve(String(bytes).trim())));
  assert.match(address, /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/$/);
  return { address, end: () => { server.kill("SIGINT"); return ended; } };
};

/// A page that fails the test when it complains, or asks anybody else.
const open = async (browser, address, options = {}) => {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  const faults = [];
  page.on("request", (request) => { if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(address)) faults.push("request: " + request.url()); });
  page.on("console", (message) => { if (["error", "warning"].includes(message.type()) && !/ERR_ABORTED|status of (409|422)/.test(message.text())) faults.push(message.text()); });
  page.on("pageerror", (error) => faults.push(String(error)));
  await page.goto(address);
  return { page, close: async () => { assert.deepEqual(faults, []); await context.close(); } };
};

const until = async (page, holds, what, argument) => {
  for (let tries = 0; tries < 600; tries += 1) {
    if (await page.evaluate(holds, argument)) return;
    await page.waitForTimeout(50);
  }
  await shot(page, "failed");
  assert.fail(what);
};
const choose = async (page, name) => {
  await page.evaluate(() => { window.studio.state.run = null; });
  await page.selectOption("#models", "built-in:" + name);
  await until(page, (wanted) => window.studio.state.name === wanted && window.studio.state.run, name + " is shown", name);
};
const settled = (page) => until(page, () => document.querySelector("#passport").textContent !== "" && document.querySelector("#busy").textContent === "", "the passport");
const curve = (page) => page.evaluate(() => JSON.stringify(window.studio.state.run.series?.[0].values.slice(0, 60)));

/// Drags a slider by the mouse and waits for the picture of every place; the milliseconds of each.
const drags = async (page, name, n) => {
  const slider = page.locator(`.slider[data-name="${name}"] input[type="range"]`);
  await page.evaluate(() => { window.studio.timings.length = 0; });
  // What arrives above the slider (the passport, a remark) moves it, and a run that the text asks for takes the place of
  // the slider's: a press without a picture is tried again.
  let at;
  let isDrawn = null;
  for (let tries = 0; tries < 8 && !isDrawn; tries += 1) {
    if (tries > 0) await page.mouse.up();
    await slider.scrollIntoViewIfNeeded();
    const box = await slider.boundingBox();
    at = (part) => [box.x + box.width * part, box.y + box.height / 2];
    await page.mouse.move(...at(0.8 - 0.01 * tries));
    await page.mouse.down();
    isDrawn = await page.waitForFunction(() => window.studio.timings.length >= 1, null, { timeout: 5000 }).catch(() => null);
  }
  assert.ok(isDrawn, name + ": the first drag is drawn");
  await page.evaluate(() => { window.studio.timings.length = 0; });
  for (let k = 0; k < n; k += 1) {
    await page.mouse.move(...at(0.5 + 0.2 * Math.sin(1 + k)));
    await page.waitForFunction((count) => window.studio.timings.length >= count, k + 1, { polling: "raf", timeout: 20000 });
  }
  await page.mouse.up();
  const all = await page.evaluate(() => window.studio.timings.slice());
  return all.sort((a, b) => a - b)[all.length >> 1];
};

/// A mistyped name is told at its place, and mended.
const write = async (page) => {
  await page.click(".cm-line:has-text('der(vx)')");
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Backspace");
  await page.keyboard.type("xx");
  await until(page, () => document.querySelector("#messages").textContent.includes("undeclared-name"), "the mistake is told");
  await page.waitForSelector(".cm-lintRange-error");
  assert.equal(await page.textContent(".cm-lintRange-error"), "xx");
  const words = await page.textContent("#messages");
  assert.match(words, /`xx` is not declared/);
  assert.match(await page.textContent("#run-words"), /last text without mistakes/);
  await shot(page, "mistake");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Backspace");
  await until(page, () => !document.querySelector("#messages").textContent.includes("undeclared-name"), "the mistake is mended");
  await until(page, () => !document.querySelector("#plots").classList.contains("stale"), "the picture is of this text");
};

/// The crank is led once around, and the mechanism follows.
const turn = async (page) => {
  const joint = page.locator("#mechanism .joint.moves").first();
  const svg = await page.locator("#mechanism > svg").boundingBox();
  const ground = await page.locator("#mechanism .joint:not(.moves)").first().boundingBox();
  const crank = await joint.boundingBox();
  const centre = [ground.x + ground.width / 2, ground.y + ground.height / 2];
  const begin = [crank.x + crank.width / 2, crank.y + crank.height / 2];
  const radius = Math.hypot(begin[0] - centre[0], begin[1] - centre[1]);
  const angle = Math.atan2(begin[1] - centre[1], begin[0] - centre[0]);
  assert.ok(svg.width > 200 && radius > 20, `${radius}`);
  await page.mouse.move(...begin);
  await page.mouse.down();
  const seen = new Set();
  for (let k = 1; k <= 24; k += 1) {
    const turned = angle - (2 * Math.PI * k) / 24;
    const goal = [centre[0] + radius * Math.cos(turned), centre[1] + radius * Math.sin(turned)];
    await page.mouse.move(...goal);
    await page.waitForTimeout(60);
    await page.waitForFunction(([x, y]) => {
      const box = document.querySelector("#mechanism .joint.moves").getBoundingClientRect();
      return Math.hypot(box.x + box.width / 2 - x, box.y + box.height / 2 - y) < 6;
    }, goal, { polling: 30, timeout: 10000 });
    seen.add(await page.locator("#mechanism .rod").first().getAttribute("d"));
    if (k === 9) await shot(page, "four-bar");
  }
  await page.mouse.up();
  assert.ok(seen.size >= 20, `${seen.size} positions`);
  assert.match(await page.textContent("#mechanism figcaption"), /margin/);
  await joint.focus();
  const before = await page.locator("#mechanism .rod").first().getAttribute("d");
  await page.keyboard.press("ArrowUp");
  await until(page, (old) => document.querySelector("#mechanism .rod").getAttribute("d") !== old, "the keyboard pulls", before);
};

/// Where and why the arm is singular.
const arm = async (page) => {
  await until(page, () => document.querySelector("#singular-times .singular"), "the singular time");
  const words = await page.textContent("#singular-times");
  for (const part of ["1.544626", "removable", "sin(x3) = 0", "5-A"]) assert.ok(words.includes(part), part);
  const before = await page.locator("#mechanism .rod").first().getAttribute("d");
  await page.click("#singular-times button:has-text('Show this instant')");
  assert.notEqual(await page.locator("#mechanism .rod").first().getAttribute("d"), before);
  assert.match(await page.textContent("#mechanism figcaption"), /t = 1\.545/);
  // Its motion is prescribed: a joint that is pulled leads it through time. The small picture leads back to the singular instant.
  await page.locator("#mechanism input[type='range']").fill("400");
  const tool = page.locator("#mechanism > svg .joint.moves").nth(1);
  const from = await tool.boundingBox();
  await page.mouse.move(from.x + 4, from.y + 4);
  await page.mouse.down();
  for (let k = 1; k <= 8; k += 1) { await page.mouse.move(from.x + 4 - 7 * k, from.y + 4 + 3 * k); await page.waitForTimeout(80); }
  await until(page, () => /leads it through time/.test(document.querySelector("#mechanism figcaption").textContent), "the joint leads through time");
  await page.mouse.up();
  assert.doesNotMatch(await page.textContent("#mechanism figcaption"), /t = 0\.8,/);
  await page.click("#mechanism .thumbs button");
  assert.match(await page.textContent("#mechanism figcaption"), /t = 1\.545/);
  await page.locator("button.log").first().click();
  for (const id of ["plots", "margin", "mechanism", "stills"]) for (const k of [0, 1]) await taken(page, `#take-${id} button >> nth=${k}`);
  await page.locator("#plots .u-over").first().scrollIntoViewIfNeeded();
  const box = await page.locator("#plots .u-over").first().boundingBox();
  await page.mouse.move(box.x + 0.3 * box.width, box.y + 0.5 * box.height);
  await until(page, () => /t = 0\.[56]/.test(document.querySelector("#mechanism figcaption").textContent), "the cursor leads the mechanism");
  await shot(page, "arm");
};

/// A map of Andrews' loops; one of its points, and a configuration there.
const mapped = async (page) => {
  await page.selectOption("#map label:has-text('measure') select", "singular-count");
  const fields = page.locator("#map input[type=number]");
  for (const [k, value] of ["0.02", "0.06", "0.02", "0.06"].entries()) await fields.nth(k).fill(value);
  await page.click("#map button:has-text('Make the map')");
  await until(page, () => /^(7|15|31) × /.test(document.querySelector("#map > span").textContent), "the map");
  const drawn = page.locator("#map > svg");
  await drawn.scrollIntoViewIfNeeded();
  await shot(page, "map");
  for (const kind of ["SVG", "PNG"]) await taken(page, `#map button:has-text('Map (${kind})')`);
  const box = await drawn.boundingBox();
  await page.mouse.click(box.x + 0.62 * box.width, box.y + 0.3 * box.height);
  assert.ok(await page.evaluate(() => "a[1]" in window.studio.state.set && "a[2]" in window.studio.state.set));
  await until(page, () => document.querySelectorAll("#mechanism .thumbs button").length > 1, "the configurations of the point");
  await page.locator("#mechanism .thumbs button").nth(1).click();
  assert.match(await page.textContent("#mechanism figcaption"), /^Configuration 2, singular: /);
  await shot(page, "configuration");
};

/// A file that is taken along has something in it.
const taken = async (page, selector) => {
  const download = page.waitForEvent("download");
  await page.click(selector);
  const file = await (await download).path();
  assert.ok(fs.statSync(file).size > 400, selector);
};

/// A model with events: its discrete variables are drawn; a part of the run that is zoomed is looked at closely, and stays so.
const events = async (page, folder) => {
  fs.writeFileSync(path.join(folder, "ball.mo"), BALL);
  await page.reload();
  await until(page, () => window.studio?.state.run, "the first run again");
  await page.selectOption("#models", "file:ball.mo");
  await until(page, () => window.studio.state.name === "ball.mo" && window.studio.state.run, "the ball");
  await settled(page);
  assert.match(await page.textContent("#passport"), /2 degrees of freedom/);
  assert.deepEqual(await page.evaluate(() => window.studio.state.run.series.map((one) => one.name)), ["h", "v", "on", "n"]);
  for (const k of [0, 1]) await taken(page, `#take-plots button >> nth=${k}`);
  const points = () => page.evaluate(() => window.studio.plots.times.length);
  const before = await points();
  await page.locator("#plots .u-over").first().scrollIntoViewIfNeeded();
  const box = await page.locator("#plots .u-over").first().boundingBox();
  await page.mouse.move(box.x + 0.3 * box.width, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + 0.5 * box.width, box.y + 20, { steps: 4 });
  await page.mouse.up();
  await until(page, (old) => window.studio.plots.times.length > old + 100, "a closer look", before);
  await page.locator('.slider[data-name="e"] input[type="range"]').press("ArrowLeft");
  await until(page, () => "e" in window.studio.state.set && window.studio.plots.detail, "a closer look at the next run");
  assert.ok(await page.evaluate(() => window.studio.plots.zoomed[0] > 0.5));
  await shot(page, "events");
  // Formatting is part of the text, and can be undone.
  await page.click(".cm-line:has-text('der(h)')");
  await page.keyboard.press("End");
  await page.keyboard.type("   // the speed");
  await page.keyboard.press("Home");
  await page.keyboard.type("   ");
  await page.click("#format");
  await until(page, () => /^  der\(h\) = v;   \/\/ the speed$/m.test([...document.querySelectorAll(".cm-line")].map((line) => line.textContent).join("\n")), "the text is formatted");
  // A file with a mistake shows nothing of the model before.
  fs.writeFileSync(path.join(folder, "wrong.mo"), "model Wrong\n  Real x;\nequation\n  x = y;\nend Wrong;\n");
  await page.reload();
  await until(page, () => window.studio?.state.run, "the first run once more");
  await page.selectOption("#models", "file:wrong.mo");
  await until(page, () => document.querySelector("#messages").textContent.includes("undeclared-name"), "the mistake");
  assert.match(await page.textContent("#run-words"), /Mend the text/);
  assert.equal(await page.locator(".slider, #plots .panel, #command:visible").count(), 0);
};

const files = async (page, folder) => {
  const download = page.waitForEvent("download");
  await page.click("#take-report");
  const file = path.join(folder, "report.html");
  await (await download).saveAs(file);
  assert.match(fs.readFileSync(file, "utf8"), /FourBar/);
  assert.match(await page.textContent("#command"), /^daelight /);
  assert.match(await page.textContent("#python"), /^import daelight/);
  // Saved in the folder, and nowhere else.
  await page.click("#save-as");
  await page.fill("#file-name", "../out.mo");
  await page.click("#name-ok");
  await until(page, () => document.querySelector("#name-words").textContent.includes("refused"), "a place outside is refused");
  await page.fill("#file-name", "mine.mo");
  await page.click("#name-ok");
  await until(page, () => !document.querySelector("#name-dialog").open, "the file is saved");
  assert.ok(fs.existsSync(path.join(folder, "mine.mo")) && !fs.existsSync(path.join(folder, "../out.mo")));
};

/// The colours that fall short of WCAG AA on a ground that they may stand on: 4.5 for words and curves, 3 for the edges of fields.
const palette = () => {
  const style = getComputedStyle(document.documentElement);
  const light = (name) => {
    const parts = [1, 3, 5].map((k) => parseInt(style.getPropertyValue("--" + name).trim().slice(k, k + 2), 16) / 255);
    const [r, g, b] = parts.map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const words = ["ink", "soft", "link", "good", "warn", "bad", "mark", "accent", ...[0, 1, 2, 3, 4, 5, 6, 7].map((k) => "c" + k)];
  const wanted = ["card", "paper", "wash"].flatMap((ground) => [...words.map((word) => [word, ground, 4.5]), ["edge", ground, 3]]);
  return [...wanted, ["accent-ink", "accent", 4.5]].filter(([a, b, least]) => !(contrast(a, b) >= least)).map(([a, b]) => `${a} on ${b}: ${contrast(a, b).toFixed(2)}`);
};

/// What a screen reader and a keyboard need; nothing is wider than a telephone.
const access = async (browser, address) => {
  const { page, close } = await open(browser, address, { viewport: { width: 390, height: 844 }, colorScheme: "dark" });
  await until(page, () => window.studio?.state.run, "the first run");
  await settled(page);
  const faults = await page.evaluate(() => {
    const faults = [];
    const say = (fault, element) => faults.push(fault + ": " + element.outerHTML.slice(0, 90));
    if (document.documentElement.scrollWidth > 390) faults.push("wider than a telephone: " + document.documentElement.scrollWidth);
    for (const e of document.querySelectorAll('[role="img"], [role="region"], [role="group"], section')) if (!e.getAttribute("aria-label")) say("no label", e);
    for (const e of document.querySelectorAll("input, select")) if (!e.labels?.length && !e.getAttribute("aria-label") && e.checkVisibility()) say("no label", e);
    for (const e of document.querySelectorAll("button")) if (!e.textContent.trim() && e.checkVisibility()) say("no words", e);
    const light = (text) => text.match(/[\d.]+/g).slice(0, 3).map((v) => { const c = v / 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; }).reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
    const ground = (e) => { for (let at = e; at; at = at.parentElement) { const c = getComputedStyle(at).backgroundColor; if (!/rgba\(.*, 0\)|transparent|color-mix|oklab/.test(c)) return c; } return "rgb(255, 255, 255)"; };
    for (const e of document.querySelectorAll("#right *, header *, #messages *")) {
      const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
      if (!own || !e.checkVisibility() || e.closest(":disabled, svg, .stale, .uplot")) continue;
      const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x);
      if ((a + 0.05) / (b + 0.05) < 4.5) say(`contrast ${((a + 0.05) / (b + 0.05)).toFixed(2)}`, e);
    }
    return faults;
  });
  assert.deepEqual(faults, []);
  await page.selectOption("#models", "built-in:robotic-arm");
  await until(page, () => window.studio.state.name === "robotic-arm" && window.studio.state.run, "the arm on a telephone");
  assert.ok(await page.evaluate(() => document.querySelector("#right").getBoundingClientRect().top < 844), "a long text keeps the answers away");
  await shot(page, "telephone");
  assert.deepEqual(await page.evaluate(palette), []);
  await page.emulateMedia({ colorScheme: "light" });
  assert.deepEqual(await page.evaluate(palette), []);
  await page.locator("#plots").scrollIntoViewIfNeeded();
  await shot(page, "telephone-plots");
  await close();
};

(async () => {
  const began = Date.now();
  const folder = path.join(out, "studio");
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(folder, { recursive: true });
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"] });
  const studio = await start("pendulum", folder);
  const medians = {};
  try {
    const { page, close } = await open(browser, studio.address);
    page.on("dialog", (dialog) => dialog.accept());
    await until(page, () => window.studio?.state.run?.series, "the first run");
    await write(page);
    await settled(page);
    await until(page, () => /A regular DAE of index 3 with 2 degrees of freedom/.test(document.querySelector("#passport").textContent), "the passport of the pendulum");
    assert.match(await page.textContent("#passport summary"), /Start: as given\./);
    await shot(page, "pendulum");
    await page.click("#pin");
    const before = await curve(page);
    medians.pendulum = await drags(page, "L", DRAGS);
    assert.notEqual(await curve(page), before, "the curve moved");
    await shot(page, "pinned");
    await choose(page, "four-bar");
    medians["four-bar"] = await drags(page, "l[2]", DRAGS);
    await choose(page, "four-bar");
    await settled(page);
    await turn(page);
    await files(page, folder);
    await choose(page, "robotic-arm");
    await arm(page);
    medians.arm = await drags(page, "x2", DRAGS);
    await until(page, () => /5-A/.test(document.querySelector("#singular-times").textContent), "singular points are explained when the slider rests");
    await choose(page, "andrews");
    medians.andrews = await drags(page, "m1", DRAGS);
    await shot(page, "andrews");
    await choose(page, "andrews-constraints");
    await mapped(page);
    await events(page, folder);
    await close();
    await access(browser, studio.address);
  } finally {
    await browser.close();
    const [code] = await studio.end();
    assert.equal(code, 0, "Ctrl-C ends it cleanly");
  }
  const words = Object.entries(medians).map(([name, ms]) => `${name} ${ms.toFixed(0)} ms`).join(", ");
  console.log(`studio: used in ${((Date.now() - began) / 1000).toFixed(1)} s; from slider to picture, median of ${DRAGS} drags: ${words}`);
  // Development builds are several times slower.
  if (daelight.includes("release")) for (const [name, ms] of Object.entries(medians)) assert.ok(ms < (name === "andrews" ? 200 : 100), `${name}: ${ms} ms`);
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
