// The ask box of a course site: a button, and the keys that open it. All else is loaded when
// it is opened first. The tag of this script says what there is:
//   data-page     this page in the data; without it there are no data, and the box only asks the server
//   data-server   the address of `lmm serve`, where there is one
// Data and code are scripts beside this one: a page that is opened as a file may load nothing
// else. Nothing is inserted as HTML, here or in the other scripts.
(() => {
  "use strict";
  const script = document.currentScript;
  if (!script || window.lmmAsk) return;
  const OPENED = "opened.js"; // the other scripts of this folder, but for those that are loaded when they are needed
  const ANSWERS = ["markdown-it.js", "markdown.js", "judge.js"];
  const BARS = [".navbar .quarto-navbar-tools", ".navbar .navbar-container", ".navbar", "body > header.course"]; // the first that there is
  const OPEN = {
    en: "Search the notes", de: "Im Skript suchen", fr: "Chercher dans le cours",
    es: "Buscar en los apuntes", it: "Cerca negli appunti",
  };
  const root = document.documentElement;
  const language = (root.dataset.siteLang || root.lang || "en").toLowerCase(); // a page may be in another one than its site
  const ask = (window.lmmAsk = {
    options: { ...script.dataset },
    base: new URL(".", script.src).href,
    language,
    about: null, // what describes the data
    take: (data) => (taken = data), // the script of the data calls this
  });
  let taken = null;

  // Resolves when a script beside this one has run; rejects where it cannot be had. Code runs in the order in which it
  // is asked for, data as they come.
  ask.load = (name, isData = false) =>
    new Promise((resolve, reject) => {
      const tag = document.createElement("script");
      tag.async = isData;
      tag.charset = "utf-8"; // whatever the page is in
      tag.onload = tag.onerror = ({ type }) => {
        tag.remove(); // there may be hundreds
        if (type === "load") resolve();
        else reject(new Error(name));
      };
      tag.src = ask.base + name;
      document.head.append(tag);
    });

  // Loads something once, and again after a failure: the network may come back.
  function once(load) {
    let loading = null;
    const forget = (error) => {
      loading = null;
      throw error;
    };
    return () => (loading ||= load().catch(forget));
  }

  // What the box needs to be opened, and to show answers; and the data, which are asked for with the scripts of the box.
  const ready = once(() => Promise.all([ask.addLooks("ask.css"), ask.addLooks("opened.css"), ask.load(OPENED)]));
  ask.answering = once(() => Promise.all(ANSWERS.map((name) => ask.load(name))));
  ask.data = once(() => ask.load("data.js", true).then(() => taken || Promise.reject(new Error("data.js"))));

  // Loads the box; resolves to whether it is there.
  function prepare() {
    if ("page" in ask.options) ask.data().catch(() => null); // box.js says so
    return ready().then(() => true, () => false);
  }

  const open = (ask.open = async () => {
    if (await prepare()) ask.box.open();
  });

  const isTyping = (target) =>
    target instanceof Element && (target.isContentEditable || target.closest("input, textarea, select"));

  let pressed = ""; // a key that is ours until it is let go: Quarto's own search opens then

  function onKey(event) {
    const slash = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey;
    const k = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
    if (!k && !(slash && !isTyping(event.target))) return;
    if (document.querySelector("dialog[open]:not(.lmm-ask)")) return;
    event.preventDefault();
    event.stopImmediatePropagation(); // Quarto's own search has the same key
    pressed = event.key;
    open();
  }

  function onKeyUp(event) {
    if (event.key === pressed) event.stopImmediatePropagation();
    pressed = "";
  }

  // A style sheet beside this script, once; the page itself does not wait for it.
  const sheets = {};
  ask.addLooks = (name) =>
    (sheets[name] ||= new Promise((resolve) => {
      const link = document.createElement("link");
      link.rel = "stylesheet";
      link.onload = link.onerror = resolve;
      link.href = ask.base + name;
      document.head.append(link);
    }));

  // In the navigation bar or the head of the page, where it has one that is shown, else in a corner.
  function addButton() {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "lmm-ask lmm-ask-open";
    button.textContent = OPEN[language.split("-")[0]] || OPEN.en;
    button.setAttribute("aria-keyshortcuts", "/ Control+K");
    button.setAttribute("aria-haspopup", "dialog");
    button.addEventListener("click", open);
    button.addEventListener("pointerenter", prepare, { once: true }); // a moment sooner
    const bar = BARS.map((one) => document.querySelector(one)).find(Boolean);
    if (bar) bar.append(button);
    button.classList.toggle("lmm-ask-corner", !bar || !button.getClientRects().length);
    if (button.classList.contains("lmm-ask-corner")) document.body.append(button);
    ask.button = button;
  }

  document.addEventListener("keydown", onKey, true);
  document.addEventListener("keyup", onKeyUp, true);
  const begin = () => ask.addLooks("ask.css").then(addButton);
  if (document.readyState === "complete") begin();
  else addEventListener("load", begin);
})();
