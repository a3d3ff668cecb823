// Draws SVG files of a list as PNG: node draw.cjs <folder of node_modules> <list.json> <failed.txt>
// The renderer aborts the whole process on a few icons: what is being drawn is noted first, so the next run skips it.
const fs = require("fs");
const path = require("path");
const [modules, list, failed] = process.argv.slice(2);
const { Resvg } = require(path.join(modules, "@resvg/resvg-js"));
const skip = new Set(fs.existsSync(failed) ? fs.readFileSync(failed, "utf8").split("\n") : []);
for (const { svg, png } of JSON.parse(fs.readFileSync(list, "utf8"))) {
  if (fs.existsSync(png) || skip.has(png)) continue;
  fs.writeFileSync(failed + ".now", png);
  try {
    const picture = new Resvg(svg, { fitTo: { mode: "width", value: 256 } }).render().asPng();
    fs.writeFileSync(png, picture);
  } catch (error) {
    fs.appendFileSync(failed, png + "\n");
  }
}
fs.rmSync(failed + ".now", { force: true });
