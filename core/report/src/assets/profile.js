"use strict";

{
  // Characters that reorder or hide letters are shown as escapes.
  const hidden = /[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
  const visible = (key, value) => typeof value === "string"
    ? value.replace(hidden, (sign) => `\\u{${sign.charCodeAt(0).toString(16)}}`)
    : value;
  const root = JSON.parse(document.getElementById("data").textContent, visible);
  const flames = document.getElementById("flames");
  const told = document.getElementById("told");
  const wanted = document.getElementById("wanted");
  const height = 23;
  const units = [[1e6, "s", 2], [1e3, "ms", 2], [1, "µs", 0]];
  const time = (micros) => {
    const [scale, unit, digits] = units.find(([scale]) => micros >= scale) ?? [1, "µs", 1];
    return `${(micros / scale).toFixed(digits)} ${unit}`;
  };
  const above = new Map();
  const link = (box) => {
    for (const part of box.inside ?? []) {
      above.set(part, box);
      link(part);
    }
  };
  link(root);

  const label = (box) => (box.class ? `${box.name} ${box.class.split(".").pop()}` : box.name);
  const say = (box) => {
    const parts = [box.path ?? box.node ?? "", label(box), box.line ?? "", time(box.time)];
    if (root.time > 0) parts.push(`${((100 * box.time) / root.time).toFixed(1)} %`);
    if (box.other !== undefined) parts.push(`${time(box.other)} in the other model`);
    return parts.filter((text) => text !== "").join(" · ");
  };
  const matches = (box) => {
    const text = wanted.value.toLowerCase();
    const said = [box.name, box.path, box.class, box.node, box.line];
    return text !== "" && said.some((part) => (part ?? "").toLowerCase().includes(text));
  };

  let open = root;
  const put = (box, left, width, depth, around) => {
    const shown = document.createElement("div");
    shown.className = box.inside ? "flame" : "flame node";
    if (around) shown.classList.add("around");
    if (box.verdict) {
      // How far the ratio is from 1, in either direction.
      const change = (box.other - box.time) / Math.max(box.time, box.other, 1e-9);
      shown.classList.add(box.verdict);
      shown.style.setProperty("--by", Math.min(60, 15 + 60 * Math.abs(change)).toFixed(0));
    }
    if (matches(box)) shown.classList.add("found");
    Object.assign(shown.style, { left: `${left}%`, width: `${width}%`, top: `${depth * height}px` });
    shown.dataset.name = box.path ?? box.node ?? "";
    shown.textContent = width > 2 ? label(box) : "";
    shown.title = say(box);
    shown.addEventListener("mouseenter", () => { told.textContent = say(box); });
    if (box.inside) {
      shown.addEventListener("click", () => {
        open = box;
        draw();
      });
    }
    flames.append(shown);
  };
  const draw = () => {
    flames.replaceChildren();
    let depth = 0;
    const around = [];
    for (let box = above.get(open); box; box = above.get(box)) around.unshift(box);
    for (const box of around) put(box, 0, 100, depth++, true);
    let deepest = depth;
    const fill = (box, left, width, depth) => {
      put(box, left, width, depth, false);
      deepest = Math.max(deepest, depth);
      let at = left;
      const inside = [...(box.inside ?? [])].sort((a, b) => b.time - a.time);
      for (const part of inside) {
        const share = box.time > 0 ? (width * part.time) / box.time : 0;
        // What is thinner than a tenth of a pixel is not seen.
        if (share > 0.01) fill(part, at, share, depth + 1);
        at += share;
      }
    };
    fill(open, 0, 100, depth);
    flames.style.height = `${(deepest + 1) * height}px`;
    told.textContent = say(open);
  };
  wanted.addEventListener("input", draw);
  document.getElementById("whole").addEventListener("click", () => {
    open = root;
    draw();
  });
  draw();
}
