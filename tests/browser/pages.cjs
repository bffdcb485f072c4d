// Uses the pages as a reader does: by mouse, by keyboard, narrow, dark, printed, without scripts.
"use strict";
const { chromium } = require("playwright-core");
const assert = require("node:assert/strict");
const path = require("node:path");
const fs = require("node:fs");

const out = process.argv[2];
const file = (name) => "file://" + path.join(out, "pages", name + ".html");
const shot = (name) => path.join(out, "screenshots", name + ".png");

const TEXTS = {
  "robotic-arm": ["RoboticArm", "A regular DAE of index 5 with 0 degrees of freedom.", "sin(x3) = 0", "1.544626", "kind 5-A", "removable"],
  andrews: ["AndrewsConstraints", "6 real singular configurations found; verdict: proved.", "1.880198026", "Configuration 6", "a[1]=0.03"],
  "delta-robot": ["DeltaRobot", "24 real singular configurations found; verdict: proved.", "Solved from t = 0 to 0.25."],
  e12: ["E12", "A regular DAE of index 4", "Solved from t = 0 to 0.3.", "sin(q2) = 0"],
  pendulum: ["Pendulum", "A regular DAE of index 3 with 2 degrees of freedom.", "Solved from t = 0 to 10.", "There is no real singular configuration"],
  "andrews-run": ["Andrews", "A regular DAE of index 3 with 2 degrees of freedom.", "Solved from t = 0 to 0.03."],
  "four-bar": ["FourBar", "nothing says how it moves", "2 equations for 3 unknowns"],
  chain: ["PendulumChain", "500 equations", "Solved from t = 0 to 1."],
  hostile: ["Hostile", "x</script>", "<img src=x onerror=alert(1)>", "An ordinary differential equation"],
  broken: ["not understood", "no declaration of this name", "undeclared-name", "</pre><script>"],
};

/// A page that fails the test when it asks for anything or complains.
const open = async (browser, name, options = {}) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const faults = [];
  page.on("request", (request) => { if (request.url() !== file(name) && !request.url().startsWith("data:")) faults.push("request: " + request.url()); });
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) faults.push(message.text()); });
  page.on("pageerror", (error) => faults.push(String(error)));
  await page.goto(file(name));
  const close = async () => {
    assert.deepEqual(faults, [], name);
    await context.close();
  };
  return { page, close };
};

/// Waits until something holds on the page.
const until = async (page, holds, what) => {
  for (let tries = 0; tries < 300; tries += 1) {
    if (await page.evaluate(holds)) return;
    await page.waitForTimeout(50);
  }
  assert.fail(what);
};

const scrub = async (page, name) => {
  const rods = () => page.$$eval(".film .now path", (paths) => paths.map((rod) => rod.getAttribute("d")).join(" "));
  const said = () => page.textContent(".film output");
  const slider = page.locator('.film input[type="range"]');
  const first = await rods();
  await slider.focus();
  await page.keyboard.press("End");
  assert.notEqual(await rods(), first, name + ": the end is drawn");
  const last = await slider.evaluate((input) => [input.value, input.max, input.getAttribute("aria-valuetext")]);
  assert.equal(last[0], last[1]);
  assert.equal(last[2], await said());
  await page.keyboard.press("Home");
  assert.equal(await rods(), first, name + ": back at the start");
  await page.click(".film .play");
  await until(page, () => +document.querySelector(".film input").value > 3, name + ": the film plays");
  assert.equal(await page.textContent(".film .play"), "Pause");
  await page.click(".film .play");
  assert.equal(await page.textContent(".film .play"), "Play");
};

const hover = async (page, name) => {
  const chart = page.locator(".chart").first();
  const over = chart.locator(".u-over");
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  const picture = () => chart.locator("canvas").evaluate((canvas) => canvas.toDataURL());
  await page.mouse.move(box.x + 0.4 * box.width, box.y + 0.5 * box.height);
  await until(page, () => /\d/.test(document.querySelector(".chart .u-legend tr:nth-child(2) .u-value").textContent), name + ": the legend tells values");
  const whole = await picture();
  await page.mouse.down();
  await page.mouse.move(box.x + 0.6 * box.width, box.y + 0.5 * box.height, { steps: 4 });
  await page.mouse.up();
  await page.waitForTimeout(60);
  assert.notEqual(await picture(), whole, name + ": dragging zooms");
  await over.dblclick();
  await page.waitForTimeout(60);
  assert.equal(await picture(), whole, name + ": a double click shows all");
  await chart.locator(".live").focus();
  await page.keyboard.press("ArrowRight");
  const before = await chart.locator(".readout").textContent();
  assert.match(before, /^t = .*: .* = /);
  await page.keyboard.press("Shift+ArrowRight");
  assert.notEqual(await chart.locator(".readout").textContent(), before);
  await page.keyboard.press("+");
  await page.waitForTimeout(60);
  assert.notEqual(await picture(), whole, name + ": the keyboard zooms");
  await page.keyboard.press("0");
};

