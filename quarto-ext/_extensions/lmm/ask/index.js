// The index of the words of all sections, which lmm_core/quarto/ask_box/word_index.py makes. It comes in shards of
// words in their order; those are loaded that a question needs. A text is a passage, or what is said about a section.
(() => {
  "use strict";
  const ask = window.lmmAsk;
  const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const VALUES = new Uint8Array(128);
  [...DIGITS].forEach((digit, value) => (VALUES[digit.charCodeAt(0)] = value));
  const COLUMNS = [0, 1, 2, 0, 1]; // where the length of a field stands: title, questions, summary; of a passage: terms, text
  const TYPE = 2; // where the type of a passage stands
  const FIELDS = COLUMNS.length;
  const ZERO = "#".charCodeAt(0); // the sign of 0 in a column
  const MOST_EDITS = 6; // of a word with typing errors

  // The numbers in a text: five bits a digit, the lowest first; a sixth says that the number goes on.
  function numbers(text) {
    const found = new Uint32Array(text.length);
    let count = 0;
    for (let at = 0, number = 0, shift = 0; at < text.length; at++) {
      const value = VALUES[text.charCodeAt(at)];
      number |= (value & 31) << shift;
      if (value > 31) shift += 5;
      else {
        found[count++] = number;
        number = shift = 0;
      }
    }
    return found.subarray(0, count);
  }

  // Data by their name, loaded once; what could not be loaded is asked for again.
  const loading = new Map();
  function load(name) {
    if (!loading.has(name)) loading.set(name, ask.data(name).catch((error) => (loading.delete(name), Promise.reject(error))));
    return loading.get(name);
  }

  let told = null; // what describes the index
  let first = null; // by section, and of one behind all: its first text
  let entries = null; // by section: its passages, and whether something is said about it
  let shards = []; // those that are loaded: {words, lines}

  function start(about) {
    told = about;
    first = null;
    shards = [];
    loading.clear();
  }

  // Read where the texts of each section are, before scores are added first.
  function read() {
    if (first) return;
    entries = numbers(told.sections);
    first = new Uint32Array(entries.length + 1);
    for (let at = 0, id = 0; at < entries.length; ) {
      id += (entries[at] >> 2) + (entries[at] & 1);
      first[++at] = id;
    }
  }

  // The place of the last in an order that is not behind a value; the first place for a value before all.
  function lastUpTo(value, ordered) {
    const at = placeOf(value, ordered);
    return ordered[at] === value ? at : Math.max(at - 1, 0);
  }

  // The shard that has a word, if any has it.
  const shardOf = (word) => lastUpTo(word, told.shards);

  async function loadShard(at) {
    if (shards[at]) return;
    const lines = (await load(`words-${at + 1}`)).split("\n");
    shards[at] = { lines, words: lines.map((line) => line.slice(0, line.indexOf(" "))) };
  }

  // The words that a question's word may be, those that begin with it if `goesOn`; their shards are loaded.
  async function known(word, goesOn) {
    const from = shardOf(word);
    let end = from + 1;
    while (goesOn && end < told.shards.length && told.shards[end].startsWith(word)) end++;
    const needed = Array.from({ length: Math.min(end, told.shards.length) - from }, (_, at) => from + at);
    await Promise.all(needed.map(loadShard));
    return needed.flatMap((at) => beginning(shards[at].words, word, goesOn));
  }

  // The place of a value in an order, or of the first behind it.
  function placeOf(value, ordered) {
    let [from, end] = [0, ordered.length];
    while (from < end) {
      const middle = (from + end) >> 1;
      if (ordered[middle] < value) from = middle + 1;
      else end = middle;
    }
    return from;
  }

  function beginning(words, word, goesOn) {
    const from = placeOf(word, words);
    let end = from;
    while (words[end] === word || (goesOn && words[end]?.startsWith(word))) end++;
    return words.slice(from, end);
  }

  // The words that differ from one by a fifth of its letters at most, each with the number of edits.
  async function near(word) {
    const most = Math.min(MOST_EDITS, Math.round(word.length * 0.2));
    const byLength = await load("spelling");
    const found = [];
    for (let length = Math.max(word.length - most, 1); length <= word.length + most; length++) {
      for (const other of (byLength[length] || "").split(" ")) {
        const edits = other ? distance(word, other, most) : Infinity;
        if (edits <= most) found.push([other, edits]);
      }
    }
    await Promise.all(found.map(([other]) => loadShard(shardOf(other))));
    return found;
  }

  // How many letters are to be set, dropped or replaced (V. I. Levenshtein, 1966); Infinity beyond `most`.
  function distance(one, other, most) {
    let before = Array.from({ length: other.length + 1 }, (_, at) => at);
    for (let at = 1; at <= one.length; at++) {
      const row = [at];
      let least = at;
      for (let to = 1; to <= other.length; to++) {
        row[to] = Math.min(before[to] + 1, row[to - 1] + 1, before[to - 1] + (one[at - 1] === other[to - 1] ? 0 : 1));
        if (row[to] < least) least = row[to];
      }
      if (least > most) return Infinity;
      before = row;
    }
    return before[other.length];
  }

  // Visit the postings of a word of a loaded shard: field, text, and how often it has the word there. The numbers are:
  // for each field 5 x how many texts have it there + the field; of each of these how many texts further it is, doubled,
  // and 1 more where the word stands there twice or more, with 2 less than that after it.
  function eachPosting(postings, visit) {
    for (let at = 0; at < postings.length; ) {
      const head = postings[at++], field = head % FIELDS;
      for (let left = (head - field) / FIELDS, id = 0; left; left--) {
        id += postings[at] >> 1;
        visit(field, id, postings[at++] & 1 ? postings[at++] + 2 : 1);
      }
    }
  }

  // Add the BM25+ scores of all texts that have a word of a loaded shard. marks: of the texts that have a word that is
  // meant, 1; found: how many words they have, 1 more for those that were not marked. Returns how many these are.
  function addScores(word, weight, scores, marks, found) {
    const { words, lines } = shards[shardOf(word)];
    const postings = numbers(lines[placeOf(word, words)].slice(word.length + 1));
    const having = new Uint32Array(FIELDS); // by field, how many texts have the word
    eachPosting(postings, (field) => having[field]++);
    const { k, b, d, fields } = ask.about.weights;
    const rarities = Object.values(fields).map((share, field) => weight * share * Math.log(1 + (told.count - having[field] + 0.5) / (having[field] + 0.5)));
    const slopes = told.usual.map((usual) => (k * b) / usual);
    let more = 0;
    eachPosting(postings, (field, id, times) => {
      const length = told.columns[COLUMNS[field]].charCodeAt(id) - ZERO;
      scores[id] += rarities[field] * (d + (times * (k + 1)) / (times + k * (1 - b) + slopes[field] * length));
      if (marks[id]) return;
      marks[id] = 1;
      found[id]++;
      more++;
    });
    return more;
  }

  // The section of a text; from: one that is not behind it.
  function sectionOf(id, from) {
    let number = from;
    while (first[number + 1] <= id) number++;
    return number;
  }

  // The type of a passage.
  function typeOf(id) {
    const type = told.columns[TYPE].charCodeAt(id) - ZERO;
    return type ? told.types[type - 1] : "";
  }

  // The texts of a section: the one about it (-1: there is none), and its passages.
  const aboutOf = (number) => (entries[number] & 1 ? first[number] : -1);
  const passagesOf = (number) => Array.from({ length: entries[number] >> 2 }, (_, at) => first[number] + (entries[number] & 1) + at);

  ask.index = {
    start, read, load, lastUpTo, known, near, addScores, sectionOf, typeOf, aboutOf, passagesOf,
    get count() { return told.count; },
    placeOf: (id, number) => id - first[number] - (entries[number] & 1), // among the passages; -1: about the section
    hasSummary: (number) => (entries[number] & 2) > 0,
  };
})();
