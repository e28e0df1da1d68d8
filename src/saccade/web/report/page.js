"use strict";
// Sorts and filters the list of all sentences. Everything else on the page is there without it.
(() => {
  const chinese = document.getElementById("zh");
  const showLanguage = () => { document.documentElement.lang = chinese.checked ? "zh-CN" : "en"; };
  if ((navigator.language || "").toLowerCase().startsWith("zh")) chinese.checked = true;
  for (const name of ["en", "zh"]) document.getElementById(name).addEventListener("change", showLanguage);
  showLanguage();

  const tools = document.querySelector(".tools");
  const list = document.querySelector(".cards.all");
  if (!tools || !list) return;
  tools.hidden = false;
  const cards = Array.from(list.children, (element) => ({
    element,
    row: Number(element.dataset.row),
    chrf: element.dataset.chrf.split(" ").map(Number),
    odd: element.dataset.odd === "yes",
    text: null, // read when it is first searched
  }));
  const find = document.getElementById("find");
  let order = "row", show = "any";

  const difference = (card) => Math.max(...card.chrf) - Math.min(...card.chrf);
  const keys = {
    row: (card) => card.row,
    difference: (card) => -difference(card),
  };

  function sort() {
    const key = keys[order] || ((card) => card.chrf[Number(order)]);
    cards.sort((a, b) => key(a) - key(b) || a.row - b.row);
    list.append(...cards.map((card) => card.element));
  }

  function filter() {
    const wanted = find.value.trim().toLowerCase();
    for (const card of cards) {
      if (wanted && card.text === null) {
        const lines = card.element.querySelectorAll("dd:not(.facts)");
        card.text = Array.from(lines, (line) => line.textContent).join("\n").toLowerCase();
      }
      const fits = (show === "any" || card.odd) && (!wanted || card.text.includes(wanted));
      card.element.hidden = !fits;
    }
  }

  function press(button, name) {
    for (const other of tools.querySelectorAll(`[data-${name}]`)) {
      other.setAttribute("aria-pressed", String(other === button));
    }
  }

  tools.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.sort !== undefined) { order = button.dataset.sort; press(button, "sort"); sort(); }
    if (button.dataset.show !== undefined) { show = button.dataset.show; press(button, "show"); filter(); }
  });
  find.addEventListener("input", filter);
})();
