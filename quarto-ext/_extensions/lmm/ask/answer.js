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
      const response = await fetch(address("health"), { signal: AbortSignal.timeout(HELLO), headers: headers() });
      const said = await response.json();
      if (response.ok) return said;
      return said.error ? { error: response.status === 503 ? String(said.error) : "" } : null;
    } catch {
      return null;
    }
  }

  // What the server finds, and its contents: for pages that have no data of their own.
  async function get(name, values) {
    const url = address(name);
    for (const [key, value] of Object.entries(values || {})) if (value) url.searchParams.set(key, value);
    const response = await fetch(url, { headers: headers() });
    if (!response.ok) throw await refusal(response);
    return response.json();
  }

  class Refused extends Error {}

  async function refusal(response) {
    const said = await response.json().catch(() => ({}));
    const wait = response.status === 429 && response.headers.get("Retry-After");
    const made = new Refused([said.error || t("refused", response.status), wait ? t("wait", wait) : ""].filter(Boolean).join(" "));
    made.token = response.status === 401;
    return made;
  }

  // Ask, and show what comes as it comes.
  async function send(question, kind) {
    stop();
    const turn = { question, kind, answer: "", sources: [], cited: [], notes: [], nearest: [], kinds: [], answered: true, state: "open", problem: "" };
    const history = turns.filter(({ answer }) => answer).slice(-HISTORY).map((one) => ({ question: one.question, answer: one.answer }));
    turns.push(turn);
    const shown = show(turn);
    log.append(shown);
    shown.scrollIntoView({ block: "start" }); // its answer comes below it
    const own = (running = new AbortController());
    try {
      await stream({ question, history, ...(kind ? { type: kind } : {}) }, turn, own);
    } catch (error) {
      fail(turn, error, own.signal);
    }
    if (running === own) running = null;
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

  const pick = ({ answered = true, cited = [], notes = [], nearest = [], kinds = [], by = "", off_topic = "" }) => ({ answered, cited, notes, nearest, kinds, by, off_topic });

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
    ask.keep("sessionStorage", "turns", turns.slice(-20));
    ask.box.say(turn.state === "done" ? `${t("answered")} ${turn.answer.slice(0, 600)}` : turn.problem || t("brokeOff"));
    ask.box.asking(running !== null); // another question may have ended this one
  }

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
    return el("section", { class: "lmm-ask-turn" }, el("h3", {}, turn.question.length > 400 ? `${turn.question.slice(0, 400)}…` : turn.question), body);
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
    body.replaceChildren(...ask.markdown(turn.answer, (number) => citation(turn, number), turn.state === "open"), ...state(turn), ...sources(turn));
  }

  function state(turn) {
    const note = (text) => el("p", { class: "lmm-ask-notice" }, text);
    if (turn.state === "open") return turn.answer ? [] : [el("p", { class: "lmm-ask-quiet" }, t("thinking"))];
    if (turn.state === "done") {
      const withoutModel = turn.by?.startsWith("extractive/") ? [t(turn.answered ? "quoted" : "lookedFor")] : [];
      const said = [...(turn.answered || turn.answer.trim() ? [] : [turn.off_topic || t("noAnswer")]), ...withoutModel, ...turn.notes];
      return said.map((text) => el("p", { class: "lmm-ask-quiet" }, String(text)));
    }
    const again = () => {
      shownAs.get(turn).closest("section").remove();
      turns.splice(turns.indexOf(turn), 1);
      ask.box.ask(turn.question, turn.kind);
    };
    const said = turn.state === "stopped" ? t("stopped") : turn.problem || t("brokeOff");
    return [note(said), turn.token ? tokenForm(again) : el("button", { type: "button", onclick: again }, t("askAgain"))];
  }

  function tokenForm(again) {
    const field = el("input", { type: "password", autocomplete: "off", "aria-label": t("token"), placeholder: t("token") });
    const submit = (event) => {
      event.preventDefault();
      ask.keep("sessionStorage", "token", field.value.trim());
      ask.box.enter();
      again();
    };
    return el("form", { class: "lmm-ask-row", onsubmit: submit }, field, el("button", {}, t("askAgain")));
  }

  function sources(turn) {
    const cited = turn.sources.filter(({ number }) => turn.state !== "done" || turn.cited.includes(number));
    const shown = cited.map((one) => el("li", { value: one.number }, source(one)));
    const nearest = turn.nearest.map((one) => el("li", {}, source(one)));
    return [
      ...(shown.length && turn.answer ? [el("h4", {}, t("sources")), el("ol", { class: "lmm-ask-sources" }, shown)] : []),
      ...(nearest.length ? [el("h4", {}, t("nearest")), el("ul", { class: "lmm-ask-sources" }, nearest)] : []),
      ...(turn.state === "done" && turn.kinds?.length ? [kinds(turn)] : []),
    ];
  }

  // The same question to each type of material that there is.
  function kinds(turn) {
    const names = turn.kinds.filter((name) => name !== turn.kind).map(String);
    return el("div", { class: "lmm-ask-chips", role: "group", "aria-label": t("kinds") },
      el("span", { class: "lmm-ask-quiet" }, `${t("kinds")}:`),
      names.map((name) => el("button", { type: "button", onclick: () => ask.box.ask(turn.question, name) }, name)));
  }

  function source(one) {
    const name = (one.titles || []).join(" › ") || one.place;
    const href = addressOf(one);
    return href ? el("a", { href }, name) : el("span", {}, `${name} (${one.place})`);
  }

  // Where a source is in this site: its file's page, with the identifier if the page has it.
  function addressOf({ place = "", anchor = "" }) {
    const file = place.replace(/:\d+(?:-\d+)?$/, "");
    const page = ask.about?.documents.find(([, source]) => source === file)?.[0];
    if (!page) return null;
    const known = ask.search.sections.some((section) => section.page === page && section.anchor === anchor);
    return ask.address(page, known ? anchor : "");
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
  const restore = () => log.replaceChildren(...turns.map(show));

  ask.answer = { server, headers, addressOf, health, get, send, stop, forget, log, restore, turns };
})();
