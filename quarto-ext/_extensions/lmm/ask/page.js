// Elements, and text as elements. Whatever notes and models say becomes text nodes.
(() => {
  "use strict";
  const ask = window.lmmAsk;

  // An element with attributes (`on…` are listeners) and children; what is null is left out.
  ask.el = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value === true) made.setAttribute(name, "");
      else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
    }
    made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
    return made;
  };
  const el = ask.el;

  // What a browser keeps: for a tab or for good. It may be switched off.
  ask.keep = (storage, key, value) => {
    const name = `lmm-ask:${new URL(ask.base).pathname}:${key}`;
    try {
      if (value === undefined) return JSON.parse(window[storage].getItem(name));
      window[storage].setItem(name, JSON.stringify(value));
    } catch {}
    return null;
  };

  // The address of a section in the site; its page where it has no identifier.
  ask.address = (page, anchor) => {
    const url = new URL(`../${page.split("/").map(encodeURIComponent).join("/")}`, ask.base);
    if (anchor) url.hash = `#${encodeURIComponent(anchor)}`;
    return url.href;
  };

  // Markdown as models write it, a small part of it; all else stays as it is written.
  // cite(number) makes the element of a citation, null for a number that is none.
  ask.markdown = (text, cite) => {
    const parts = [];
    const pieces = text.split(/^[ \t]*(?:```|~~~)[^\n]*$/m); // every second is code
    pieces.forEach((piece, at) => {
      if (at % 2) parts.push(el("pre", { tabindex: "0" }, el("code", {}, piece.replace(/^\n|\n$/g, ""))));
      else parts.push(...blocks(piece, cite));
    });
    return parts;
  };

  const ITEM = /^(\s*)(?:[-*+]|(\d{1,3})[.)])\s+/;
  const HEADING = /^#{1,6}\s+/;
  const QUOTE = /^\s*>\s?/;
  const ROW = /^\s*\|/;
  const RULE = /^[\s|:-]+$/; // between the head of a table and its rows

  function blocks(text, cite) {
    const made = [];
    for (const block of text.split(/\n[ \t]*\n/)) {
      for (const lines of runs(block.split("\n").filter((line) => line.trim()))) {
        if (ITEM.test(lines[0])) made.push(list(lines, cite));
        else if (HEADING.test(lines[0])) made.push(el("p", {}, el("strong", {}, inline(lines[0].replace(HEADING, ""), cite))));
        else if (QUOTE.test(lines[0])) made.push(el("blockquote", {}, blocks(lines.map((line) => line.replace(QUOTE, "")).join("\n"), cite)));
        else if (ROW.test(lines[0]) && RULE.test(lines[1])) made.push(table(lines, cite));
        else made.push(el("p", {}, inline(lines.join("\n"), cite)));
      }
    }
    return made;
  }

  // Lines that belong together: items of a list, a heading, rows of a table, a quotation, a paragraph.
  function runs(lines) {
    const found = [];
    for (const line of lines) {
      const last = found.at(-1);
      const begins = (mark) => mark.test(line) && !mark.test(last[0]);
      const goesOn = last && !HEADING.test(line) && !HEADING.test(last[0]) && ![ITEM, QUOTE, ROW].some(begins) && ROW.test(line) === ROW.test(last[0]);
      if (goesOn) last.push(line);
      else found.push([line]);
    }
    return found;
  }

  // An item that stands further in than the first belongs to the one above it.
  function list(lines, cite) {
    const [, indent, start] = ITEM.exec(lines[0]);
    const items = []; // [text, lines of the list below it]
    for (const line of lines) {
      const item = ITEM.exec(line);
      if (item && item[1].length < indent.length + 2) items.push([line.slice(item[0].length), []]);
      else if (item || items.at(-1)[1].length) items.at(-1)[1].push(line);
      else items.at(-1)[0] += `\n${line.trim()}`;
    }
    return el(start ? "ol" : "ul", { start: start > 1 ? start : null },
      items.map(([text, below]) => el("li", {}, inline(text, cite), below.length ? list(below, cite) : null)));
  }

  function table(lines, cite) {
    const rows = [lines[0], ...lines.slice(2)].map((line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/));
    const row = (cells, tag) => el("tr", {}, cells.map((cell) => el(tag, {}, inline(cell.trim().replaceAll("\\|", "|"), cite))));
    return el("div", { class: "lmm-ask-table", tabindex: "0" }, el("table", {}, rows.map((cells, at) => row(cells, at ? "td" : "th"))));
  }

  const INLINE = /`([^`\n]+)`|\*\*(\S(?:[^\n]*?\S)?)\*\*|(?<![\w*])[*_](\S(?:[^*_\n]*?\S)?)[*_](?![\w*])|\[\^?(\d{1,3}(?:\s*[,;–-]\s*\^?\d{1,3})*)\]/;

  function inline(text, cite) {
    const made = [];
    let found;
    while ((found = INLINE.exec(text))) {
      const [whole, code, strong, em, numbers] = found;
      made.push(text.slice(0, found.index));
      if (code) made.push(el("code", {}, code));
      else if (strong) made.push(el("strong", {}, inline(strong, cite)));
      else if (em) made.push(el("em", {}, inline(em, cite)));
      else made.push(...citations(numbers, whole, cite));
      text = text.slice(found.index + whole.length);
    }
    return [...made, text];
  }

  // [1], and [1, 2] or [1–3] as well, where all are citations.
  function citations(numbers, whole, cite) {
    const made = numbers.split(/\^?(\d+)/).map((piece, at) => (at % 2 ? cite(Number(piece)) : piece));
    return made.includes(null) ? [whole] : made;
  }
})();
