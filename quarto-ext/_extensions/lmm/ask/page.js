// Elements, and what the box keeps. Whatever notes and models say becomes text nodes.
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
})();
