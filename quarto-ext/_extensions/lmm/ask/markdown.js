// Markdown as models write it, as elements: markdown-it tells formulas, code and citations apart.
// HTML, images and links of the model's own stay as they are written.
(() => {
  "use strict";
  const ask = window.lmmAsk;
  const { el } = ask;
  const BAR = "\ue000"; // stands for a bar in a formula, which divides no cells
  const UNWANTED = ["code", "html_block", "html_inline", "lheading", "reference", "link", "image", "autolink"];
  const NUMBERS = /\[\^?(\d{1,3}(?:\s*[,;–-]\s*\^?\d{1,3})*)\]/y;
  // As in Pandoc, and in retrieve/citations.py: no blank just inside the dollars, no digit after a single one.
  const DISPLAY_DOLLARS = /\$\$((?:[^$\\]|\\[^])+)\$\$/y;
  const MONEY = /\d[\d.,]*(?:\s+(?:\p{L}{2}|\[\d)|[)"'’”])/u; // after a dollar
  const DOLLARS = new RegExp(String.raw`\$(?![\s$]|${MONEY.source})((?:[^$\n\\]|\\[^\n])*?)(?<!\s)\$(?![\d$])`, "uy");
  const BRACKETS = /\\\[((?:[^\\]|\\[^[\]])+)\\\]/y;
  const PARENTHESES = /\\\(((?:[^\\]|\\[^()])+)\\\)/y;
  const KINDS = [[DISPLAY_DOLLARS, true], [DOLLARS, false], [BRACKETS, true], [PARENTHESES, false]];
  const NAMES = "(?:equation|align|alignat|gather|multline|flalign|eqnarray)\\*?";
  const ON_LINES = [
    [/^\$\$/, /\$\$\s*$/],
    [/^\\\[/, /\\\]\s*$/],
    [new RegExp(`^(?=\\\\begin\\{${NAMES}\\})`), new RegExp(`\\\\end\\{${NAMES}\\}\\s*$`)],
  ];

  const parser = window.markdownit("default", { html: false, linkify: false, maxNesting: 20 }).disable(UNWANTED);
  parser.block.ruler.before("fence", "formula", formulaOnLines, { alt: ["paragraph", "reference", "blockquote", "list"] });
  parser.inline.ruler.before("escape", "formula", formula);
  parser.inline.ruler.push("citation", citation);

  function formula(state, silent) {
    const { src, pos } = state;
    if (src[pos] !== "$" && src[pos] !== "\\") return false;
    for (const [pattern, isDisplay] of KINDS) {
      pattern.lastIndex = pos;
      const found = pattern.exec(src);
      if (!found || (src[pos] === "\\" && /^[\d\s,;–-]+$/.test(found[1]))) continue; // \[1\] is a citation
      if (!silent) push(state, found[1], found[0], isDisplay);
      state.pos += found[0].length;
      return true;
    }
    return false;
  }

  // A formula that stands alone on its lines: what is in it is no list and no quotation.
  function formulaOnLines(state, startLine, endLine, silent) {
    const line = (at) => state.src.slice(state.bMarks[at] + state.tShift[at], state.eMarks[at]);
    const [begin, end] = ON_LINES.find(([mark]) => mark.test(line(startLine))) || [];
    if (!begin) return false;
    const lines = [line(startLine).replace(begin, "")];
    let next = startLine + 1;
    while (!end.test(lines.at(-1))) {
      if (next >= endLine || state.isEmpty(next) || (begin.test(line(next)) && !end.test(line(next)))) return false;
      lines.push(line(next++));
    }
    const whole = lines.join("\n");
    const tex = line(startLine).startsWith("\\begin") ? whole : whole.replace(end, "");
    if (!tex.trim() || /\$\$|(?<!\\)\\\]/.test(tex) || /^[\d\s,;–-]+$/.test(tex)) return false;
    if (silent) return true;
    push(state, tex, state.getLines(startLine, next, state.blkIndent, false), true);
    state.line = next;
    return true;
  }

  function push(state, tex, markup, isDisplay) {
    Object.assign(state.push("formula", "", 0), { content: tex, markup, block: isDisplay });
  }

  function citation(state, silent) {
    NUMBERS.lastIndex = state.pos;
    const found = NUMBERS.exec(state.src);
    if (!found) return false;
    if (!silent) Object.assign(state.push("citation", "", 0), { content: found[1], markup: found[0] });
    state.pos += found[0].length;
    return true;
  }

  // The bars of formulas in the rows of a table. Code has its bars back when it is shown.
  const CODE_OR_FORMULA = new RegExp(`(?<!\`)\`+(?!\`)[^\`\\n]+\`|${DOLLARS.source}`, "gu");
  const hideBars = (text) =>
    text.includes(BAR) ? text : text.replace(/^[ \t]*\|.*\$.*$/gm, (row) => row.replace(CODE_OR_FORMULA, (found) => (found[0] === "$" ? found.replaceAll("|", BAR) : found)));
  const shown = (text) => text.replaceAll(BAR, "|");

  // Elements

  const NODES = {
    softbreak: () => "\n",
    hardbreak: () => el("br"),
    hr: () => el("hr"),
    code_inline: ({ content }) => el("code", {}, shown(content)),
    fence: ({ content }) => el("pre", { tabindex: "0" }, el("code", {}, shown(content.replace(/\n$/, "")))),
    formula: ({ content, markup, block }) => ask.formula(shown(content), block, shown(markup)),
    citation: ({ content, markup }, cite) => citations(content, markup, cite),
    inline: ({ children }, cite) => elements(children, cite),
  };

  // The nodes of tokens: some open an element, and some close it.
  function elements(tokens, cite) {
    const open = [{ inside: [] }];
    const add = (...nodes) => open.at(-1).inside.push(...nodes);
    for (const token of tokens) {
      if (token.nesting > 0) open.push({ token, inside: [] });
      else if (token.nesting < 0) add(...[element(open.pop())].flat());
      else add(...[token.type in NODES ? NODES[token.type](token, cite) : shown(token.content)].flat());
    }
    return open[0].inside;
  }

  function element({ token, inside }) {
    if (token.hidden) return inside; // a paragraph of a list without blank lines
    if (token.type === "heading_open") return el("p", {}, el("strong", {}, inside));
    if (token.type === "table_open") return el("div", { class: "lmm-ask-table", tabindex: "0" }, el("table", {}, inside));
    return el(token.tag, { start: token.type === "ordered_list_open" ? token.attrGet("start") : null }, inside);
  }

  // [1], and [1, 2] or [1–3] as well, where all are citations.
  function citations(numbers, whole, cite) {
    const made = numbers.split(/\^?(\d+)/).map((piece, at) => (at % 2 ? cite(Number(piece)) : piece));
    return made.includes(null) ? [whole] : made;
  }

  // The nodes of a text. cite(number) makes the element of a citation, null for a number that is none.
  ask.markdown = (text, cite) => elements(parser.parse(hideBars(text), {}), cite);

  // The nodes of a text that is shown as it is written, but for its formulas; at most so many characters of it.
  const WRITTEN = new RegExp(`(?<!\`)(\`+)(?!\`)[^\`\\n]+\\1(?!\`)|${DISPLAY_DOLLARS.source}|${DOLLARS.source}`, "gu");
  ask.written = (text, most = Infinity) => {
    const nodes = [];
    let at = 0;
    let end = Math.min(text.length, most);
    for (const { 0: whole, 2: displayed, 3: inline, index } of text.matchAll(WRITTEN)) {
      if (index >= end) break;
      if (index + whole.length > end) end = index; // nothing of it
      else if (displayed || inline) {
        nodes.push(text.slice(at, index), ask.formula(displayed || inline, false, whole));
        at = index + whole.length;
      }
    }
    return [...nodes, text.slice(at, end) + (end < text.length ? "…" : "")];
  };
})();
