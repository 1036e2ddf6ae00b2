// Formulas: typeset by the page's own MathJax or KaTeX, else as MathML by Temml, which is loaded when
// the first formula is shown; where that fails, as they are written. What comes from notes and models
// reaches none of them if it could do more than show a formula, and what they make is looked through.
(() => {
  "use strict";
  const ask = window.lmmAsk;
  const LONGEST = 3000; // characters of a formula
  const DEEPEST = 30; // braces inside each other
  const KEPT = 400; // formulas that are kept for when they are shown again
  const LIMITS = { throwOnError: true, trust: false, strict: false, maxExpand: 300 };

  // Commands that load or define something, lead away, or change more than the formula.
  const REFUSED = new RegExp(
    "\\\\(?:(?:[egx]?def|let|futurelet|global|long|outer|csname|catcode|char|input|include\\w*|require|unicode|mmlToken|data|" +
      "href|url|class|cssId|style|html(?:Class|Id|Style|Data)|(?:new|renew|provide)(?:command|environment)|newcounter|" +
      "DeclareMathOperator|DeclarePairedDelimiters?\\w*|bbox|Tooltip|texttip|toggle|mathtip|special|write|openout|immediate)(?![A-Za-z])|@)",
  );
  const NUMBERED = /\\(?:label|tag\*?)\{[^{}]*\}|\\(?:nonumber|notag)(?![A-Za-z])/g; // the numbers are the page's
  const ENVIRONMENTS = /(\\(?:begin|end)\{)(equation|align|alignat|gather|multline|flalign|eqnarray)\}/g;
  const MATHML =
    "math semantics annotation mrow mi mn mo ms mtext mspace mfrac msqrt mroot mstyle merror mpadded mphantom menclose " +
    "msub msup msubsup munder mover munderover mmultiscripts mprescripts none mtable mtr mtd mlabeledtr";
  const SVG = "svg g path rect line use defs text tspan polygon polyline circle ellipse title";
  const NAMES = {
    "http://www.w3.org/1998/Math/MathML": new Set(MATHML.split(" ")),
    "http://www.w3.org/2000/svg": new Set(SVG.split(" ")),
    "http://www.w3.org/1999/xhtml": { has: (name) => name === "span" || name.startsWith("mjx-") },
  };

  // Whether a formula may be given to those who typeset it.
  function isSafe(tex) {
    if (tex.length > LONGEST || REFUSED.test(tex)) return false;
    let depth = 0;
    for (const sign of tex) {
      if (sign === "{" && ++depth > DEEPEST) return false;
      if (sign === "}") depth--;
    }
    return (tex.match(/\\left(?![A-Za-z])|\\begin(?![A-Za-z])|\\sqrt|\^|_/g) || []).length < LONGEST / 10;
  }

  // Take out of a typeset formula what leads away or runs; null if there is more in it than a formula.
  function cleaned(made) {
    for (const one of [made, ...made.querySelectorAll("*")]) {
      if (!NAMES[one.namespaceURI]?.has(one.localName)) return null;
      for (const { name, value } of [...one.attributes]) {
        const leads = /^(?:href|xlink:href|src|action|data)$/i.test(name) && !value.startsWith("#");
        if (leads || /^on|^(?:tabindex|ctxtmenu_counter)$/i.test(name) || (name === "id" && one.namespaceURI !== "http://www.w3.org/2000/svg")) one.removeAttribute(name);
      }
    }
    return made;
  }

  // Those who typeset: each gives an element, or throws.

  const hasMathJax = () => Boolean(window.MathJax?.tex2chtml || window.MathJax?.tex2svg);
  const hasKatex = () => typeof window.katex?.render === "function";

  function byMathJax(tex, isDisplay) {
    const { MathJax } = window;
    const made = (MathJax.tex2chtml || MathJax.tex2svg)(tex, { display: isDisplay });
    if (made.querySelector("mjx-merror, merror, [data-mml-node=merror]")) throw new Error(tex);
    const sheet = (MathJax.tex2chtml ? MathJax.chtmlStylesheet : MathJax.svgStylesheet)?.(); // with the signs that are new
    if (sheet && !sheet.isConnected) document.head.append(sheet);
    return made;
  }

  function byKatex(tex, isDisplay) {
    const place = document.createElement("span");
    window.katex.render(tex, place, { ...LIMITS, displayMode: isDisplay, maxSize: 20 });
    return place.firstElementChild;
  }

  function byTemml(tex, isDisplay) {
    const place = document.createElement("span");
    window.temml.render(tex, place, { ...LIMITS, displayMode: isDisplay, maxSize: [20, 200] });
    place.querySelectorAll("msup > mo.tml-prime:last-child").forEach(lower);
    return place.firstElementChild;
  }

  // Fonts have a prime that is raised already. (Temml has a font of its own for it.)
  function lower(prime) {
    const row = document.createElementNS(prime.namespaceURI, "mrow");
    prime.removeAttribute("class");
    for (const side of ["lspace", "rspace"]) prime.setAttribute(side, "0");
    prime.parentElement.replaceWith(row);
    row.append(prime.parentElement.firstElementChild, prime);
  }

  let loading = null;
  const loadTemml = () => (loading ||= Promise.all([ask.load("temml.js"), ask.addLooks("temml.css")]).catch(() => (loading = null)));

  const kept = new Map();

  // The element of a formula, null if it cannot be typeset; a promise while something has to be loaded first.
  function typeset(tex, isDisplay) {
    const by = hasMathJax() ? byMathJax : hasKatex() ? byKatex : byTemml;
    if (by === byTemml && !window.temml) return loadTemml();
    const key = `${by.name} ${isDisplay} ${tex}`;
    if (kept.has(key)) return kept.get(key)?.cloneNode(true);
    if (kept.size >= KEPT) kept.clear();
    try {
      kept.set(key, cleaned(by(tex, isDisplay)));
    } catch (error) {
      if (error.retry) return error.retry; // MathJax loads what a command needs
      kept.set(key, null); // not TeX, or more of it than they know
    }
    return kept.get(key)?.cloneNode(true);
  }

  function put(place, tex, isDisplay, again = 5) {
    const made = typeset(tex, isDisplay);
    if (made instanceof Promise) {
      if (again) made.then(() => window.temml || hasMathJax() ? put(place, tex, isDisplay, again - 1) : null, () => null);
    } else if (made) place.replaceChildren(made);
  }

  // A formula: typeset, and as `plain` says until it is, or where it cannot be.
  ask.formula = (tex, isDisplay, plain) => {
    const place = ask.el("span", { class: `lmm-ask-formula${isDisplay ? " lmm-ask-display" : ""}`, tabindex: isDisplay ? "0" : null }, plain);
    const own = tex.replace(NUMBERED, "").replace(ENVIRONMENTS, "$1$2*}").trim();
    if (own && isSafe(own)) put(place, own, isDisplay);
    return place;
  };

  // The nodes of a text of the data, with its formulas. isApart: those that stand on lines of their own stand so here.
  ask.shown = (text, isApart = false) => {
    const nodes = [];
    let at = 0;
    for (const { start, end, tex, isDisplay } of ask.search.formulasIn(text)) {
      nodes.push(text.slice(at, start), ask.formula(tex, isDisplay && isApart, text.slice(start, end)));
      at = end;
    }
    return [...nodes, text.slice(at)];
  };

  // The nodes of texts with something between them.
  ask.between = (texts, sign, isApart) => texts.flatMap((text, at) => [at ? sign : "", ...ask.shown(text, isApart)]);
})();
