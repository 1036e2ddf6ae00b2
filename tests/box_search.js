// The search of the ask box without a page: node box_search.js SCRIPTS DATA [words|split|snippets] < questions, with
// the folders of the box's scripts and of its data. Prints for each question (a line) the sections,
// the words that are looked for, or what is shown of each section, as JSON; with `split`, the words of each text in a JSON list.
const { readFileSync } = require("fs");
const { join } = require("path");
const vm = require("vm");

globalThis.window = globalThis;
globalThis.lmmAsk = { about: null, parts: {} };
lmmAsk.take = (about) => (lmmAsk.about = about);
lmmAsk.part = (number, rows) => (lmmAsk.parts[number] = rows);

const run = (folder, name) => vm.runInThisContext(readFileSync(join(folder, name), "utf8"), { filename: name });

async function main([scripts, data, what]) {
  for (const name of ["minisearch.js", "search.js"]) run(scripts, name);
  run(data, "data.js");
  lmmAsk.search.start(lmmAsk.about);
  for (const at of lmmAsk.about.parts.keys()) {
    run(data, `part-${at + 1}.js`);
    await lmmAsk.search.addRows(lmmAsk.parts[at + 1]);
  }
  if (what === "split") {
    for (const text of JSON.parse(readFileSync(0, "utf8"))) console.log(JSON.stringify(lmmAsk.search.words(text)));
    process.exit(0);
  }
  for (const question of readFileSync(0, "utf8").trim().split("\n")) {
    const { hits, terms } = lmmAsk.search.search(question, "");
    const shown = hits.map(({ section, score }) => ({ source: section.source, anchor: section.anchor, score }));
    const texts = () => hits.map((hit) => lmmAsk.search.snippet(hit.passage.text, hit.terms, hit.start).map(([piece]) => piece).join(""));
    console.log(JSON.stringify(what === "words" ? terms : what === "snippets" ? texts() : shown));
  }
  process.exit(0); // its channels would keep it waiting
}

main(process.argv.slice(2));
