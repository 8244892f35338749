"use strict";

{
  // Characters that reorder or hide letters are shown as escapes.
  const hidden = /[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
  const visible = (key, value) => typeof value === "string"
    ? value.replace(hidden, (sign) => `\\u{${sign.charCodeAt(0).toString(16)}}`)
    : value;
  const model = JSON.parse(document.getElementById("data").textContent, visible).model;
  const svgName = "http://www.w3.org/2000/svg";
  const shape = (name, attributes, text) => {
    const made = document.createElementNS(svgName, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };

  if (model) {
    // The tree of modules: what each holds itself, summed up over what is inside.
    const root = { name: "", path: "", own: { elements: 0, nodes: 0 }, inside: new Map() };
    for (const row of model.modules) {
      let at = root;
      const parts = row.path === "" ? [] : row.path.split(".");
      for (const [depth, part] of parts.entries()) {
        if (!at.inside.has(part)) {
          const path = parts.slice(0, depth + 1).join(".");
          at.inside.set(part, { name: part, path, own: { elements: 0, nodes: 0 }, inside: new Map(), above: at });
        }
        at = at.inside.get(part);
      }
      at.own.elements += row.elements;
      at.own.nodes += row.nodes;
    }
    const sum = (module) => {
      module.total = { ...module.own };
      for (const part of module.inside.values()) {
        sum(part);
        module.total.elements += part.total.elements;
        module.total.nodes += part.total.nodes;
      }
    };
    sum(root);

    const map = document.getElementById("treemap");
    let open = root;
    let measure = "elements";
    const tile = (parts, x, y, width, height, depth) => {
      // Halves of nearly equal weight, cut across the longer side.
      const total = parts.reduce((n, part) => n + part.size, 0);
      if (parts.length === 1) {
        const [part] = parts;
        const box = document.createElement("div");
        box.className = "tile";
        box.dataset.path = part.module.path;
        box.dataset.depth = depth;
        Object.assign(box.style, { left: `${x}%`, top: `${y}%`, width: `${width}%`, height: `${height}%` });
        const label = `${part.label}: ${part.size.toLocaleString("en")}`;
        box.title = part.module.path ? `${part.module.path}: ${part.size.toLocaleString("en")}` : label;
        box.textContent = width * height > 12 ? label : "";
        if (!part.itself && part.module.inside.size > 0) {
          box.classList.add("more");
          box.addEventListener("click", () => show(part.module));
        }
        map.append(box);
        return;
      }
      let first = 1;
      let sum = parts[0].size;
      while (first < parts.length - 1 && sum + parts[first].size <= total / 2) sum += parts[first++].size;
      const share = total > 0 ? sum / total : 0.5;
      const [one, other] = [parts.slice(0, first), parts.slice(first)];
      if (width >= height * 0.45) {
        tile(one, x, y, width * share, height, depth);
        tile(other, x + width * share, y, width * (1 - share), height, depth);
      } else {
        tile(one, x, y, width, height * share, depth);
        tile(other, x, y + height * share, width, height * (1 - share), depth);
      }
    };
    const show = (module) => {
      open = module;
      map.textContent = "";
      const parts = [...module.inside.values()].map((part) => ({ module: part, label: part.name, size: part.total[measure] }));
      parts.push({ module, label: "itself", size: module.own[measure], itself: true });
      const seen = parts.filter((part) => part.size > 0).sort((a, b) => b.size - a.size);
      if (seen.length > 0) tile(seen, 0, 0, 100, 100, 0);
      const total = module.total[measure].toLocaleString("en");
      document.getElementById("path").textContent = `${module.path || "the model"}: ${total}`;
      document.getElementById("up").disabled = !module.above;
    };
    document.getElementById("up").addEventListener("click", () => open.above && show(open.above));
    for (const choice of document.querySelectorAll("input[name=measure]")) {
      choice.addEventListener("change", () => {
        measure = choice.value;
        show(open);
      });
    }
    let first = root;
    for (const part of map.dataset.open.split(".")) first = first.inside.get(part) ?? first;
    show(first);

    // The graph around a node: what it reads to the left, what reads it to the right.
    const graph = model.graph;
    const readers = graph.map(() => []);
    graph.forEach((node, at) => node.reads.forEach((from) => readers[from].push(at)));
    const around = document.getElementById("around");
    const steps = document.getElementById("steps");
    const find = document.getElementById("find");
    let here = 0;
    const draw = (at) => {
      here = at;
      const column = new Map([[at, 0]]);
      for (const [next, sign] of [[(n) => graph[n].reads, -1], [(n) => readers[n], 1]]) {
        let edge = [at];
        for (let step = 1; step <= Number(steps.value); step += 1) {
          edge = edge.flatMap(next).filter((n) => !column.has(n));
          for (const n of edge.slice(0, 40)) column.set(n, sign * step);
        }
      }
      const columns = new Map();
      for (const [n, c] of [...column].sort((a, b) => a[0] - b[0])) {
        if (!columns.has(c)) columns.set(c, []);
        columns.get(c).push(n);
      }
      const least = Math.min(...columns.keys());
      const most = Math.max(...[...columns.values()].map((list) => list.length));
      const place = new Map();
      for (const [c, list] of columns) {
        list.forEach((n, i) => place.set(n, [(c - least) * 230 + 10, (i + (most - list.length) / 2) * 58 + 10]));
      }
      const size = [columns.size * 230, most * 58 + 20];
      const svg = shape("svg", { viewBox: `0 0 ${size[0]} ${size[1]}`, class: "graph" });
      for (const n of column.keys()) {
        for (const from of graph[n].reads.filter((from) => place.has(from))) {
          const [[x1, y1], [x2, y2]] = [place.get(from), place.get(n)];
          const bend = (x1 + 200 + x2) / 2;
          const d = `M${x1 + 200} ${y1 + 22} C${bend} ${y1 + 22} ${bend} ${y2 + 22} ${x2} ${y2 + 22}`;
          svg.append(shape("path", { d, class: "edge" }));
        }
      }
      for (const [n, [x, y]] of place) {
        const node = graph[n];
        const group = shape("g", { class: n === at ? "node here" : "node", "data-at": n });
        group.append(shape("rect", { x, y, width: 200, height: 44, rx: 6 }));
        group.append(shape("text", { x: x + 8, y: y + 18 }, node.operator.slice(0, 28)));
        group.append(shape("text", { x: x + 8, y: y + 36, class: "note" }, (node.source || node.name).slice(0, 32)));
        group.append(shape("title", {}, `${node.name}\n${node.module}\n${node.source}\n${node.takes.join(", ")}`));
        group.addEventListener("click", () => draw(n));
        svg.append(group);
      }
      const node = graph[at];
      const said = [node.name, node.operator, node.module, node.source, node.takes.join(", ")];
      document.getElementById("node").textContent = said.filter((text) => text !== "").join(" · ");
      let [x, y, scale] = [0, 0, 1];
      const view = () => svg.setAttribute("viewBox", `${x} ${y} ${size[0] / scale} ${size[1] / scale}`);
      svg.addEventListener("wheel", (event) => {
        event.preventDefault();
        const box = svg.getBoundingClientRect();
        const [u, v] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
        const next = Math.min(8, Math.max(0.5, scale * (event.deltaY < 0 ? 1.25 : 0.8)));
        x += u * (size[0] / scale - size[0] / next);
        y += v * (size[1] / scale - size[1] / next);
        scale = next;
        view();
      });
      svg.addEventListener("mousemove", (event) => {
        if (event.buttons !== 1) return;
        const box = svg.getBoundingClientRect();
        x -= (event.movementX / box.width) * (size[0] / scale);
        y -= (event.movementY / box.height) * (size[1] / scale);
        view();
      });
      around.replaceChildren(svg);
    };
    const names = document.getElementById("nodes");
    find.addEventListener("input", () => {
      const wanted = find.value.toLowerCase();
      const match = (node) => [node.name, node.operator, node.module, node.source].some((text) => text.toLowerCase().includes(wanted));
      const found = graph.flatMap((node, at) => (match(node) ? [at] : []));
      names.replaceChildren(...found.slice(0, 20).map((at) => new Option(graph[at].source, graph[at].name)));
      if (wanted !== "" && found.length > 0) draw(found.find((at) => graph[at].name === find.value) ?? found[0]);
    });
    steps.addEventListener("change", () => graph.length > 0 && draw(here));
    if (graph.length > 0) draw(0);
  }
}
