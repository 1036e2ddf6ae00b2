// The markdown of the ask box without a page: node box_markdown.js SCRIPTS [seconds] < texts, with the folder of the
// box's scripts. The texts are a JSON list. Prints for each, as a line of JSON,
// what is shown: texts, and elements as [name, what is in it, ...]; a formula is ["$", TeX] or ["$$", TeX], a citation
// ["cite", number]; there are three sources. With `seconds`: the processor's seconds for each text.
const { readFileSync } = require("fs");
const { join } = require("path");
const vm = require("vm");

class Element {
  constructor(name, inside) {
    this.name = name;
    this.inside = joined(inside);
  }
  toJSON() {
    return [this.name, ...this.inside];
  }
}

// Nodes with those texts as one that follow each other.
function joined(nodes) {
  const found = [];
  for (const node of nodes.filter((one) => one !== null && one !== "")) {
    if (typeof node === "string" && typeof found.at(-1) === "string") found.push(found.pop() + node);
    else found.push(node);
  }
  return found;
}

globalThis.window = globalThis;
globalThis.lmmAsk = {
  el: (tag, attributes, ...children) => new Element(tag, children.flat()),
  formula: (tex, isDisplay) => new Element(isDisplay ? "$$" : "$", [tex]),
};
const cite = (number) => (number >= 1 && number <= 3 ? new Element("cite", [String(number)]) : null);

function main([scripts, what]) {
  for (const name of ["markdown-it.js", "markdown.js"]) vm.runInThisContext(readFileSync(join(scripts, name), "utf8"), { filename: name });
  for (const text of JSON.parse(readFileSync(0, "utf8"))) {
    const before = process.cpuUsage();
    const shown = joined(lmmAsk.markdown(text, cite));
    const { user, system } = process.cpuUsage(before);
    console.log(JSON.stringify(what === "seconds" ? (user + system) / 1e6 : shown));
  }
}

main(process.argv.slice(2));
