// Sections for words or a question, ranked as lmm_core/retrieve/ranking/lexical.py says, with the
// weights that come with the data. The index (index.js) ranks passages and, as texts of their own, what is
// said about sections: titles, annotated questions and summaries. A passage has its own score and
// that of its section, weighted by the share of the question that is found in both; a section has
// the score of its best passage. What it needs of the data is loaded when it is needed.
(() => {
  "use strict";
  const ask = window.lmmAsk;
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
  const PAIR = new RegExp(`[${PAIRED}]`, "u");
  const PARTS = new RegExp(`[${PAIRED}]+|[^${PAIRED}]+`, "gu");
  const contraction = (letter) =>
    `(?<=[${letter}_])(?<!(?<![${letter}_])ca)n['’]t(?![${letter}_])|(?<=(?<![${letter}_])can)['’]t(?![${letter}_])` +
    `|(?<=[${letter}])['’](?:s|re|ve|ll|d|m)(?![${letter}_])|(?<![${letter}_])[cdjlmnst]['’](?=[${letter}_])`;
  // Expressions that know the letters of all scripts take a browser some 20 ms when they are used first. A text whose
  // letters are Latin needs none of them.
  const LATIN = "0-9A-Za-zªµº²³¹¼-¾À-ÖØ-öø-ɏ";
  const NOT_LATIN = /[^\0-\u024f\u2000-\u206f\u2190-\u22ff]/; // besides the signs of typesetters, arrows and operators
  const wordOf = (letter) => `[${letter}]+(?:(?<=[0-9])\\.(?=[0-9])[${letter}]+)*`;
  const inLatin = { word: new RegExp(wordOf(LATIN), "g"), contraction: new RegExp(contraction(LATIN), "g") };
  const LETTER = "\\p{L}\\p{N}";
  let inAll = null;
  const scriptsOf = (text) =>
    NOT_LATIN.test(text)
      ? (inAll ||= { word: new RegExp(wordOf(LETTER + MARKS + PAIRED), "gu"), contraction: new RegExp(contraction(LETTER), "gu") })
      : inLatin;
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

  function words(text) {
    const composed = text.normalize("NFKC").toLowerCase();
    const { word, contraction } = scriptsOf(composed);
    const plain = /['’]/.test(composed) ? composed.replace(contraction, "") : composed;
    const found = plain.replaceAll("_", " ").match(word) || [];
    const cut = word === inLatin.word ? found : found.flatMap((one) => parts(one).map(([part]) => part));
    const letters = cut.flatMap((one) => (one.includes(".") ? [one, ...one.split(".")] : one));
    return [...letters, ...signsIn(text)].map(fold);
  }

  // Signs of code: runs that stand alone, without those of markdown, and runs with the words that they begin.
  const RUN = "\\-+.!=<>/\\\\@#$%&~|?:^";
  const SIGNS = new RegExp(`(?<![\\p{L}\\p{N}_*${RUN}])([${RUN}]{1,10})([\\p{L}\\p{N}_]+|(?=[\\s\`'"),;]|$))`, "gu");

  function signsIn(text) {
    const found = [...text.toLowerCase().matchAll(SIGNS)];
    return found.filter(([, run, word]) => word || (/[^-|:#.]/.test(run) && !/^[?>]$/.test(run))).map(([, run, word]) => run + word);
  }

  // The words of a text where they stand, each with the form in which it is compared.
  function placed(text) {
    const { word } = scriptsOf(text);
    const cut = word === inLatin.word ? (one) => [[one, 0]] : parts;
    return [...text.matchAll(word)].flatMap(({ 0: one, index: at }) =>
      cut(one).map(([part, from]) => ({ index: at + from, 0: part, form: fold(part.normalize("NFKC")) })),
    );
  }

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

  const sections = []; // those that are loaded: {number, page, depth, title, titles, anchor, minutes, summary, questions, passages}
  let stop = new Set();
  let asking = {}; // words that questions are asked with, by language; "": those of any
  let synonyms = []; // the names that have others: {capitals: whether it is known by them alone, name, own: its words, others}

  function start(about) {
    ask.about = about;
    stop = new Set(about.stopWords ? words(about.stopWords) : []);
    asking = Object.fromEntries(Object.entries(about.asking).map(([name, all]) => [name, new Set(all.split(" "))]));
    synonyms = (about.synonyms || []).map(([capitals, name, ...others]) => ({ capitals, name, own: words(name), others }));
    sections.length = 0;
    ask.index.start(about.index);
  }

  // Load the parts that have some sections, all by default.
  async function load(numbers) {
    const { parts } = ask.about;
    const partOf = (number) => ask.index.lastUpTo(number, parts);
    const needed = numbers ? new Set(numbers.filter((number) => !sections[number]).map(partOf)) : parts.keys();
    await Promise.all([...needed].map(async (at) => {
      const [above, ...rows] = await ask.index.load(`part-${at + 1}`);
      if (!sections[parts[at]]) addRows(parts[at], above, rows);
    }));
  }

  // above: the titles on the way to the first section, by their depth.
  function addRows(first, above, rows) {
    const path = above.map(bare);
    for (const [at, [document, depth, titled, anchor, minutes, summed, asked, texts]] of rows.entries()) {
      const [page, source] = ask.about.documents[document];
      const [title, summary, questions] = [bare(titled), bare(summed), asked.map(bare)];
      path.length = depth;
      path[depth] = title;
      const titles = path.filter(Boolean).filter((one, at, all) => one !== all[at - 1]);
      const passages = texts.map((row) => (typeof row === "string" ? { text: bare(row), kind: "" } : { text: bare(row[0]), kind: row[1], term: bare(row[2] || "") }));
      sections[first + at] = { number: document, page, source, depth, title, titles, anchor, minutes, summary, questions, passages };
    }
  }

  // The type keyword in a question (`*exercise*`), where there is such a type, and the rest.
  function keyword(query) {
    const found = query.includes("*") && /(?:^|\s)\*([\p{L}\w-]+)\*(?=\s|[.,;:?!]|$)/u.exec(query);
    const kind = found && fold(found[1]);
    const known = kind && Object.keys(ask.about.kinds).find((one) => fold(one) === kind);
    return known ? { kind: known, rest: query.replace(`*${found[1]}*`, " ") } : { kind: "", rest: query };
  }

  // The words that say what is asked about, without those of the language that it is asked in: that
  // of the site, unless another one has two more of its frequent words.
  function subject(text) {
    const asked = /^\s*what d/i.test(text) ? text.replace(/^(\s*what (?:do|does|did)\b.*)\bmean(?=[^\p{L}]*$)/isu, "$1") : text;
    const about = words(NOT_LATIN.test(asked) ? asked.replace(new RegExp(ask.about.askingSigns, "gu"), " ") : asked);
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

  // Words without numbers with points and signs that no text has.
  async function withoutUnknown(terms) {
    const known = await Promise.all(terms.map(async (term) => /^[^.]*$/.test(term) && /^[\p{L}\p{N}]/u.test(term) || (await ask.index.known(term)).length > 0));
    return terms.filter((_, at) => known[at]);
  }

  // The names in a question that have other names, as ranking/synonyms.py finds them: [its words, the others' words].
  function otherNames(text) {
    const all = words(text);
    const same = (word, own) => word === own || word === `${own}s`;
    const stands = (own) => all.some((_, at) => own.every((word, next) => same(all[at + next] || "", word)));
    const written = (name) => new RegExp(`(?<![\\p{L}\\p{N}])${name.replace(/[^\p{L}\p{N}]/gu, "\\$&")}s?(?![\\p{L}\\p{N}])`, "u").test(text);
    const found = synonyms.filter(({ capitals, name, own }) => stands(own) && (!capitals || written(name)));
    return found.map(({ own, others }) => [own, others.map((one) => words(one).filter((word) => !stop.has(word)))]);
  }

  // For each term the words that may be meant by it, itself first, and the weights of those of other
  // names. Where no text has the name, there are more: the words of the longer name.
  async function meant(text, terms) {
    const all = terms.map((term) => [term]);
    const weights = new Map();
    for (const [own, others] of otherNames(text)) {
      const known = all.filter(([term]) => own.some((word) => term === word || term === `${word}s`));
      const most = Math.max(...others.map((words) => words.length));
      const there = await Promise.all(known.map(([term]) => ask.index.known(term)));
      if (!there.flat().length) while (known.length < most) all.push((known[known.length] = []));
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

  // The words of the texts that each word of a question finds, with their weights: itself, what begins with it, and
  // where there is nothing of these what differs in few letters.
  async function reach(asked, terms) {
    const { prefix, fuzzy } = ask.about.weights;
    const own = new Set(terms);
    const begins = (term) => [...term].length === 1 && PAIR.test(term); // a sign alone may begin a pair
    const goesOn = (term) => own.has(term) && (term.length > 3 || (term === terms.at(-1) && term.length > 1) || begins(term));
    const isLong = (term) => own.has(term) && terms.length <= 8 && term.length > 4 && !/^[0-9]/.test(term);
    const found = await Promise.all(asked.map(async (term) => {
      const known = await ask.index.known(term, goesOn(term));
      if (!known.length && isLong(term)) return (await ask.index.near(term)).map(([word, edits]) => [word, fuzzyWeight(fuzzy, word, edits)]);
      return known.map((word) => [word, word === term ? 1 : prefixWeight(prefix, word, word.length - term.length)]);
    }));
    return new Map(asked.map((term, at) => [term, found[at]]));
  }

  const prefixWeight = (weight, word, more) => (weight * word.length) / (word.length + 0.3 * more);
  const fuzzyWeight = (weight, word, edits) => (weight * word.length) / (word.length + edits);

  // The sections that fit best (count: how many), the best first, in batches as what is shown of them is loaded. kind: of
  // the passages; "" any, "notes" those without a type. Rejects where data cannot be had, and so do the batches.
  async function search(query, kind) {
    const asked = keyword(query.slice(0, 20000));
    const wanted = asked.kind || kind;
    const terms = await withoutUnknown(subject(asked.rest));
    const { asks, weights: others } = await meant(asked.rest, terms);
    if (!asks.length) return { terms, count: 0, hits: [] };
    const reaching = reach([...new Set(asks.flat())], terms);
    ask.index.read(); // while the words are loaded
    const reached = await reaching;
    const scored = score(reached, terms, others);
    const hits = rank(scored, asks, wanted);
    return { terms, count: hits.length, hits: batches(hits, completing(scored, reached, asks, wanted, others)) };
  }

  // Nothing is asked for before the first hit is there, and taken: it would keep that waiting.
  async function* batches(hits, complete) {
    let loaded = hits.slice(0, 1).map(({ number }) => load([number]));
    for (let at = 0, from = 0; at < hits.length; from = at) {
      await loaded[at];
      while (at < hits.length && sections[hits[at].number]) at++;
      yield hits.slice(from, at).map(complete);
      if (from) continue;
      loaded = hits.map(({ number }) => load([number]));
      for (const one of loaded) one.catch(() => null); // it is told when its turn comes
    }
  }

  // For all texts the sums of their words' scores and how many of the words they have, and for each word of the question the
  // texts that it finds (1), and how rare these are.
  function score(reached, terms, others) {
    const count = ask.index.count;
    const scores = new Float64Array(count);
    const found = new Uint16Array(count); // how many of the words
    const [marks, rare] = [new Map(), new Map()];
    for (const [term, words] of reached) {
      const own = new Uint8Array(count);
      const weight = terms.includes(term) ? 1 : others.get(term);
      let number = 0;
      for (const [word, share] of words) number += ask.index.addScores(word, share * weight, scores, own, found);
      marks.set(term, own);
      rare.set(term, Math.log(1 + (count - number + 0.5) / (number + 0.5)));
    }
    return { scores, found, marks, rare };
  }

  // The best sections, the best first: {number, id of their best text, score}.
  function rank({ scores, found, marks, rare }, asks, kind) {
    const { index } = ask;
    const groups = asks.map((words) => ({ weight: rare.get(words[0]), marks: words.map((word) => marks.get(word)) }));
    const all = groups.reduce((sum, { weight }) => sum + weight, 0);
    const best = [];
    let last = { number: -1, id: -1, score: -1 }; // the texts of a section follow each other
    let number = 0;
    for (let id = 0; id < scores.length; id++) {
      if (!scores[id]) continue;
      number = index.sectionOf(id, number);
      const isAbout = index.placeOf(id, number) < 0;
      const type = isAbout ? "" : index.typeOf(id);
      if (isAbout ? kind && !holds(number, kind) : !fits(type, kind)) continue;
      const about = isAbout ? -1 : index.aboutOf(number);
      const aside = !kind && type && type !== "definition" ? ask.about.weights.aside : 1;
      const most = aside * (scores[id] * found[id] + (about < 0 ? 0 : scores[about] * found[about])); // where all words are found
      if (best.length === HITS && most <= best[HITS - 1].score) continue;
      const score = most * (share(groups, id, about < 0 ? id : about) / all);
      if (number !== last.number) {
        keepBest(best, last);
        last = { number, id, score };
      } else if (score > last.score) Object.assign(last, { id, score });
    }
    keepBest(best, last);
    return best;
  }

  // The weight of the words of a question that are found in one text or the other.
  function share(groups, id, about) {
    let sum = 0;
    for (const { weight, marks } of groups) {
      for (const own of marks) {
        if (!own[id] && !own[about]) continue;
        sum += weight;
        break;
      }
    }
    return sum;
  }

  // Put a section among the best in their order, if it is one; before it stand those that are as good.
  function keepBest(best, section) {
    let at = best.length;
    while (at && best[at - 1].score < section.score) at--;
    if (section.number < 0 || at >= HITS) return;
    best.splice(at, 0, section);
    if (best.length > HITS) best.pop();
  }

  // kind: that is asked for, see `search`
  const fits = (type, kind) => !kind || (kind === "notes" ? !type : type === kind);

  // Summaries are no passages: they are shown where no passage of a section is.
  const holds = (number, kind) => (kind === "summary" ? ask.index.hasSummary(number) : ask.index.passagesOf(number).some((id) => fits(ask.index.typeOf(id), kind)));

  // What is shown of a hit whose section is loaded.
  function completing({ rare }, reached, asks, kind, others) {
    const terms = new Set([...reached.values()].flat().map(([word]) => word));
    const counts = meanings(terms, asks, others);
    const rarities = asks.map(([word]) => rare.get(word));
    return ({ number, id, score }) => {
      const section = sections[number];
      const fitting = section.passages.filter((one) => fits(one.kind, kind));
      const passage = section.passages[ask.index.placeOf(id, number)] || fitting.find((one) => firstProse(one.text) >= 0) || fitting[0] || null;
      const start = passage ? bestSpan(passage, counts, rarities) : 0;
      return { section, passage, score, terms, start, question: matching(section.questions, terms) };
    };
  }

  // How much a word of a text counts for each of the words that are asked for: [which, weight].
  function meanings(terms, asked, others) {
    const { prefix, fuzzy } = ask.about.weights;
    const near = (term, word) => (term === word ? others.get(word) || 1 : term.startsWith(word) ? prefix : 0);
    const counts = new Map();
    for (const term of terms) {
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

  // Where the best span of a passage begins, by its own words.
  // (Sections are not ranked by it: on the questions of the sample book that changed nothing.)
  function bestSpan(passage, counts, rare) {
    const scores = ownScores(passage, counts, rare);
    return passage.spans[scores.indexOf(Math.max(...scores))]?.[0] || 0;
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

  ask.search = { start, load, sections, search, snippet, formulasIn, keyword, fold, words };
})();
