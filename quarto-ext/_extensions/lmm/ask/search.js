// Sections for words or a question, ranked as lmm_core/retrieve/ranking/lexical.py says, with the
// weights that come with the data. MiniSearch ranks passages and, as texts of their own, what is
// said about sections: titles, annotated questions and summaries. A passage has its own score and
// that of its section, weighted by the share of the question that is found in both; a section has
// the score of its best passage.
(() => {
  "use strict";
  const ask = window.lmmAsk;
  const AT_ONCE = 40; // texts that are indexed before the page may do something else
  const MOST_TERMS = 40; // of a question that are looked for
  const HITS = 20;
  const SNIPPET = 220; // characters
  // The words of a text, as lmm_core/models/languages/words.py finds them: see there.
  const PAIRED =
    "\\u0e01-\\u0e3a\\u0e40-\\u0e4e\\u0e81-\\u0ebd\\u0ec0-\\u0ecd\\u0edc-\\u0edf\\u1000-\\u103f\\u1050-\\u109f\\u1780-\\u17d3\\u17d7" +
    "\\u17dc\\u17dd\\u3005\\u3007\\u3041-\\u309a\\u309d-\\u309f\\u30a1-\\u30fa\\u30fc-\\u30ff\\u31f0-\\u31ff\\u3400-\\u4dbf" +
    "\\u4e00-\\u9fff\\uac00-\\ud7a3\\uf900-\\ufaff\\u{20000}-\\u{3fffd}";
  const MARKS =
    "\\u0300-\\u036f\\u0591-\\u05bd\\u05bf\\u05c1\\u05c2\\u05c4\\u05c5\\u05c7\\u0610-\\u061a\\u064b-\\u065f\\u0670\\u0900-\\u0963" +
    "\\u0971-\\u0df3\\u0f71-\\u0f84\\u0f8d-\\u0fbc";
  const LETTER = "\\p{L}\\p{N}";
  const WORD = new RegExp(`[${LETTER}${MARKS}${PAIRED}]+`, "gu");
  const PAIR = new RegExp(`[${PAIRED}]`, "u");
  const PARTS = new RegExp(`[${PAIRED}]+|[^${PAIRED}]+`, "gu");
  const CONTRACTION = new RegExp(
    `(?<=[${LETTER}_])(?<!(?<![${LETTER}_])ca)n['’]t(?![${LETTER}_])|(?<=(?<![${LETTER}_])can)['’]t(?![${LETTER}_])` +
      `|(?<=[${LETTER}])['’](?:s|re|ve|ll|d|m)(?![${LETTER}_])|(?<![${LETTER}_])[cdjlmnst]['’](?=[${LETTER}_])`,
    "gu",
  );
  const LETTERS = { ß: "ss", æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d", ı: "i", ς: "σ" };

  // Without case and accents.
  const fold = (text) => {
    const lower = text.toLowerCase();
    if (!/[^\x00-\x7f]/.test(lower)) return lower;
    const bare = lower.normalize("NFD").replace(/[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]+/g, "");
    return bare.normalize("NFC").replace(/[ßæœøłđıς]/g, (letter) => LETTERS[letter]);
  };

  // The parts of a word that are compared: itself, or pairs of signs. Each with its place.
  function parts(word) {
    if (!PAIR.test(word)) return [[word, 0]];
    const found = [];
    for (const { 0: run, index: at } of word.matchAll(PARTS)) {
      const signs = [...run];
      if (!PAIR.test(run) || signs.length === 1) found.push([run, at]);
      else for (let [n, from] = [0, at]; n + 1 < signs.length; from += signs[n++].length) found.push([signs[n] + signs[n + 1], from]);
    }
    return found;
  }

  const plain = (text) => text.normalize("NFKC").toLowerCase().replace(CONTRACTION, "").replaceAll("_", " ");
  const words = (text) => (plain(text).match(WORD) || []).flatMap((word) => parts(word).map(([part]) => fold(part)));

  // The words of a text where they stand, each with the form in which it is compared.
  const placed = (text) =>
    [...text.matchAll(WORD)].flatMap(({ 0: word, index: at }) =>
      parts(word).map(([part, from]) => ({ index: at + from, 0: part, form: fold(part.normalize("NFKC")) })),
    );

  // Formulas stand in the data in Unicode and in TeX (plain_text.py): what is searched is Unicode alone.
  const FORMULA = /\ue000([^\ue000-\ue003]*)([\ue001\ue002])([^\ue000-\ue003]*)\ue003/g;
  const withTex = new Map(); // texts as they stand in the data, by their Unicode

  function bare(text) {
    if (!text.includes("\ue000")) return text;
    const made = text.replace(FORMULA, "$1");
    withTex.set(made, text);
    return made;
  }

  // The formulas of a text: {start, end, tex, isDisplay}.
  function formulasIn(text) {
    let before = 0; // characters that the text has not
    return [...(withTex.get(text) || "").matchAll(FORMULA)].map(({ 0: whole, 1: plain, 2: kind, 3: tex, index }) => {
      const start = index - before;
      before += whole.length - plain.length;
      return { start, end: start + plain.length, tex, isDisplay: kind === "\ue002" };
    });
  }

  const sections = []; // {page, depth, title, titles, anchor, minutes, summary, questions, passages}
  const texts = []; // what is indexed: {section, passage}; no passage: about the section
  const path = []; // titles on the way to the section that is read
  let stop = new Set();
  let asking = {}; // words that questions are asked with, by language; "": those of any
  let askingSigns = null; // of scripts without blanks
  let index = null;

  function start(about) {
    askingSigns = new RegExp(about.askingSigns, "gu");
    stop = new Set(about.stopWords ? words(about.stopWords) : []);
    asking = Object.fromEntries(Object.entries(about.asking).map(([name, all]) => [name, new Set(words(all))]));
    index = new window.MiniSearch({
      fields: Object.keys(about.weights.fields),
      tokenize: words,
      processTerm: (term) => (stop.has(term) ? null : term),
    });
  }

  function addRow([number, depth, titled, anchor, minutes, summed, asked, rows]) {
    const [page, source] = ask.about.documents[number];
    const [title, summary, questions] = [bare(titled), bare(summed), asked.map(bare)];
    path.length = depth;
    path[depth] = title;
    const titles = path.filter(Boolean).filter((one, at, all) => one !== all[at - 1]);
    const passages = rows.map((row) => (typeof row === "string" ? { text: bare(row), kind: "" } : { text: bare(row[0]), kind: row[1], term: bare(row[2] || ""), terms: row[3] || "" }));
    const section = { number, page, source, depth, title, titles, anchor, minutes, summary, questions, passages };
    sections.push(section);
    const about = { title: titles.join(" "), questions: questions.join(" "), summary };
    if (title || summary || questions.length) add(section, null, about);
    for (const passage of passages) add(section, passage, { text: passage.text, terms: passage.terms || "" });
  }

  let waiting = [];
  function add(section, passage, fields) {
    waiting.push({ id: texts.length, ...fields });
    texts.push({ section, passage });
  }

  const pause = () =>
    new Promise((resolve) => {
      const channel = new MessageChannel();
      channel.port1.onmessage = resolve;
      channel.port2.postMessage(null);
    });

  // Take sections up, in slices, so that typing is not held up.
  async function addRows(rows) {
    for (const row of rows) addRow(row);
    while (waiting.length) {
      index.addAll(waiting.splice(0, AT_ONCE));
      await pause();
    }
  }

  // The type keyword in a question (`*exercise*`), where there is such a type, and the rest.
  function keyword(query) {
    const found = /(?:^|\s)\*([\p{L}\w-]+)\*(?=\s|[.,;:?!]|$)/u.exec(query);
    const kind = found && fold(found[1]);
    const known = kind && Object.keys(ask.about.kinds).find((one) => fold(one) === kind);
    return known ? { kind: known, rest: query.replace(`*${found[1]}*`, " ") } : { kind: "", rest: query };
  }

  // The words that say what is asked about, without those of the language that it is asked in: that
  // of the site, unless another one has two more of its frequent words.
  function subject(text) {
    const asked = text.replace(/^(\s*what (?:do|does|did)\b.*)\bmean(?=[^\p{L}]*$)/isu, "$1");
    const about = words(asked.replace(askingSigns, " "));
    const all = [...new Set(about.length ? about : words(asked))];
    const count = (name) => all.filter((word) => asking[name]?.has(word)).length;
    const usual = ask.about.named;
    const most = Object.keys(asking).filter(Boolean).reduce((one, other) => (count(other) > count(one) ? other : one), usual);
    const left = asking[count(most) >= count(usual) + 2 ? most : usual] || stop;
    const without = (set, from) => {
      const kept = from.filter((word) => !set.has(word));
      return kept.length ? kept : from;
    };
    return without(asking[""], without(left, all)).filter((word) => !stop.has(word)).slice(0, MOST_TERMS);
  }

  // The names in a question that have other names, as ranking/synonyms.py finds them: [its words, the others' words].
  function otherNames(text) {
    const all = words(text);
    const same = (word, own) => word === own || word === `${own}s`;
    const stands = (own) => all.some((_, at) => own.every((word, next) => same(all[at + next] || "", word)));
    const written = (name) => new RegExp(`(?<![\\p{L}\\p{N}])${name.replace(/[^\p{L}\p{N}]/gu, "\\$&")}s?(?![\\p{L}\\p{N}])`, "u").test(text);
    const found = (ask.about.synonyms || []).filter(([capitals, name]) => stands(words(name)) && (!capitals || written(name)));
    return found.map(([, name, ...others]) => [words(name), others.map((one) => words(one).filter((word) => !stop.has(word)))]);
  }

  // For each term the words that may be meant by it, itself first, and the weights of those of other
  // names. Where no text has the name, there are more: the words of the longer name.
  function meant(text, terms) {
    const all = terms.map((term) => [term]);
    const weights = new Map();
    for (const [own, others] of otherNames(text)) {
      const known = all.filter(([term]) => own.some((word) => term === word || term === `${word}s`));
      const most = Math.max(...others.map((words) => words.length));
      if (!known.some(([term]) => index.search(term).length)) while (known.length < most) all.push((known[known.length] = []));
      for (const words of others) {
        for (let at = 0; words.length && at < Math.max(known.length, words.length); at++) {
          const word = words[Math.min(at, words.length - 1)];
          known[Math.min(at, known.length - 1)].push(word);
          weights.set(word, ask.about.weights.otherName * Math.min(1, known.length / words.length));
        }
      }
    }
    return { asks: all.filter((one) => one.length), weights };
  }

  // The sections that fit best, the best first. kind: of the passages; "" any, "notes" those
  // without a type.
  function search(query, kind) {
    const asked = keyword(query.slice(0, 20000));
    const wanted = asked.kind || kind;
    const terms = subject(asked.rest);
    const { asks, weights: others } = index ? meant(asked.rest, terms) : { asks: [] };
    if (!asks.length) return { terms, hits: [] };
    const { fields, k, b, d, prefix, fuzzy } = ask.about.weights;
    const last = terms.at(-1);
    const own = new Set(terms);
    const begins = (term) => [...term].length === 1 && PAIR.test(term); // a sign alone may begin a pair
    const goesOn = (term) => own.has(term) && (term.length > 3 || (term === last && term.length > 1) || begins(term));
    const known = new Map(terms.map((term) => [term, index.search(term, { prefix: goesOn(term) }).length > 0]));
    const found = index.search([...new Set(asks.flat())].join(" "), {
      prefix: goesOn,
      fuzzy: (term) => (known.get(term) === false && terms.length <= 8 && term.length > 4 ? 0.2 : false),
      weights: { prefix, fuzzy },
      boostTerm: (term) => (own.has(term) ? 1 : others.get(term)),
      boost: fields,
      bm25: { k, b, d },
    });
    return { terms, hits: group(found, asks, wanted, others) };
  }

  const fits = (passage, kind) => !kind || (kind === "notes" ? !passage.kind : passage.kind === kind);

  // Summaries are no passages: they are shown where no passage of a section is.
  const holds = (section, kind) => (kind === "summary" ? section.summary : section.passages.some((one) => fits(one, kind)));

  // How much each word says: most if it is rare.
  function rarity(found, terms) {
    const counts = new Map(terms.map((term) => [term, 0]));
    for (const { queryTerms } of found) for (const term of queryTerms) counts.set(term, counts.get(term) + 1);
    for (const [term, count] of counts) counts.set(term, Math.log(1 + (texts.length - count + 0.5) / (count + 0.5)));
    return counts;
  }

  // How much a word of a text counts for each of the words that are asked for: [which, weight].
  function meanings(found, asked, others) {
    const { prefix, fuzzy } = ask.about.weights;
    const near = (term, word) => (term === word ? others.get(word) || 1 : term.startsWith(word) ? prefix : 0);
    const counts = new Map();
    for (const term of new Set(found.flatMap(({ terms }) => terms))) {
      const own = asked.map((words, at) => [at, Math.max(...words.map((word) => near(term, word)))]).filter(([, weight]) => weight);
      const alike = asked.findIndex(([word]) => word[0] === term[0]);
      if (own.length || alike >= 0) counts.set(term, own.length ? own : [[alike, fuzzy]]);
    }
    return counts;
  }

  // Where the sentences, items and lines of a text begin and end, in parts of about `size` characters.
  function cutSpans(text) {
    const { size, most } = ask.about.spans;
    if (text.length <= most) return [[0, text.length]];
    const found = [];
    for (const { 0: part, index: at } of text.matchAll(SENTENCES)) {
      if (!part) continue;
      const last = found.at(-1);
      if (last && at + part.trimEnd().length - last[0] <= size) last[1] = at + part.length;
      else found.push([at, at + part.length]);
    }
    return found;
  }

  // The BM25 scores of the spans of a passage, each by its own words.
  function ownScores(passage, counts, rare) {
    const { k, b, d } = ask.about.weights;
    passage.spans ||= cutSpans(passage.text).map(([from, end]) => [from, words(passage.text.slice(from, end)).filter((word) => !stop.has(word))]);
    const usual = ask.about.spans.size / 10; // words that count
    return passage.spans.map(([, all]) => {
      const times = new Map();
      for (const word of all) if (counts.has(word)) times.set(word, (times.get(word) || 0) + 1);
      let sum = 0;
      for (const [word, n] of times) {
        const score = d + (n * (k + 1)) / (n + k * (1 - b + (b * all.length) / usual));
        for (const [at, weight] of counts.get(word)) sum += weight * rare[at] * score;
      }
      return sum;
    });
  }

  // Where the best span of a passage begins: by its own words, and by those of the better neighbour.
  // (Sections are not ranked by it: on the questions of the sample book that changed nothing.)
  function bestSpan(passage, counts, rare) {
    const { beside } = ask.about.spans;
    const own = ownScores(passage, counts, rare);
    const scores = own.map((sum, at) => sum + beside * Math.max(own[at - 1] || 0, own[at + 1] || 0));
    return passage.spans[scores.indexOf(Math.max(...scores))]?.[0] || 0;
  }

  function group(found, asked, kind, others) {
    const rare = rarity(found, [...new Set(asked.flat())]);
    const weight = (terms) => asked.reduce((sum, words) => sum + (words.some((word) => terms.has(word)) ? rare.get(words[0]) : 0), 0);
    const all = weight(new Set(asked.flat()));
    const about = new Map(found.filter(({ id }) => !texts[id].passage).map((one) => [texts[one.id].section, one]));
    const hits = new Map();
    const add = (section, passage, score, queryTerms, terms) => {
      const hit = hits.get(section) || { section, passage: null, score: 0, terms: new Set() };
      const aside = !kind && passage?.kind && passage.kind !== "definition" ? ask.about.weights.aside : 1;
      const whole = (aside * score * weight(new Set(queryTerms))) / all;
      if (whole > hit.score) Object.assign(hit, { passage, score: whole });
      for (const term of terms) hit.terms.add(term);
      hits.set(section, hit);
    };
    for (const { id, score, queryTerms, terms } of found) {
      const { section, passage } = texts[id];
      if (passage ? !fits(passage, kind) : kind && !holds(section, kind)) continue;
      const own = passage && about.get(section);
      add(section, passage, score + (own?.score || 0), [...queryTerms, ...(own?.queryTerms || [])], terms);
    }
    const counts = meanings(found, asked, others);
    const rarities = asked.map(([word]) => rare.get(word));
    const sorted = [...hits.values()].sort((one, other) => other.score - one.score).slice(0, HITS);
    for (const hit of sorted) {
      const fitting = hit.section.passages.filter((one) => fits(one, kind));
      hit.passage ||= fitting.find((one) => firstProse(one.text) >= 0) || fitting[0] || null;
      hit.start = hit.passage ? bestSpan(hit.passage, counts, rarities) : 0;
      hit.question = matching(hit.section.questions, hit.terms);
    }
    return sorted;
  }

  // The annotated question that has most of the words, and half of its own among them.
  function matching(questions, terms) {
    let [found, most] = ["", 0];
    for (const question of questions) {
      const own = new Set(words(question).filter((word) => !stop.has(word)));
      const shared = [...own].filter((word) => terms.has(word)).length;
      if (shared > most && shared * 2 >= own.size) [found, most] = [question, shared];
    }
    return found;
  }

  // The lines of a text, and the sentences of a line.
  const SENTENCES = /[^\n]*?(?:[.!?]["'”’)\]]*(?=\s)|[。！？]|(?=\n)|$)[^\S\n]*\n*/g;

  // Lines of code (four blanks before them) and of tables.
  const ROUGH = /^(?: {4}|\|).*$/gm;
  const roughLines = (text) => [...text.matchAll(ROUGH)].map(({ 0: line, index: at }) => [at, at + line.length]);

  // Where prose begins in a text; -1: it has none.
  const firstProse = (text) => text.search(/^(?! {4}|\|)(?=.*\S)/m);

  // The part of a text that has most of the words, as pieces: [text, whether it is marked, the formula
  // that it is]. It begins with the best span if words stand at its beginning, else in prose where the words are in
  // prose, or in nothing.
  function snippet(text, terms, start = 0) {
    const marks = placed(text).filter(({ form }) => terms.has(form));
    if (start && marks.some(({ index: at }) => at >= start && at < start + SNIPPET)) {
      const from = start + text.slice(start).search(/\S|$/);
      return pieces(text, from, Math.min(text.length, from + SNIPPET), marks);
    }
    const rough = roughLines(text);
    const isRough = (at) => rough.some(([start, end]) => at >= start && at < end);
    const inside = (from) => new Set(marks.filter(({ index: at }) => at >= from && at < from + SNIPPET).map(({ form }) => form)).size;
    const first = marks.slice(0, 200);
    const inProse = first.filter(({ index: at }) => !isRough(at));
    let best = (inProse[0] || marks[0])?.index ?? Math.max(0, firstProse(text));
    for (const { index: at } of (inProse.length ? inProse : first).slice(0, 60)) if (inside(at) > inside(best)) best = at;
    let from = best > 60 ? text.indexOf(" ", best - 50) + 1 : 0;
    if (from > best) from = best;
    for (const [start, end] of rough) if (end <= best && end + 1 > from && !isRough(best)) from = Math.min(best, end + 1);
    from += text.slice(from, best).search(/\S|$/);
    return pieces(text, from, Math.min(text.length, from + SNIPPET), marks);
  }

  function pieces(text, from, end, marks) {
    const formulas = formulasIn(text);
    for (const one of formulas) { // none is cut
      if (one.start < from && one.end > from) from = one.start;
      if (one.start < end && one.end > end) end = one.end;
    }
    const found = [];
    let at = from;
    for (const mark of withFormulas(marks, formulas)) {
      if (mark.start < from || mark.end > end) continue;
      const last = found.at(-1);
      if (mark.start <= at && last && PAIR.test(mark.word)) last[0] += text.slice(at, mark.end); // pairs overlap
      else found.push([text.slice(at, mark.start), false], [text.slice(mark.start, mark.end), mark.is, mark.formula]);
      at = mark.end;
    }
    found.push([text.slice(at, end) + (end < text.length ? "…" : ""), false]);
    if (from) found.unshift(["…", false]);
    return found;
  }

  // The words that are marked and the formulas, in their order; a formula with such words is marked as a whole.
  function withFormulas(marks, formulas) {
    const all = marks.map(({ index: at, 0: word }) => ({ start: at, end: at + word.length, word, is: true }));
    if (!formulas.length) return all;
    const isIn = (one, formula) => one.start < formula.end && one.end > formula.start;
    const whole = formulas.map((formula) => ({ ...formula, word: "", is: all.some((one) => isIn(one, formula)), formula }));
    return [...all.filter((one) => !formulas.some((formula) => isIn(one, formula))), ...whole].sort((one, other) => one.start - other.start);
  }

  ask.search = { start, addRows, sections, search, snippet, formulasIn, keyword, fold, words };
})();
