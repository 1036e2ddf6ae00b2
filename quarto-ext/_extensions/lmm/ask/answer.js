// Answers of `lmm serve`: streamed, with their sources, and questions that follow them up.
(() => {
  "use strict";
  const ask = window.lmmAsk;
  const { el } = ask;
  const t = (...given) => ask.t(...given);
  const HISTORY = 6; // turns that go with a question
  const QUIET = 90000; // milliseconds without a word, after which an answer has broken off
  const HELLO = 4000; // milliseconds for the server to say that it is there
  const server = ask.options.server ? new URL(ask.options.server.replace(/\/*$/, "/"), document.baseURI) : null;

  const turns = (server && ask.keep("sessionStorage", "turns")) || []; // {question, answer, sources, …, state}
  let running = null;
  let own = {}; // what the server says of itself
  // Random, and forgotten with the page: which questions belong together is all that it says.
  const conversation = [...crypto.getRandomValues(new Uint8Array(16))].map((one) => one.toString(16).padStart(2, "0")).join("");
  const log = el("div", { class: "lmm-ask-log" });

  const address = (name) => new URL(name, server);
  const headers = (more = {}) => {
    const token = ask.keep("sessionStorage", "token");
    if (!token) return more;
    const bytes = String.fromCharCode(...new TextEncoder().encode(token)); // a header holds no other signs
    return { ...more, Authorization: `Bearer ${bytes}` };
  };

  // What the server says of itself, `error` where it has nothing to say; null where it cannot
  // be reached: a proxy may answer for it, but not so.
  async function health() {
    try {
      const hello = fetch(address("health"), { signal: AbortSignal.timeout(HELLO), headers: headers() });
      const [response] = await Promise.all([hello, ask.answering()]);
      const said = await response.json();
      if (response.ok) return said;
      return said.error ? { error: response.status === 503 ? String(said.error) : "" } : null;
    } catch {
      return null;
    }
  }

  // Its texts, and what it records; nothing where it cannot be reached, and so cannot be asked either.
  async function about() {
    try {
      const response = await fetch(address("about"), { signal: AbortSignal.timeout(HELLO) });
      if (response.ok) own = await response.json();
    } catch {}
    for (const turn of turns) if (turn.state === "done" && shownAs.has(turn)) drawNow(turn); // those of the page before
    return own;
  }

  class Refused extends Error {}

  async function refusal(response) {
    const said = await response.json().catch(() => ({}));
    const wait = response.status === 429 && response.headers.get("Retry-After");
    const text = [said.error || t("refused", response.status), wait ? t("wait", wait) : ""].filter(Boolean).join(" ");
    return Object.assign(new Refused(text), { token: response.status === 401 });
  }

  // Ask, and show what comes as it comes.
  async function send(question, type) {
    stop();
    const turn = { question, type, answer: "", sources: [], cited: [], notes: [], nearest: [], types: [], answered: true, state: "open", problem: "" };
    const history = turns.filter(({ answer }) => answer).slice(-HISTORY).map((one) => ({ question: one.question, answer: one.answer }));
    turns.push(turn);
    const shown = show(turn);
    log.append(shown);
    shown.scrollIntoView({ block: "start" }); // its answer comes below it
    const control = (running = new AbortController());
    try {
      const together = own.record === "conversations" ? { conversation } : {};
      await stream({ question, history, ...together, ...(type ? { type } : {}) }, turn, control);
    } catch (error) {
      fail(turn, error, control.signal);
    }
    if (running === control) running = null;
    finish(turn);
  }

  async function stream(body, turn, control) {
    let timer = setTimeout(() => control.abort(new Refused("")), QUIET);
    try {
      const response = await fetch(address("ask"), {
        method: "POST", body: JSON.stringify(body), signal: control.signal,
        headers: headers({ "Content-Type": "application/json", Accept: "text/event-stream" }),
      });
      if (!response.ok) throw await refusal(response);
      for await (const [name, data] of events(response.body)) {
        clearTimeout(timer);
        timer = setTimeout(() => control.abort(new Refused("")), QUIET);
        take(turn, name, data);
      }
      if (turn.state === "open") turn.state = "broken";
    } finally {
      clearTimeout(timer);
    }
  }

  // Server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html
  async function* events(body) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (rest + value).replace(/\r\n?/g, "\n").split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const fields = block.split("\n").map((line) => /^(\w+): ?(.*)$/.exec(line)).filter(Boolean);
        const of = (key) => fields.filter(([, name]) => name === key).map(([, , value]) => value).join("\n");
        if (of("data")) yield [of("event") || "message", JSON.parse(of("data"))];
      }
    }
  }

  function take(turn, name, data) {
    if (name === "sources") turn.sources = data.sources || [];
    else if (name === "part") turn.answer += data.text || "";
    else if (name === "done") Object.assign(turn, { ...pick(data), state: "done" });
    else if (name === "error") Object.assign(turn, { state: "broken", problem: String(data.error || "") });
    draw(turn);
  }

  const pick = ({ answered = true, cited = [], notes = [], nearest = [], types = [], by = "", id = "" }) => ({ answered, cited, notes, nearest, types, by, id });

  function fail(turn, error, signal) {
    turn.state = signal.aborted && !(signal.reason instanceof Refused) ? "stopped" : "broken";
    if (error instanceof Refused) Object.assign(turn, { problem: error.message, token: error.token });
    else if (turn.state === "broken" && !turn.answer) {
      turn.problem = t("down");
      ask.box.serverIsDown();
    }
  }

  function finish(turn) {
    draw(turn);
    keep();
    ask.box.say(turn.state === "done" ? `${t("answered")} ${turn.answer.slice(0, 600)}` : turn.problem || t("brokeOff"));
    ask.box.asking(running !== null); // another question may have ended this one
  }

  const keep = () => ask.keep("sessionStorage", "turns", turns.slice(-20));

  const stop = () => running?.abort();

  function forget() {
    stop();
    turns.length = 0;
    log.replaceChildren();
    ask.keep("sessionStorage", "turns", []);
  }

  // Showing

  const shownAs = new WeakMap();
  const drawing = new Set();

  function show(turn) {
    const body = el("div", { class: "lmm-ask-answer" });
    shownAs.set(turn, body);
    drawNow(turn);
    return el("section", { class: "lmm-ask-turn" }, el("h3", {}, ask.written(turn.question, 400)), body);
  }

  // Once a frame, however fast the words come.
  function draw(turn) {
    if (turn.state !== "open") return drawNow(turn);
    if (drawing.has(turn)) return;
    drawing.add(turn);
    requestAnimationFrame(() => drawing.delete(turn) && drawNow(turn));
  }

  function drawNow(turn) {
    drawing.delete(turn);
    const body = shownAs.get(turn);
    body.setAttribute("aria-busy", turn.state === "open");
    const lead = isBestMatches(turn) && turn.answered ? [el("p", { class: "lmm-ask-quiet" }, t("quoted"))] : [];
    body.replaceChildren(...lead, ...ask.markdown(turn.answer, (number) => citation(turn, number)), ...state(turn), ...sources(turn), ...judging(turn));
  }

  const judging = (turn) => (turn.state === "done" && turn.id && ["questions", "conversations"].includes(own.record) ? [ask.judging(turn, own.record === "conversations", judge, keep)] : []);

  // Rejects with what the server has told, where it is not recorded.
  async function judge(judgement) {
    const options = { method: "POST", body: JSON.stringify(judgement), headers: headers({ "Content-Type": "application/json" }) };
    const response = await fetch(address("judge"), options);
    if (!response.ok) throw Object.assign(new Error("refused"), { told: (await refusal(response)).message });
  }

  // No model answered: sections are shown with their titles.
  const isBestMatches = (turn) => turn.state === "done" && turn.by?.startsWith("extractive/");

  function state(turn) {
    const note = (text) => el("p", { class: "lmm-ask-notice" }, text);
    if (turn.state === "open") return turn.answer ? [] : [el("p", { class: "lmm-ask-quiet" }, t("thinking"))];
    if (turn.state === "done") {
      const nothing = t(isBestMatches(turn) ? "lookedFor" : "noAnswer");
      const said = [...(turn.answered || turn.answer.trim() ? [] : [nothing]), ...turn.notes];
      return said.map((text) => el("p", { class: "lmm-ask-quiet" }, String(text)));
    }
    const again = () => {
      shownAs.get(turn).closest("section").remove();
      turns.splice(turns.indexOf(turn), 1);
      ask.box.ask(turn.question, turn.type);
    };
    const said = turn.state === "stopped" ? t("stopped") : turn.problem || t("brokeOff");
    return [note(said), turn.token ? tokenForm(again) : el("button", { type: "button", onclick: again }, t("askAgain"))];
  }

  function tokenForm(again) {
    const field = el("input", { type: "password", autocomplete: "off", "aria-label": t("token"), placeholder: t("token") });
    const submit = (event) => {
      event.preventDefault();
      ask.keep("sessionStorage", "token", field.value.trim());
      ask.box.greet(); // with this token
      again();
    };
    return el("form", { class: "lmm-ask-row", onsubmit: submit }, field, el("button", {}, t("askAgain")));
  }

  function sources(turn) {
    const cited = turn.sources.filter(({ number }) => turn.state !== "done" || turn.cited.includes(number));
    const shown = cited.map((one) => el("li", { value: one.number }, source(one)));
    const nearest = turn.nearest.map((one) => el("li", {}, source(one)));
    return [
      ...(shown.length && turn.answer && !isBestMatches(turn) ? [el("h4", {}, t("sources")), el("ol", { class: "lmm-ask-sources" }, shown)] : []),
      ...(nearest.length ? [el("h4", {}, t("nearest")), el("ul", { class: "lmm-ask-sources" }, nearest)] : []),
      ...(turn.state === "done" && turn.types?.length ? [types(turn)] : []),
    ];
  }

  // The same question to each type of material that there is.
  function types(turn) {
    const names = turn.types.filter((name) => name !== turn.type).map(String);
    return el("div", { class: "lmm-ask-chips", role: "group", "aria-label": t("types") },
      el("span", { class: "lmm-ask-quiet" }, `${t("types")}:`),
      names.map((name) => el("button", { type: "button", onclick: () => ask.box.ask(turn.question, name) }, ask.typeName(name))));
  }

  function source(one) {
    const name = (one.titles || []).join(" › ") || one.place;
    const href = addressOf(one);
    return href ? el("a", { href }, ask.written(name)) : el("span", {}, ask.written(name), ` (${one.place})`);
  }

  // Where a source is in this site. A browser shows the page from its beginning where it has no such identifier.
  function addressOf({ place = "", anchor = "" }) {
    const file = place.replace(/:\d+(?:-\d+)?$/, "");
    const page = ask.about?.documents.find(([, source]) => source === file)?.[0];
    return page ? ask.address(page, anchor) : null;
  }

  function citation(turn, number) {
    const one = turn.sources.find((source) => source.number === number);
    const href = one && addressOf(one);
    const title = one && (one.titles || []).join(" › ");
    return href ? el("a", { href, title, class: "lmm-ask-cite" }, `[${number}]`) : null;
  }

  for (const turn of turns) {
    if (turn.state === "open") turn.state = "broken"; // the page was left meanwhile
  }
  const restore = () => turns.length && ask.answering().then(() => log.replaceChildren(...turns.map(show)), () => null);

  ask.answer = { server, headers, addressOf, health, about, send, stop, forget, log, restore, turns };
})();
