// The server's own page: the field and the example questions open the box with a question.
(() => {
  "use strict";
  async function ask(question) {
    await window.lmmAsk.open();
    const field = document.getElementById("lmm-ask-field");
    if (!field || !question.trim()) return;
    field.value = question;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.form.requestSubmit();
  }
  const form = document.getElementById("home-form");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask(form.elements.question.value);
  });
  for (const button of document.querySelectorAll(".lmm-example"))
    button.addEventListener("click", () => ask(button.textContent));
})();
