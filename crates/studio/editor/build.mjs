// Writes ../page/editor.js, and ../page/licences.txt with the licence of every package in it.
import { build } from "esbuild";
import fs from "node:fs";
import path from "node:path";

const result = await build({
  entryPoints: ["editor.js"],
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  legalComments: "none",
  metafile: true,
  outfile: "../page/editor.js",
});
const packages = new Set();
for (const input of Object.keys(result.metafile.inputs)) {
  const found = input.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
  if (found) packages.add(found[1]);
}
let text = "The editor of the studio (editor.js) is made of these packages; uPlot.js and uPlot.css are uPlot (MIT).\n";
for (const name of [...packages].sort()) {
  const folder = path.join("node_modules", name);
  const { version, license } = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"));
  const file = fs.readdirSync(folder).find((entry) => /^licen[sc]e/i.test(entry));
  text += `\n${"=".repeat(80)}\n${name} ${version}, ${license}\n\n`;
  text += file ? fs.readFileSync(path.join(folder, file), "utf8") : "";
}
fs.writeFileSync("../page/licences.txt", text.replace(/\r\n/g, "\n"));
const bytes = fs.statSync("../page/editor.js").size;
console.log(`editor.js: ${bytes} bytes, ${packages.size} packages`);
