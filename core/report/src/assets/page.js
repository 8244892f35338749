"use strict";

// Light and dark: the system's choice, until somebody makes another one.
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  root.dataset.theme = (root.dataset.theme ?? system) === "dark" ? "light" : "dark";
});

// Tables that are searched, and shown without what is as it should be.
for (const filter of document.querySelectorAll(".filter")) {
  const rows = [...document.querySelectorAll(`#${filter.dataset.table} tbody tr`)];
  const [search, only] = filter.querySelectorAll("input");
  const apply = () => {
    const wanted = search.value.toLowerCase();
    for (const row of rows) {
      const found = row.textContent.toLowerCase().includes(wanted);
      row.hidden = !found || (only.checked && !row.classList.contains("wrong"));
    }
  };
  search.addEventListener("input", apply);
  only.addEventListener("change", apply);
}

// Points: the nearest one says what it is; the wheel makes the picture wider, dragging moves it.
for (const figure of document.querySelectorAll("figure.points")) {
  const svg = figure.querySelector("svg");
  const told = figure.querySelector(".told");
  const marks = [...figure.querySelectorAll("circle")];
  const left = Number(figure.dataset.left);
  const right = Number(figure.dataset.right);
  let from = 0;
  let to = 1;
  let here = null;

  const place = () => {
    for (const mark of marks) {
      const at = (Number(mark.dataset.x) - from) / (to - from);
      mark.setAttribute("cx", (left + at * (right - left)).toFixed(1));
      mark.style.display = at < 0 || at > 1 ? "none" : "";
    }
  };
  const along = (event) => {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    return Math.min(1, Math.max(0, (x - left) / (right - left)));
  };
  const row = (mark) => document.getElementById(`${figure.dataset.rows}-${mark.dataset.at}`);
  const tell = (mark) => {
    if (here === mark) return;
    here?.classList.remove("here");
    if (here) row(here)?.classList.remove("told");
    here = mark;
    mark.classList.add("here");
    row(mark)?.classList.add("told");
    told.textContent = mark.querySelector("title").textContent;
  };
  svg.addEventListener("mousemove", (event) => {
    const box = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / box.width;
    const x = (event.clientX - box.left) * scale;
    const y = (event.clientY - box.top) * scale;
    let best = null;
    let distance = Infinity;
    for (const mark of marks) {
      if (mark.style.display === "none") continue;
      const d = Math.hypot(mark.getAttribute("cx") - x, mark.getAttribute("cy") - y);
      if (d < distance) [best, distance] = [mark, d];
    }
    if (best && distance < 60) tell(best);
  });
  svg.addEventListener("click", () => {
    if (here) row(here)?.scrollIntoView({ block: "center", behavior: "smooth" });
  });
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const factor = event.deltaY > 0 ? 1.25 : 0.8;
    const centre = from + along(event) * (to - from);
    const width = Math.min(1, Math.max(4 / Math.max(marks.length, 4), (to - from) * factor));
    from = Math.min(Math.max(0, centre - along(event) * width), 1 - width);
    to = from + width;
    place();
  }, { passive: false });
  let held = null;
  svg.addEventListener("pointerdown", (event) => { held = [along(event), from, to]; });
  addEventListener("pointerup", () => { held = null; });
  svg.addEventListener("pointermove", (event) => {
    if (!held) return;
    const [start, low, high] = held;
    const width = high - low;
    from = Math.min(Math.max(0, low - (along(event) - start) * width), 1 - width);
    to = from + width;
    place();
  });
}
