// Search of the sections by MiniSearch (BM25+), with the weights of `lmm search`, which come with the data. A document of
// the index is a passage with what is said about its section; a section stands where its best passage does.
(() => {
  "use strict";
  const ask = window.lmmAsk;
  const MOST_TERMS = 40; // of a question
  const MOST_CHARACTERS = 20000; // of a question
  const HITS = 20;
  const SNIPPET = 220; // characters
  const SPAN = 250; // characters of the part of a passage that a snippet begins with
  const CHUNK = 50; // passages that are indexed before the browser may do something else
  const about = () => ["title", "questions", "summary"].filter((field) => field in ask.about.weights.fields); // a section

  // Words, as lmm_core/models/languages/words.py finds them: see there.

  const PAIRED =
    "\\u0e01-\\u0e3a\\u0e40-\\u0e4e\\u0e81-\\u0ebd\\u0ec0-\\u0ecd\\u0edc-\\u0edf\\u1000-\\u103f\\u1050-\\u109f\\u1780-\\u17d3\\u17d7" +
    "\\u17dc\\u17dd\\u3005\\u3007\\u3041-\\u309a\\u309d-\\u309f\\u30a1-\\u30fa\\u30fc-\\u30ff\\u31f0-\\u31ff\\u3400-\\u4dbf" +
    "\\u4e00-\\u9fff\\uac00-\\ud7a3\\uf900-\\ufaff\\u{20000}-\\u{3fffd}";
  const MARKS =
    "\\u0300-\\u036f\\u0591-\\u05bd\\u05bf\\u05c1\\u05c2\\u05c4\\u05c5\\u05c7\\u0610-\\u061a\\u064b-\\u065f\\u0670\\u0900-\\u0963" +
    "\\u0971-\\u0df3\\u0f71-\\u0f84\\u0f8d-\\u0fbc";
  const PAIR = new RegExp(`[${PAIRED}]`, "u");
  const PARTS = new RegExp(`[${PAIRED}]+|[^${PAIRED}]+`, "gu");
  const LETTER = "\\p{L}\\p{N}";
  const WORD = new RegExp(`[${LETTER}${MARKS}${PAIRED}]+(?:(?<=[0-9])\\.(?=[0-9])[${LETTER}${MARKS}${PAIRED}]+)*`, "gu");
  const CONTRACTION = new RegExp(
    `(?<=[${LETTER}_])(?<!(?<![${LETTER}_])ca)n['’]t(?![${LETTER}_])|(?<=(?<![${LETTER}_])can)['’]t(?![${LETTER}_])` +
      `|(?<=[${LETTER}])['’](?:s|re|ve|ll|d|m)(?![${LETTER}_])|(?<![${LETTER}_])[cdjlmnst]['’](?=[${LETTER}_])`,
    "gu",
  );
  const LETTERS = { ß: "ss", æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d", ı: "i", ς: "σ" };
  const RUN = "\\-+.!=<>/\\\\@#$%&~|?:^"; // signs of code
  const SIGNS = new RegExp(`(?<![\\p{L}\\p{N}_*${RUN}])([${RUN}]{1,10})([\\p{L}\\p{N}_]+|(?=[\\s\`'"),;]|$))`, "gu");

  const QUOTED_SIGN = /(?<=[`'"])[?>](?=[`'"])|(?<=\s)\?(?=[ \t][a-zß-öø-ÿ])/g; // of code: elsewhere they end questions and begin quotes

  const COMPOUND = /(?<![\p{L}\p{N}_-])([\p{L}\p{Nl}\p{No}]+)-([\p{L}\p{Nl}\p{No}]+)(?![\p{L}\p{N}_-])/gu; // e-mail

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
    const cut = [];
    for (const { 0: run, index: at } of word.matchAll(PARTS)) {
      const signs = [...run];
      if (!PAIR.test(run) || signs.length === 1) cut.push([run, at]);
      else for (let [n, from] = [0, at]; n + 1 < signs.length; from += signs[n++].length) cut.push([signs[n] + signs[n + 1], from]);
    }
    return cut;
  }

  function words(text) {
    const composed = text.normalize("NFKC").toLowerCase();
    const plain = /['’]/.test(composed) ? composed.replace(CONTRACTION, "") : composed;
    const cut = (plain.replaceAll("_", " ").match(WORD) || []).flatMap((word) => parts(word).map(([part]) => part));
    const letters = cut.flatMap((word) => (word.includes(".") ? [word, ...word.split(".")] : word));
    return [...letters, ...compounds(text).map((parts) => parts.join("")), ...signsIn(text)].map(fold);
  }

  // The parts of each word with one hyphen.
  const compounds = (text) => [...text.toLowerCase().matchAll(COMPOUND)].map(([, one, other]) => [one, other]);

  // Signs of code: runs that stand alone, without those of markdown, and runs with the words that they begin.
  function signsIn(text) {
    const runs = [...text.toLowerCase().matchAll(SIGNS)];
    const own = runs.filter(([, run, word]) => word || (/[^-|:#.]/.test(run) && !/^[?>]$/.test(run))).map(([, run, word]) => run + word);
    return [...own, ...(text.match(QUOTED_SIGN) || [])];
  }

  // The words of a text where they stand, each with the form in which it is compared.
  function placed(text) {
    return [...text.matchAll(WORD)].flatMap(({ 0: word, index: at }) =>
      parts(word).map(([part, from]) => ({ index: at + from, 0: part, form: stemOf(fold(part.normalize("NFKC"))) })),
    );
  }

  // Formulas stand in the data in Unicode and in TeX (plain_text.py): what is searched is Unicode alone.

  const FORMULA = /\ue000([^\ue000-\ue003]*)([\ue001\ue002])([^\ue000-\ue003]*)\ue003/g;
  const withTex = new Map(); // texts as they stand in the data, by their Unicode

  function bare(text) {
    if (!text.includes("\ue000")) return text;
    const unicode = text.replace(FORMULA, "$1");
    withTex.set(unicode, text);
    return unicode;
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

  // The data

  const sections = []; // {number, page, source, depth, title, titles, anchor, minutes, summary, questions, passages}
  const passages = []; // what is searched, by its identifier in the index: {section, passage}
  const frequencies = new Map(); // by stem: how many passages have it in each field, and in any
  let index = null;
  let ready = Promise.resolve(); // when all is in the index
  let stop = new Set();
  let stems = new Map(); // by word
  let ofWords = new Set(); // the stems themselves
  let spellings = []; // [expression, what is written in its place]: those that are compared as one
  let asking = {}; // words that questions are asked with, by language; "": those of any
  let synonyms = []; // {capitals: whether it is known by them alone, name, own: its words, others: their words}

  function start(about) {
    ask.about = about;
    stop = new Set(words(about.stopWords));
    const lines = about.stems.map((line) => line.split(" ")); // a stem and its words
    ofWords = new Set(lines.map(([stem]) => stem));
    stems = new Map(lines.flatMap(([stem, ...all]) => all.map((word) => [word, stem])));
    spellings = about.spellings.map(([pattern, other]) => [new RegExp(pattern, "u"), other]);
    asking = Object.fromEntries(Object.entries(about.asking).map(([language, all]) => [language, new Set(all.split(" "))]));
    synonyms = about.synonyms.map(([capitals, name, ...others]) => ({ capitals, name, own: words(name), others: others.map(words) }));
    sections.length = passages.length = 0;
    frequencies.clear();
    addSections(about);
    ready = addToIndex();
  }

  function addSections({ sections: rows, documents }) {
    const path = [];
    for (const [number, depth, titled, anchor, minutes, summed, asked, texts] of rows) {
      const [page, source] = documents[number];
      const [title, summary, questions] = [bare(titled), bare(summed), asked.map(bare)];
      path.length = depth;
      path[depth] = title;
      const titles = path.filter(Boolean).filter((name, at, all) => name !== all[at - 1]);
      const own = texts.map((row) => [].concat(row)).map(([text, type = "", term = "", terms = ""]) => ({ text: bare(text), type, term: bare(term), terms }));
      sections.push({ number, page, source, depth, title, titles, anchor, minutes, summary, questions, passages: own });
    }
  }

  function addToIndex() {
    const stemmed = new Map(); // titles and the like, which many passages have
    const extractField = (document, field) => {
      if (field === "id") return document.id;
      const text = document[field] || "";
      const stems = stemmed.get(text) || words(text).filter((word) => !stop.has(word)).map(stemOf);
      if (field !== "text") stemmed.set(text, stems);
      count(stems, field, document.id);
      return stems.join("\n");
    };
    const fields = Object.keys(ask.about.weights.fields);
    index = new ask.MiniSearch({ fields, extractField, tokenize: (text) => text.split("\n"), processTerm: (term) => term });
    const documents = sections.flatMap((section) => {
      const { titles, questions, summary } = section;
      const own = section.passages.length || !summary ? section.passages : [null]; // a summary alone is found, too
      return own.map((passage) => {
        const id = passages.push({ section, passage }) - 1;
        return { id, title: titles.join(" "), questions: questions.join("\n"), summary, terms: passage?.terms, text: passage?.text };
      });
    });
    return index.addAllAsync(documents, { chunkSize: CHUNK });
  }

  function count(stems, field, id) {
    for (const stem of new Set(stems)) {
      const counts = frequencies.get(stem) || { last: -1, any: 0 };
      if (counts.last !== id) counts.any += 1;
      frequencies.set(stem, { ...counts, last: id, [field]: (counts[field] || 0) + 1 });
    }
  }

  // The stem of a word. One that no text has stands for the longest stem that it begins with, without three letters at most.
  function stemOf(written) {
    const word = stems.has(written) ? written : spellings.reduce((text, [pattern, other]) => text.replace(pattern, other), written);
    const known = stems.get(word);
    if (known || ofWords.has(word) || word.length < 6) return known || word;
    for (const less of [1, 2, 3]) if (ofWords.has(word.slice(0, -less))) return word.slice(0, -less);
    return word;
  }

  // Questions

  // The type keyword in a question (`*exercise*`), where there is such a type, and the rest.
  function keyword(query) {
    const match = query.includes("*") && /(?:^|\s)\*([\p{L}\w-]+)\*(?=\s|[.,;:?!]|$)/u.exec(query);
    const type = match && Object.keys(ask.about.types).find((name) => fold(name) === fold(match[1]));
    return type ? { type, rest: query.replace(`*${match[1]}*`, " ") } : { type: "", rest: query };
  }

  // The words of a question: those that say what it is about, and the others. They are in the language of the site, unless
  // another one has two more of its frequent words. (ranking/words.py)
  function subject(text) {
    const asked = /^\s*what d/i.test(text) ? text.replace(/^(\s*what (?:do|does|did)\b.*)\bmean(?=[^\p{L}]*$)/isu, "$1") : text;
    const about = words(asked.replace(new RegExp(ask.about.askingSigns, "gu"), " "));
    const all = [...new Set(about.length ? about : words(asked))];
    const count = (language) => all.filter((word) => asking[language]?.has(word)).length;
    const usual = ask.about.named;
    const most = Object.keys(asking).filter(Boolean).reduce((one, other) => (count(other) > count(one) ? other : one), usual);
    const frequent = asking[count(most) >= count(usual) + 2 ? most : usual] || stop;
    const asks = (word) => asking[""].has(word) || asking[""].has(word.replace(/s$/, ""));
    const without = (isLeft, from) => {
      const kept = from.filter((word) => !isLeft(word));
      return kept.length ? kept : from;
    };
    const parts = compounds(asked).flatMap(([one, other]) => (ofWords.has(stemOf(one + other)) ? [one, other] : one + other));
    const terms = without(asks, without((word) => frequent.has(word), all)).filter((word) => !stop.has(word) && !parts.includes(word)).slice(0, MOST_TERMS);
    return { terms, others: all.filter((word) => !terms.includes(word)).slice(0, MOST_TERMS) };
  }

  // The words of other names of what a question names (ranking/synonyms.py): by their stems, those of the name.
  function otherNames(text) {
    const all = words(text);
    const same = (word, own) => word === own || word === `${own}s`;
    const stands = (own) => all.some((_, at) => own.every((word, next) => same(all[at + next] || "", word)));
    const written = (name) => new RegExp(`(?<![\\p{L}\\p{N}])${name.replace(/[^\p{L}\p{N}]/gu, "\\$&")}s?(?![\\p{L}\\p{N}])`, "u").test(text);
    const used = synonyms.filter(({ capitals, name, own }) => stands(own) && (!capitals || written(name)));
    const pairs = used.flatMap(({ own, others }) => others.flat().map((word) => [stemOf(word), own.map(stemOf)]));
    return new Map(pairs.filter(([word]) => !stop.has(word)));
  }

  // Ranking

  const rarity = (count) => Math.log(1 + (passages.length - count + 0.5) / (count + 0.5));

  // The passages that have a term, as results by their identifiers. MiniSearch counts how rare a word is field by field, but
  // `lmm search` in all fields.
  function find(term, options) {
    const { fields, k, b, d, prefix, fuzzy } = ask.about.weights;
    const results = new Map();
    for (const field of options.fields || Object.keys(fields)) {
      const boostDocument = (_, stem) => rarity((frequencies.get(term) || frequencies.get(stem)).any) / rarity(frequencies.get(stem)[field]);
      const own = { fields: [field], boost: fields, bm25: { k, b, d }, weights: { prefix, fuzzy }, boostDocument };
      for (const { id, score, terms } of index.search(term, { ...options, ...own })) {
        const others = results.get(id) || { score: 0, terms: [] };
        results.set(id, { score: score + others.score, terms: [...terms, ...others.terms] });
      }
    }
    return results;
  }

  // The passages that have each of the terms. A term of four letters may go on, and so may the last, which is being typed; a
  // longer one that nothing has may be misspelled.
  function candidates(terms, names, options) {
    const results = (term) => {
      const isName = !terms.includes(term);
      const own = { ...options, boostTerm: () => (isName ? ask.about.weights.otherName : 1) };
      const exact = find(term, { ...own, prefix: term.length > 3 || (term === terms.at(-1) && term.length > 1) || PAIR.test(term) });
      const isKnown = exact.size || isName || term.length < 5 || /[0-9]/.test(term);
      return isKnown ? exact : find(term, { ...own, fuzzy: 0.2 });
    };
    return new Map([...terms, ...names.keys()].map((term) => [term, results(term)]));
  }

  // The best sections, each with what is shown of it, the best first. type: of the passages; "" any, "notes" those without
  // a type, "summary" sections by their summaries.
  async function search(query, type) {
    await ready;
    const asked = keyword(query.slice(0, MOST_CHARACTERS));
    const wanted = asked.type || type;
    const { terms, others } = subject(asked.rest);
    const names = otherNames(asked.rest);
    const stemmed = [...new Set(terms.map(stemOf))];
    const options = { filter: ({ id }) => fits(passages[id], wanted), ...(wanted === "summary" ? { fields: about() } : {}) };
    const scored = score(candidates(stemmed, names, options), names, bySmallWords(others, stemmed), wanted);
    return { terms, hits: bestOfSections(scored).slice(0, HITS).map((one) => shown(one, wanted)) };
  }

  const fits = ({ section, passage }, type) =>
    !type || (type === "summary" ? section.summary : type === "notes" ? !passage?.type : passage?.type === type);

  const aside = (passage, type) => (!type && passage?.type && passage.type !== "definition" ? ask.about.weights.aside : 1);

  // The scores of passages for the words that say little of a subject, by what is said about their sections.
  function bySmallWords(others, terms) {
    const scores = new Map();
    for (const stem of new Set(others.map(stemOf).filter((word) => !terms.includes(word)))) {
      for (const [id, { score }] of find(stem, { fields: about() })) scores.set(id, (scores.get(id) || 0) + score);
    }
    return scores;
  }

  // Weigh the sum of the scores by the share of the question that a passage has, counted by how rare its words are. A word
  // that only the passage before has, in the same section, counts half: pronouns follow a subject.
  function score(found, names, small, type) {
    const { before, least } = ask.about.weights;
    const asked = [...found.keys()];
    const meant = (terms) => [...new Set(terms.flatMap((term) => names.get(term) || [term]))];
    const rarityOf = (term) => rarity(frequencies.get(term)?.any || found.get(term)?.size || 0);
    const sum = (terms) => meant(terms).reduce((all, term) => all + rarityOf(term), 0);
    const most = sum(asked) || 1;
    const scoreOf = (term, id) => {
      const earlier = passages[id - 1]?.section === passages[id].section ? found.get(term).get(id - 1) : null;
      return found.get(term).get(id)?.score || before * (earlier?.score || 0);
    };
    const scored = (id) => {
      const own = asked.filter((term) => scoreOf(term, id));
      const all = own.reduce((total, term) => total + scoreOf(term, id), small.get(id) || 0);
      const factor = aside(passages[id].passage, type) * (least + sum(own) / most);
      return { id, terms: own.flatMap((term) => found.get(term).get(id)?.terms || []), score: factor * all };
    };
    const ids = new Set([...found.values()].flatMap((results) => [...results.keys()]));
    return [...ids].map(scored).sort((one, other) => other.score - one.score);
  }

  function bestOfSections(scored) {
    const best = new Map();
    for (const one of scored) if (!best.has(passages[one.id].section)) best.set(passages[one.id].section, one);
    return [...best.values()];
  }

  // What is shown of a hit.
  function shown({ id, terms, score }, type) {
    const { section, passage } = passages[id];
    const found = new Set(terms);
    const text = type !== "summary" && passage ? passage : null;
    return { section, passage: text, score, terms: found, start: text ? bestSpan(text.text, found) : 0, question: matching(section.questions, found) };
  }

  // The lines of a text, and the sentences of a line.
  const SENTENCES = /[^\n]*?(?:[.!?]["'”’)\]]*(?=\s)|[。！？]|(?=\n)|$)[^\S\n]*\n*/g;

  // Where the part of a text with most of the words begins; prose is preferred to code and tables (four blanks or a bar
  // before them).
  function bestSpan(text, terms) {
    const spans = [];
    for (const { 0: part, index: at } of text.matchAll(SENTENCES)) {
      const [last, isRough] = [spans.at(-1), /^(?: {4}|\|)/.test(part)];
      if (last?.isRough === isRough && at + part.trimEnd().length - last.from <= SPAN) last.end = at + part.length;
      else if (part) spans.push({ from: at, end: at + part.length, isRough });
    }
    const value = ({ from, end, isRough }) => {
      const own = new Set(words(text.slice(from, end)).map(stemOf).filter((word) => terms.has(word)));
      return own.size + (isRough ? 0 : 0.5);
    };
    const values = spans.map(value);
    return spans[values.indexOf(Math.max(...values))]?.from || 0;
  }

  // The annotated question that has most of the words, and half of its own among them.
  function matching(questions, terms) {
    let [best, most] = ["", 0];
    for (const question of questions) {
      const own = new Set(words(question).filter((word) => !stop.has(word)).map(stemOf));
      const shared = [...own].filter((word) => terms.has(word)).length;
      if (shared > most && shared * 2 >= own.size) [best, most] = [question, shared];
    }
    return best;
  }

  // Snippets

  // A part of a text from a place on, as pieces: [text, whether it is marked, the formula that it is].
  function snippet(text, terms, start = 0) {
    const formulas = formulasIn(text);
    let from = start + text.slice(start).search(/\S|$/);
    const cut = text.lastIndexOf(" ", from + SNIPPET); // no word is cut, where there are blanks
    let end = from + SNIPPET >= text.length ? text.length : cut > from + SNIPPET / 2 ? cut : from + SNIPPET;
    for (const one of formulas) { // none is cut
      if (one.start < from && one.end > from) from = one.start;
      if (one.start < end && one.end > end) end = one.end;
    }
    const marks = placed(text).filter(({ form }) => terms.has(form));
    const pieces = from ? [["…", false]] : [];
    let at = from;
    for (const mark of withFormulas(marks, formulas)) {
      if (mark.start < from || mark.end > end) continue;
      const last = pieces.at(-1);
      if (mark.start <= at && last?.[1] && PAIR.test(mark.word)) last[0] += text.slice(at, mark.end); // pairs overlap
      else pieces.push([text.slice(at, mark.start), false], [text.slice(mark.start, mark.end), mark.is, mark.formula]);
      at = mark.end;
    }
    pieces.push([text.slice(at, end) + (end < text.length ? "…" : ""), false]);
    return pieces;
  }

  // The words that are marked and the formulas, in their order; a formula with such words is marked as a whole.
  function withFormulas(marks, formulas) {
    const all = marks.map(({ index: at, 0: word }) => ({ start: at, end: at + word.length, word, is: true }));
    if (!formulas.length) return all;
    const isIn = (one, formula) => one.start < formula.end && one.end > formula.start;
    const shown = formulas.map((formula) => ({ ...formula, word: "", is: all.some((one) => isIn(one, formula)), formula }));
    return [...all.filter((one) => !formulas.some((formula) => isIn(one, formula))), ...shown].sort((one, other) => one.start - other.start);
  }

  ask.search = { start, sections, search, snippet, formulasIn, keyword, fold, words };
})();