/// The answers are on the first screen: the mechanism, the first plot, the singular configurations.
const firstScreen = async (browser, name) => {
  const { page, close } = await open(browser, name, { viewport: { width: 1400, height: 900 } });
  await page.waitForTimeout(150);
  const ends = await page.$$eval("#summary .sketch, #summary .chart", (parts) => parts.map((part) => part.getBoundingClientRect().bottom));
  assert.ok(ends.length > 0 && Math.max(...ends) <= 900, `${name}: the summary ends at ${Math.max(...ends)} pixels`);
  const faults = await page.evaluate(() => {
    const faults = [];
    for (const value of document.querySelectorAll(".u-legend .u-value")) if (value.textContent) faults.push("a legend tells " + value.textContent);
    if (document.body.textContent.includes("too long to be set")) faults.push("a formula is not set");
    if (document.querySelector("#equations details[open]")) faults.push("the equations are not folded");
    for (const details of document.querySelectorAll("#equations details, #hidden details")) details.open = true;
    for (const box of document.querySelectorAll(".equations .scroll")) if (box.querySelectorAll("math").length < 1) faults.push("an equation is empty");
    return faults;
  });
  assert.deepEqual(faults, [], name);
  await page.screenshot({ path: shot(name + "-first") });
  await close();
};

/// The values of a plot as a table, and its sizes on a logarithmic axis.
const saved = async (browser, name) => {
  const { page, close } = await open(browser, name);
  const chart = page.locator(".chart").first();
  const [download] = await Promise.all([page.waitForEvent("download"), chart.locator('.tools button:has-text("CSV")').click()]);
  const rows = fs.readFileSync(await download.path(), "utf8").trim().split("\n");
  assert.match(rows[0], /^time,/);
  assert.ok(rows.length > 100 && rows.every((row) => row.split(",").length === rows[0].split(",").length), name);
  const picture = () => chart.locator("canvas").evaluate((canvas) => canvas.toDataURL());
  const plain = await picture();
  const log = chart.locator('.tools button:has-text("log")');
  await log.click();
  await page.waitForTimeout(60);
  assert.equal(await log.getAttribute("aria-pressed"), "true");
  assert.notEqual(await picture(), plain, name);
  await log.click();
  await page.waitForTimeout(60);
  assert.equal(await picture(), plain, name);
  await close();
};

/// What a screen reader and a keyboard need.
const access = async (page, name) => {
  const faults = await page.evaluate(() => {
    const faults = [];
    const say = (fault, element) => faults.push(fault + ": " + element.outerHTML.slice(0, 80));
    for (const e of document.querySelectorAll('[role="img"], [role="region"], [role="group"], nav')) if (!e.getAttribute("aria-label")) say("no label", e);
    for (const e of document.querySelectorAll("main table:not(.u-legend)")) if (!e.caption) say("no caption", e);
    for (const e of document.querySelectorAll("main table:not(.u-legend) th")) if (!e.scope) say("no scope", e);
    for (const e of document.querySelectorAll("input, select")) if (!e.labels.length) say("no label", e);
    for (const e of document.querySelectorAll("a")) if (!document.querySelector(e.getAttribute("href"))) say("leads nowhere", e);
    const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
    if (new Set(ids).size !== ids.length) faults.push("an id occurs twice");
    const levels = [...document.querySelectorAll("h1, h2, h3")].map((e) => +e.tagName[1]);
    levels.forEach((level, k) => { if (level > (levels[k - 1] || 0) + 1) faults.push("a level of headings is left out"); });
    return faults;
  });
  assert.deepEqual(faults, [], name);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip", name + ": the skip link comes first");
};

const check = async (browser, name) => {
  const { page, close } = await open(browser, name);
  const text = await page.evaluate(() => document.body.textContent.replace(/\s+/g, " "));
  for (const part of TEXTS[name]) assert.ok(text.includes(part), `${name}: ${part}`);
  assert.ok(fs.statSync(path.join(out, "pages", name + ".html")).size < 6e5, name + ": size");
  assert.notEqual(await page.title(), "taken");
  await access(page, name);
  if (await page.$(".chart")) await hover(page, name);
  if (await page.$(".film")) await scrub(page, name);
  await page.screenshot({ path: shot(name + "-light"), fullPage: true });
  await page.emulateMedia({ colorScheme: "dark" });
  await page.screenshot({ path: shot(name + "-dark"), fullPage: true });
  await close();
};

/// Nothing is wider than a telephone.
const narrow = async (browser, name) => {
  const { page, close } = await open(browser, name, { viewport: { width: 390, height: 844 } });
  await page.waitForTimeout(150);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 390, `${name} is ${width} pixels wide on a telephone`);
  await page.screenshot({ path: shot(name + "-narrow") });
  await close();
};

/// Without scripts there are pictures and tables; printing uses them too.
const still = async (browser, name) => {
  const { page, close } = await open(browser, name, { javaScriptEnabled: false });
  assert.ok(await page.locator(".chart .still svg").first().isVisible(), name);
  assert.ok(await page.locator(".film svg").isVisible(), name);
  assert.ok(!(await page.locator(".controls").isVisible()), name);
  await close();
  const printed = await open(browser, name);
  const pdf = await printed.page.pdf({ format: "A4", printBackground: true });
  fs.writeFileSync(path.join(out, "screenshots", name + ".pdf"), pdf);
  assert.ok(pdf.length > 20000, name);
  await printed.close();
};

(async () => {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--no-first-run"],
  });
  const began = Date.now();
  try {
    for (const name of Object.keys(TEXTS)) {
      await check(browser, name);
      await narrow(browser, name);
    }
    for (const name of ["robotic-arm", "andrews", "andrews-run", "pendulum", "four-bar", "e12", "delta-robot", "chain"]) await firstScreen(browser, name);
    await saved(browser, "pendulum");
    await still(browser, "robotic-arm");
  } finally {
    await browser.close();
  }
  console.log(`browser: ${Object.keys(TEXTS).length} pages used in ${((Date.now() - began) / 1000).toFixed(1)} s; screenshots in ${path.join(out, "screenshots")}`);
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
