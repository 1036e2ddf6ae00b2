// Formulas: typeset as MathML by Temml, which is loaded when the first formula is shown; where that fails, as they are
// written. What comes from notes and models does not reach it if it could do more than show a formula, and what it makes
// is looked through.
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
  const NAMES = new Set(MATHML.split(" "));

  // Whether a formula may be given to Temml.
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
      if (one.namespaceURI !== "http://www.w3.org/1998/Math/MathML" || !NAMES.has(one.localName)) return null;
      for (const { name, value } of [...one.attributes]) {
        const leads = /^(?:href|xlink:href|src|action|data)$/i.test(name) && !value.startsWith("#");
        if (leads || /^on|^(?:tabindex|id)$/i.test(name)) one.removeAttribute(name);
      }
    }
    return made;
  }

  // The macros that the page defines for MathJax.
  function macros() {
    const defined = Object.entries(window.MathJax?.config?.tex?.macros || window.MathJax?.tex?.macros || {});
    return Object.fromEntries(defined.map(([name, meaning]) => [`\\${name}`, [].concat(meaning)[0]]));
  }

  function byTemml(tex, isDisplay) {
    const place = document.createElement("span");
    window.temml.render(tex, place, { ...LIMITS, macros: macros(), displayMode: isDisplay, maxSize: [20, 200] });
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

  // The element of a formula, null if it cannot be typeset.
  function typeset(tex, isDisplay) {
    const key = `${isDisplay} ${tex}`;
    if (!kept.has(key)) {
      if (kept.size >= KEPT) kept.clear();
      try {
        kept.set(key, cleaned(byTemml(tex, isDisplay)));
      } catch {
        kept.set(key, null); // not TeX, or more of it than Temml knows
      }
    }
    return kept.get(key)?.cloneNode(true);
  }

  async function put(place, tex, isDisplay) {
    if (!window.temml) await loadTemml();
    const made = window.temml && typeset(tex, isDisplay);
    if (made) place.replaceChildren(made);
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
