// The search of the ask box without a page: node box_search.js SCRIPTS DATA [words|split|snippets] < questions, with
// the folders of the box's scripts and of its data. Prints for each question (a line) the sections,
// the words that are looked for, or what is shown of each section, as JSON; with `split`, the words of each text in a
// JSON list.
const { readFileSync } = require("fs");
const { join } = require("path");
const vm = require("vm");

globalThis.window = globalThis;
let data = null;
globalThis.lmmAsk = { about: null, take: (taken) => (data = taken) };

const run = (folder, name) => vm.runInThisContext(readFileSync(join(folder, name), "utf8"), { filename: name });

async function main([scripts, folder, what]) {
  run(folder, "data.js");
  for (const name of ["minisearch.js", "search.js"]) run(scripts, name);
  lmmAsk.search.start(data);
  if (what === "split") {
    for (const text of JSON.parse(readFileSync(0, "utf8"))) console.log(JSON.stringify(lmmAsk.search.words(text)));
    process.exit(0);
  }
  for (const question of readFileSync(0, "utf8").trim().split("\n")) {
    const { terms, hits } = await lmmAsk.search.search(question, "");
    const shown = hits.map(({ section, passage, score }) => ({
      source: section.source, anchor: section.anchor, section: lmmAsk.search.sections.indexOf(section),
      passage: section.passages.indexOf(passage), score,
    }));
    const texts = () => hits.map((hit) => lmmAsk.search.snippet(hit.passage.text, hit.terms, hit.start).map(([piece]) => piece).join(""));
    console.log(JSON.stringify(what === "words" ? terms : what === "snippets" ? texts() : shown));
  }
}

main(process.argv.slice(2));
