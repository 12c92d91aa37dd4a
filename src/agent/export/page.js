"use strict";
// Shows the entries that have all the words that are typed; opens what is folded around them.
const box = document.getElementById("search");
const count = document.getElementById("count");
const entries = Array.from(document.querySelectorAll("article"));
const texts = entries.map((entry) => entry.textContent.toLowerCase());
box.hidden = false;
box.addEventListener("input", () => {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  entries.forEach((entry, at) => {
    const found = words.every((word) => texts[at].includes(word));
    entry.classList.toggle("hidden", !found);
    shown += found ? 1 : 0;
    if (words.length > 0 && found) {
      entry.querySelectorAll("details").forEach((fold) => { fold.open = true; });
      if (entry.closest("details.beside")) entry.closest("details.beside").open = true;
    }
  });
  count.textContent = words.length > 0 ? shown + " of " + entries.length : "";
});
document.querySelectorAll("nav a").forEach((link) => {
  link.addEventListener("click", () => {
    const beside = document.querySelector(link.getAttribute("href"))?.closest("details.beside");
    if (beside) beside.open = true;
  });
});
