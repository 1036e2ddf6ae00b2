// What a student thinks of an answer that is recorded: thumbs, and a comment where conversations are.
(() => {
  "use strict";
  const ask = window.lmmAsk;
  const { el } = ask;
  const t = (...given) => ask.t(...given);
  const SVG = "http://www.w3.org/2000/svg";
  const THUMB = "M2 10h4v11H2zM8 21h8.5a2 2 0 0 0 2-1.6l1.4-7A2 2 0 0 0 18 10h-5l1-5a2 2 0 0 0-3.7-1.4L8 9.5z";
  const LONGEST = 2000; // characters of a comment
  const sending = new WeakMap(); // one judgement of a turn after the other

  // post(judgement) sends it, and rejects where it is not recorded; keep() keeps the turn in the browser.
  ask.judging = (turn, withComment, post, keep) => {
    const told = el("span", { class: "lmm-ask-quiet", role: "status" });
    const thumbs = [[1, "helpful"], [-1, "notHelpful"]].map(([thumb, name]) =>
      el("button", { type: "button", "data-thumb": thumb, "aria-label": t(name), title: t(name), onclick: () => press(thumb) }, picture(thumb)));
    const field = el("textarea", {
      rows: 2, maxlength: LONGEST, "aria-label": t("commentField"), placeholder: t("commentField"),
      oninput: () => (turn.comment = field.value), onkeydown: onKey,
    });
    field.value = turn.comment || "";
    const form = el("form", { class: "lmm-ask-comment", onsubmit: onSubmit }, field, el("button", {}, t("send")));
    const more = el("button", { type: "button", onclick: () => openForm(form.hidden, true) }, t("comment"));
    const made = el("div", { class: "lmm-ask-judging" },
      el("div", { class: "lmm-ask-row", role: "group", "aria-label": t("judge") }, thumbs, withComment ? more : null, told),
      withComment ? form : null);
    show();
    openForm(Boolean(turn.comment), false);
    return made;

    function show() {
      for (const one of thumbs) one.setAttribute("aria-pressed", String(Number(one.dataset.thumb) === turn.thumb));
    }

    function openForm(is, enter) {
      form.hidden = !is;
      more.setAttribute("aria-expanded", String(is));
      if (is && enter) field.focus();
    }

    // Pressed again, a thumb is taken back.
    function press(thumb) {
      turn.thumb = turn.thumb === thumb ? 0 : thumb;
      show();
      openForm(true, false);
      send();
    }

    function onKey(event) {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onSubmit(event);
    }

    function onSubmit(event) {
      event.preventDefault();
      send();
    }

    function send() {
      const judgement = { id: turn.id, thumb: turn.thumb || 0, ...(withComment ? { comment: turn.comment || "" } : {}) };
      const before = sending.get(turn) || Promise.resolve();
      sending.set(turn, before.then(() => post(judgement)).then(
        () => (keep(), (told.textContent = t("recorded"))),
        (error) => (told.textContent = [t("notRecorded"), error.told].filter(Boolean).join(" "))));
      told.textContent = ""; // so that the same words are said again
    }
  };

  function picture(thumb) {
    const svg = document.createElementNS(SVG, "svg");
    const path = document.createElementNS(SVG, "path");
    for (const [name, value] of Object.entries({ viewBox: "0 0 22 24", width: 18, height: 18, "aria-hidden": "true" })) svg.setAttribute(name, value);
    path.setAttribute("d", THUMB);
    if (thumb < 0) path.setAttribute("transform", "rotate(180 11 12)");
    svg.append(path);
    return svg;
  }
})();
