// The search of the ask box without a page: node box_search.js SCRIPTS DATA [words|split|snippets|loaded|first] < questions, with
// the folders of the box's scripts and of its data. Prints for each question (a line) the sections,
// the words that are looked for, what is shown of each section, or the data that it has loaded (`first`: when the first sections
// are there), as JSON; with `split`, the words of each text in a JSON list.
const { readFileSync } = require("fs");
const { join } = require("path");
const vm = require("vm");

globalThis.window = globalThis;
const taken = {};
let loaded = [];
globalThis.lmmAsk = { about: null, take: (name, mark, value) => (taken[name] = value) };

const run = (folder, name) => vm.runInThisContext(readFileSync(join(folder, name), "utf8"), { filename: name });

async function main([scripts, data, what]) {
  lmmAsk.data = async (name) => (loaded.push(name), run(data, `${name}.js`), taken[name]);
  for (const name of ["index.js", "search.js"]) run(scripts, name);
  lmmAsk.search.start(await lmmAsk.data("data"));
  if (what === "split") {
    for (const text of JSON.parse(readFileSync(0, "utf8"))) console.log(JSON.stringify(lmmAsk.search.words(text)));
    process.exit(0);
  }
  for (const question of readFileSync(0, "utf8").trim().split("\n")) {
    const { terms, hits: batches } = await lmmAsk.search.search(question, "");
    const [hits, first] = [[], []];
    for await (const batch of batches) {
      if (!hits.length) first.push(...loaded);
      hits.push(...batch);
    }
    const shown = hits.map(({ section, score }) => ({ source: section.source, anchor: section.anchor, score }));
    const texts = () => hits.map((hit) => lmmAsk.search.snippet(hit.passage.text, hit.terms, hit.start).map(([piece]) => piece).join(""));
    console.log(JSON.stringify(what === "words" ? terms : what === "first" ? first : what === "loaded" ? loaded.splice(0) : what === "snippets" ? texts() : shown));
  }
}

main(process.argv.slice(2));
