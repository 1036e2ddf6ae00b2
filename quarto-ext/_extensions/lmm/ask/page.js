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

  const ITEM = /^\s*(?:[-*+]|(\d{1,3})[.)])\s+/;

  function blocks(text, cite) {
    const made = [];
    for (const block of text.split(/\n[ \t]*\n/)) {
      for (const lines of runs(block.split("\n").filter((line) => line.trim()))) {
        if (ITEM.test(lines[0])) made.push(list(lines, cite));
        else if (/^#{1,6}\s/.test(lines[0])) made.push(el("p", {}, el("strong", {}, inline(lines[0].replace(/^#+\s+/, ""), cite))));
        else made.push(el("p", {}, inline(lines.join("\n"), cite)));
      }
    }
    return made;
  }

  // Lines that belong together: items of a list, a heading, a paragraph.
  function runs(lines) {
    const found = [];
    for (const line of lines) {
      const last = found.at(-1);
      const goesOn = last && !/^#{1,6}\s/.test(line) && !/^#{1,6}\s/.test(last[0]) && (!ITEM.test(line) || ITEM.test(last[0]));
      if (goesOn) last.push(line);
      else found.push([line]);
    }
    return found;
  }

  function list(lines, cite) {
    const items = [];
    for (const line of lines) {
      if (ITEM.test(line)) items.push(line.replace(ITEM, ""));
      else items[items.length - 1] += `\n${line.trim()}`;
    }
    const start = lines[0].match(ITEM)[1];
    return el(start ? "ol" : "ul", { start: start > 1 ? start : null }, items.map((item) => el("li", {}, inline(item, cite))));
  }

  const INLINE = /`([^`\n]+)`|\*\*(\S(?:[^\n]*?\S)?)\*\*|(?<![\w*])[*_](\S(?:[^*_\n]*?\S)?)[*_](?![\w*])|\[(\d{1,3})\]/;

  function inline(text, cite) {
    const made = [];
    let found;
    while ((found = INLINE.exec(text))) {
      const [whole, code, strong, em, number] = found;
      const citation = number && cite(Number(number));
      made.push(text.slice(0, found.index));
      if (code) made.push(el("code", {}, code));
      else if (strong) made.push(el("strong", {}, inline(strong, cite)));
      else if (em) made.push(el("em", {}, inline(em, cite)));
      else made.push(citation || whole);
      text = text.slice(found.index + whole.length);
    }
    return [...made, text];
  }
})();
