// A page of the notes that needs the access token: it is fetched with the token that the ask box
// keeps, or asks for, and put in place. A link cannot send a token; a page that held it would give it away.
(async () => {
  "use strict";
  const ask = window.lmmAsk;
  const main = document.querySelector("main");
  await ask.ready();
  const { el, t, answer } = ask;
  const get = (url) => fetch(url, { headers: answer.headers() });

  function say(...parts) {
    main.replaceChildren(el("div", { class: "locked" }, parts));
  }

  function askForToken(wasGiven) {
    const field = el("input", { type: "password", autocomplete: "off", "aria-label": t("token"), placeholder: t("token"), required: true });
    const enter = (event) => {
      event.preventDefault();
      ask.keep("sessionStorage", "token", field.value.trim());
      field.disabled = true; // until the server has said something
      show(true);
    };
    const wrong = wasGiven ? el("p", { role: "alert" }, t("tokenWrong")) : [];
    say(el("h1", {}, document.title), el("p", {}, t("tokenNeeded")), wrong, el("form", { onsubmit: enter }, field, el("button", {}, t("showText"))));
    field.focus();
  }

  // wasGiven: the reader has just typed a token.
  async function show(wasGiven) {
    let response;
    try {
      response = await get(location.href.split("#")[0]);
    } catch {
      return say(el("p", { role: "alert" }, t("down")));
    }
    if (response.status === 401) return askForToken(wasGiven);
    if (!response.ok && !response.headers.get("Content-Type")?.startsWith("text/html")) {
      const said = await response.json().catch(() => ({}));
      return say(el("p", { role: "alert" }, said.error || t("refused", response.status)));
    }
    put(new DOMParser().parseFromString(await response.text(), "text/html"));
  }

  // Scripts of a parsed document do not run, and the server has taken them out of the notes before.
  function put(page) {
    document.title = page.title;
    document.documentElement.lang = page.documentElement.lang;
    const images = [...page.querySelectorAll("main img[src]")].map((image) => [image, image.getAttribute("src")]);
    for (const [image] of images) image.removeAttribute("src");
    for (const part of ["header.course", "nav.pages", "main"]) {
      document.querySelector(part).replaceWith(document.adoptNode(page.querySelector(part)));
    }
    for (const [image, address] of images) fill(image, address);
    for (const link of document.querySelectorAll("main a[download]")) link.addEventListener("click", save);
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target) target.scrollIntoView();
  }

  async function fill(image, address) {
    const url = new URL(address, location.href);
    if (url.origin !== location.origin) return;
    const response = await get(url).catch(() => null);
    if (response?.ok) image.src = URL.createObjectURL(await response.blob());
  }

  async function save(event) {
    event.preventDefault();
    const link = event.currentTarget;
    const response = await get(link.href).catch(() => null);
    if (!response?.ok) return;
    const name = decodeURIComponent(new URL(link.href).pathname.split("/").pop());
    const made = el("a", { href: URL.createObjectURL(await response.blob()), download: name });
    made.click();
  }

  show();
})();
