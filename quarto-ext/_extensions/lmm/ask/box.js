// The box: a dialog with a search, the contents and cards.
(() => {
  "use strict";
  const ask = window.lmmAsk;
  const { el, answer } = ask;
  const t = ask.t;
  const hasData = "page" in ask.options;
  const NAMES = hasData ? ["find", "contents", "cards"] : ["find"];
  const FORMAT = 11; // of the data
  const RENDER = 3600000; // milliseconds that a render may take, which first makes the index
  let type = ""; // of the passages that are looked for
  let isUp = false; // the server
  let greeted = Promise.resolve(); // resolves when it is known whether the server is up
  let told = {}; // the teacher's texts, which the server has

  // Parts

  const field = el("input", {
    type: "search", id: "lmm-ask-field", "aria-label": t("field"), placeholder: t("field"), autocomplete: "off",
    spellcheck: "false", enterkeyhint: "search", oninput: onInput,
  });
  const submit = el("button", { hidden: true }, t("ask"));
  const stop = el("button", { type: "button", hidden: true, onclick: answer.stop }, t("stop"));
  const forget = el("button", { type: "button", class: "lmm-ask-link", hidden: true, onclick: clear }, t("forget"));
  const recording = el("p", { class: "lmm-ask-quiet lmm-ask-recording", id: "lmm-ask-recording", hidden: true });
  const form = el("form", { role: "search", class: "lmm-ask-row", onsubmit: onSubmit }, field, submit, stop);
  const chips = el("div", { class: "lmm-ask-chips", role: "group", "aria-label": t("types") });
  const notices = el("div", { class: "lmm-ask-notices" });
  const hits = el("ol", { class: "lmm-ask-hits" });
  const greeting = el("p", { class: "lmm-ask-greeting", hidden: true });
  const live = el("p", { class: "lmm-ask-hidden", role: "status" });
  const panels = NAMES.map((name) => el("div", { role: "tabpanel", id: `lmm-ask-${name}`, "aria-labelledby": `lmm-ask-tab-${name}` }));
  const tabs = NAMES.map((name, at) => el("button", {
    type: "button", role: "tab", id: `lmm-ask-tab-${name}`, "aria-controls": `lmm-ask-${name}`, onclick: () => choose(at),
  }, t(name)));
  const dialog = el("dialog", { class: "lmm-ask", "aria-label": t("title"), lang: ask.wordsLanguage, onclose: onClose, onclick: onClick, onkeydown: onKey },
    el("div", { class: "lmm-ask-head" },
      el("div", { role: "tablist", "aria-label": t("title"), class: "lmm-ask-tabs" }, tabs),
      el("button", { type: "button", class: "lmm-ask-close", "aria-label": t("close"), onclick: () => close() }, "×")),
    notices, el("div", { class: "lmm-ask-body" }, panels), live);
  panels[0].append(form, recording, chips, hits, greeting, answer.log, forget);
  document.body.append(dialog);

  // Opening and closing

  let begun = null;
  let opener = null;

  function open() {
    if (dialog.open) return field.focus();
    opener = document.activeElement;
    dialog.showModal();
    document.documentElement.classList.add("lmm-ask-is-open");
    choose(0);
    field.select();
    begun ||= begin();
    if (answer.server) greet();
  }

  function close() {
    dialog.close();
    onClose(); // at once: its event comes later than the next key may
  }

  function onClose() {
    if (dialog.open) return; // opened anew meanwhile
    document.documentElement.classList.remove("lmm-ask-is-open");
    if (opener?.isConnected && opener !== document.body) opener.focus();
    else ask.button?.focus();
  }

  async function begin() {
    field.value = ask.keep("sessionStorage", "query") || "";
    answer.restore();
    forget.hidden = !answer.turns.length;
    if (hasData) await readData();
    dialog.dataset.ready = "yes";
    find();
  }

  async function readData() {
    try {
      const about = await ask.data();
      if (about.format !== FORMAT) throw new Error("format");
      ask.search.start(about);
      showChips(Object.keys(about.types));
      if (!about.sections.length) notice("data", t("empty"));
    } catch {
      notice("data", t("noData"));
    }
  }

  // The server

  async function greet() {
    const hello = Promise.all([answer.health(), answer.about()]);
    greeted = hello.then(([said]) => (isUp = said !== null));
    const [said, own] = await hello;
    tellRecording(own); // before anything can be asked
    told = own;
    if (told.title) dialog.setAttribute("aria-label", told.title);
    showGreeting();
    submit.hidden = !isUp;
    notice("server", isUp ? said.error || "" : t("down"));
    await begun; // the data may come later
    const indexed = new Date(said?.indexed || NaN);
    const isOlder = Date.parse(ask.about?.made) - indexed > RENDER;
    notice("indexed", isOlder ? t("indexOlder", indexed.toLocaleDateString(ask.wordsLanguage, { dateStyle: "long" })) : "");
    if (!hasData && said?.types) showChips(Array.isArray(said.types) ? said.types : Object.keys(said.types));
  }

  // What the teacher says before the first question.
  function showGreeting() {
    greeting.textContent = told.greeting || "";
    greeting.hidden = !told.greeting || answer.turns.length > 0;
  }

  function tellRecording({ record = "off", keep_days = 0, privacy = "" }) {
    const said = { questions: "recordQuestions", conversations: "recordConversations" }[record];
    const days = new Intl.NumberFormat(ask.wordsLanguage, { style: "unit", unit: "day", unitDisplay: "long" }).format(keep_days);
    recording.hidden = !said;
    recording.replaceChildren(...(said ? [t(said, days), " ", ...privacyLink(privacy)] : []));
    if (said) field.setAttribute("aria-describedby", recording.id);
    else field.removeAttribute("aria-describedby");
  }

  // To an address, or to a page of the site.
  function privacyLink(privacy) {
    const url = privacy && URL.canParse(privacy, new URL("..", ask.base)) ? new URL(privacy, new URL("..", ask.base)) : null;
    if (!url || !/^(https?|file):$/.test(url.protocol)) return [];
    return [el("a", { href: url.href, target: "_blank", rel: "noopener" }, t("privacy"))];
  }

  function serverIsDown() {
    isUp = false;
    submit.hidden = true;
    notice("server", t("down"));
  }

  // A notice by its name; no text takes it away.
  function notice(name, text) {
    notices.querySelector(`[data-name="${name}"]`)?.remove();
    if (text) notices.append(el("p", { class: "lmm-ask-notice", "data-name": name, role: "status" }, text));
  }

  let saying = 0;
  function say(text) {
    clearTimeout(saying);
    saying = setTimeout(() => (live.textContent = text), 300); // not at each key
  }

  // Searching

  async function onSubmit(event) {
    event.preventDefault();
    const question = field.value.trim();
    await greeted;
    notice("question", question || !isUp ? "" : told.empty || "");
    if (!question) return;
    if (isUp) askServer(question, type);
    else searching.then(() => hits.querySelector("a")?.click());
  }

  function askServer(question, type) {
    const asked = ask.about ? ask.search.keyword(question).type : "";
    asking(true);
    answer.send(question, asked || (type === "notes" ? "" : type));
    field.value = "";
    field.placeholder = t("followUp");
    shown++; // what is looked for is not shown any more
    hits.removeAttribute("aria-busy");
    hits.replaceChildren();
  }

  function asking(is) {
    stop.hidden = !is;
    forget.hidden = !answer.turns.length;
    showGreeting();
  }

  function clear() {
    answer.forget();
    asking(false);
    field.placeholder = t("field");
    field.focus();
  }

  function onInput() {
    ask.keep("sessionStorage", "query", field.value.slice(0, 20000));
    find();
  }

  let searching = Promise.resolve(); // the last search
  function find() {
    if (ask.about) searching = show(field.value);
  }

  let shown = 0;
  async function show(query) {
    const own = ++shown;
    hits.setAttribute("aria-busy", "true");
    const { terms, hits: sections } = await ask.search.search(query, type);
    if (own !== shown) return; // something else is looked for meanwhile
    hits.replaceChildren(...sections.map(hit));
    showCount(terms.length ? sections.length : null);
    hits.removeAttribute("aria-busy");
  }

  // How many there are, for those who do not see it; none is shown; null: nothing was looked for.
  function showCount(count) {
    if (count !== null) say(count ? t("found", count) : t("nothing"));
    hits.classList.toggle("lmm-ask-nothing", count === 0);
    hits.dataset.nothing = t("nothing");
  }

  function hit({ section, passage, start, terms, question }) {
    const above = section.titles.slice(0, -1);
    const text = passage ? passage.text : section.summary;
    return el("li", {}, el("a", { href: ask.address(section.page, section.anchor) },
      above.length ? el("span", { class: "lmm-ask-quiet" }, ask.between(above, " › "), " › ") : null,
      el("strong", {}, ask.shown(section.title || section.titles.at(-1) || section.page)),
      passage?.type ? el("span", { class: "lmm-ask-type" }, ask.typeName(passage.type)) : null,
      question ? el("span", { class: "lmm-ask-question" }, `${t("answers")} `, ask.shown(question)) : null,
      el("span", { class: "lmm-ask-snippet" }, ask.search.snippet(text, terms, start).map(piece))));
  }

  function piece([text, is, formula]) {
    const shown = formula ? ask.formula(formula.tex, false, text) : text;
    return is ? el("mark", {}, shown) : shown;
  }

  function showChips(types) {
    const names = types.length ? ["", "notes", ...types] : [];
    chips.replaceChildren(...names.map((name) => el("button", {
      type: "button", "data-type": name, "aria-pressed": String(name === type), onclick: () => filter(name),
    }, name === "" ? t("all") : name === "notes" ? t("notes") : ask.typeName(name))));
  }

  function filter(name) {
    type = name;
    for (const chip of chips.children) chip.setAttribute("aria-pressed", chip.dataset.type === type);
    find();
  }

  // Tabs and keys

  const made = {};
  async function fill(at) {
    if (at === 0 || !hasData) return;
    panels[at].setAttribute("aria-busy", "true");
    await begun;
    const isOld = at === 2 || !made[at]; // cards know what was practised meanwhile
    if (ask.about && isOld) {
      made[at] = true;
      panels[at].replaceChildren(...(at === 1 ? ask.study.contents() : ask.study.cards()));
    }
    panels[at].removeAttribute("aria-busy");
  }

  function choose(at) {
    NAMES.forEach((name, number) => {
      tabs[number].setAttribute("aria-selected", number === at);
      tabs[number].tabIndex = number === at ? 0 : -1;
      panels[number].hidden = number !== at;
    });
    if (at === 0) return field.focus();
    fill(at);
    tabs[at].focus();
  }

  function onKey(event) {
    if (event.key === "Escape") {
      event.preventDefault(); // which would empty the field first
      return close();
    }
    const at = tabs.indexOf(document.activeElement);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (at >= 0 && step) return choose((at + step + tabs.length) % tabs.length);
    if (at < 0 && !panels[0].hidden && ["ArrowDown", "ArrowUp"].includes(event.key)) move(event);
  }

  // From the field to the hits and back.
  async function move(event) {
    const step = event.key === "ArrowDown" ? 1 : -1;
    const from = document.activeElement;
    if (from !== field && from.closest("ol") !== hits) return;
    if (from !== field || step > 0) event.preventDefault();
    await searching;
    const stops = [field, ...hits.querySelectorAll("a")];
    stops[stops.indexOf(from) + step]?.focus();
  }

  // A click outside closes the box, and so does following a link on the page itself.
  function onClick(event) {
    if (event.target === dialog) return close();
    const link = event.target.closest("a[href]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const target = new URL(link.href);
    if (target.href.split("#")[0] !== location.href.split("#")[0]) return;
    opener = document.getElementById(decodeURIComponent(target.hash.slice(1)));
    if (opener && !opener.hasAttribute("tabindex")) opener.tabIndex = -1;
    close();
  }

  ask.box = { open, say, asking, greet, serverIsDown, ask: askServer };
})();
