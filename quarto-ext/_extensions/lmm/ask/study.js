// What is there to be learnt: the contents with summaries and a plan, and cards to practise.
(() => {
  "use strict";
  const ask = window.lmmAsk;
  const { el } = ask;
  const t = (...given) => ask.t(...given);

  // Contents

  const link = (section) => el("a", { href: ask.address(section.page, section.anchor) }, ask.shown(section.title || section.page));

  const named = () => ask.search.sections.filter((section) => section.title);

  function contents() {
    const output = el("div");
    const sittings = el("input", { type: "number", min: "1", max: "60", value: "1", id: "lmm-ask-sittings" });
    const show = () => output.replaceChildren(...plan(named(), clamp(sittings.valueAsNumber)));
    sittings.addEventListener("input", show);
    show();
    const label = el("label", { for: "lmm-ask-sittings" }, t("sittings"));
    return [el("p", { class: "lmm-ask-row" }, label, sittings), output];
  }

  const clamp = (number) => Math.min(Math.max(Math.round(number) || 1, 1), 60);

  // The sections in their order, so many a time that each takes about as long.
  function plan(sections, count) {
    if (count === 1) return [entries(sections, total)];
    const share = sections.reduce((sum, { minutes }) => sum + minutes, 0) / count;
    const groups = Array.from({ length: count }, () => []);
    let before = 0;
    for (const section of sections) {
      const middle = before + section.minutes / 2;
      groups[Math.min(Math.floor(share ? middle / share : 0), count - 1)].push(section);
      before += section.minutes;
    }
    return groups.filter((group) => group.length).flatMap((group, at) => {
      const minutes = group.reduce((sum, section) => sum + section.minutes, 0);
      return [el("h3", {}, `${t("sitting", at + 1)} · ${time(minutes)}`), entries(group, ({ minutes }) => minutes)];
    });
  }

  // Minutes of a section with those under it.
  function total(section) {
    const all = ask.search.sections;
    let minutes = section.minutes;
    for (let at = all.indexOf(section) + 1; all[at]?.number === section.number && all[at].depth > section.depth; at++) minutes += all[at].minutes;
    return minutes;
  }

  const time = (minutes) => t("minutes", Math.max(Math.round(minutes), 1));

  function entries(sections, length) {
    return el("ul", { class: "lmm-ask-contents" }, sections.map((section) => {
      const types = new Map();
      for (const { type } of section.passages) if (type) types.set(type, (types.get(type) || 0) + 1);
      return el("li", { class: `lmm-ask-depth-${Math.min(section.depth, 4)}` },
        link(section), " ", length(section) ? el("small", {}, time(length(section))) : null,
        [...types].map(([type, count]) => el("span", { class: "lmm-ask-type" }, count > 1 ? `${count} × ${ask.typeName(type)}` : ask.typeName(type))),
        section.summary ? el("p", {}, ask.shown(section.summary)) : null);
    }));
  }

  // Cards

  // {section, front, back: texts}: a card for each annotated question, with the passages that it is annotated for, and for
  // each definition and exercise that the data have.
  function makeCards() {
    return ask.search.sections.flatMap((section, at) => {
      const back = [section.summary, ...answers(at)].filter(Boolean);
      const asked = back.length ? section.questions.map((front) => ({ section, front, back })) : [];
      const typed = section.passages.filter(({ type }) => type === "definition" || type === "exercise");
      return [...asked, ...typed.map((passage) => typedCard(section, passage))];
    });
  }

  function answers(at) {
    const section = ask.search.sections[at];
    const notes = (one) => one.passages.filter(({ type }) => !type).map(({ text }) => text);
    const own = notes(section);
    for (let next = at + 1; !own.length && ask.search.sections[next]?.depth > section.depth; next++) {
      const below = ask.search.sections[next];
      if (below.number === section.number) own.push(...notes(below));
    }
    return own;
  }

  function typedCard(section, { type, text, term }) {
    if (type === "exercise") return { section, front: text, back: section.titles, sign: " › " };
    return { section, front: term || section.title, back: [text] };
  }

  const keyOf = (card) => `${card.section.page} ${card.front}`.slice(0, 300);
  const known = () => new Set(ask.keep("localStorage", "known") || []);
  function setKnown(card, is) {
    const keys = known(); // read anew: another tab may practise as well
    keys[is ? "add" : "delete"](keyOf(card));
    ask.keep("localStorage", "known", [...keys]);
  }

  function cards() {
    const all = makeCards();
    if (!all.length) return [el("p", {}, t("noCards"))];
    const chapters = [...new Map(all.map(({ section }) => [section.number, section.titles[0] || section.page]))];
    const select = el("select", { id: "lmm-ask-chapter" }, el("option", { value: "" }, t("all")),
      chapters.map(([number, title]) => el("option", { value: number }, title)));
    const place = el("div", { class: "lmm-ask-card" });
    const begin = () => practise(place, all.filter(({ section }) => !select.value || section.number === Number(select.value)));
    select.addEventListener("change", begin);
    begin();
    return [el("p", { class: "lmm-ask-row" }, el("label", { for: "lmm-ask-chapter" }, t("chapter")), select), place];
  }

  // Show the cards that are not known yet, one after the other, until all are.
  function practise(place, cards) {
    const done = known();
    const queue = cards.filter((card) => !done.has(keyOf(card)));
    const next = (focus) => {
      const progress = el("p", { class: "lmm-ask-quiet" }, t("known", cards.length - queue.length, cards.length));
      const parts = queue.length ? front(queue[0], answer) : finished();
      place.replaceChildren(progress, ...parts);
      if (focus) place.querySelector("button")?.focus({ preventScroll: true });
    };
    const answer = (isKnown) => {
      const card = queue.shift();
      setKnown(card, isKnown);
      if (!isKnown) queue.push(card);
      next(true);
    };
    const finished = () => [el("p", {}, t("allKnown")), el("button", { type: "button", onclick: again }, t("again"))];
    const again = () => {
      for (const card of cards) setKnown(card, false);
      queue.push(...cards);
      next(true);
    };
    next(false);
  }

  function front(card, answer) {
    const back = el("div", { class: "lmm-ask-back", role: "status" });
    const buttons = el("p", { class: "lmm-ask-row" });
    const button = (name, onclick) => el("button", { type: "button", onclick }, t(name));
    buttons.append(button("showAnswer", () => {
      back.replaceChildren(el("p", { class: "lmm-ask-text" }, ask.between(card.back, card.sign || "\n\n", true)), el("p", {}, link(card.section)));
      buttons.replaceChildren(button("knew", () => answer(true)), button("notYet", () => answer(false)));
      buttons.firstChild.focus({ preventScroll: true });
    }));
    return [el("p", { class: "lmm-ask-front lmm-ask-text" }, ask.shown(card.front, true)), back, buttons];
  }

  ask.study = { contents, cards };
})();
