"use strict";

{
  const { items, values, open: first } = JSON.parse(document.getElementById("data").textContent);
  const [ITEM, TAKE, HAND, BEND] = [0, 1, 2, 3];
  const [GAPS, MARGIN, HEAD, STEP] = [[24, 14, 9], 16, 30, [26, 0.09, 64]];
  const [STEM, PILL, PORT, BETWEEN, PAD, RIM, ROUND] = [8, 16, 12, 6, 10, 6, 6];
  const LINES = { title: [18, 0], note: [14, 0], weight: [14, 11], constant: [14, 11] };
  let open = new Set(first);

  // Where everything stands: place.rs, step by step.
  const closed = (id) => {
    const item = items[id];
    const whole = item.o.reduce((sum, value) => sum + values[value][1] + BETWEEN, 0) - BETWEEN;
    let at = -whole / 2;
    const leaves = item.o.map((value) => {
      const width = values[value][1];
      at += width + BETWEEN;
      return [value, at - BETWEEN - width / 2, true];
    });
    return { width: item.w, height: item.h, leaves, ports: new Map() };
  };
  const opened = (inside) => {
    const { body, x, width, height, item } = inside;
    const placed = { width, height, leaves: [], ports: new Map(), inside };
    for (let vertex = 0; vertex < x.length; vertex += 1) {
      const [kind, of] = [body.v[2 * vertex], body.v[2 * vertex + 1]];
      const place = x[vertex] - width / 2;
      if (kind === TAKE) placed.ports.set(of, place);
      if (kind === HAND) placed.leaves.push([of, place, items[item].g.includes(of)]);
    }
    return placed;
  };
  const whole = (placed) => {
    const labels = placed.leaves.filter(([, , labelled]) => labelled);
    const half = labels.reduce((most, [value, x]) => Math.max(most, Math.abs(x) + values[value][1] / 2), placed.width / 2);
    return [half * 2, placed.height + (labels.length > 0 ? STEM + PILL : 0)];
  };
  const pack = (body, columns, widths, right) => {
    const count = widths.length;
    const after = Array.from({ length: count }, () => []);
    const waits = new Array(count).fill(0);
    for (const row of body.r) {
      const layer = right ? [...row].reverse() : row;
      for (let at = 1; at < layer.length; at += 1) {
        const [a, b] = [layer[at - 1], layer[at]];
        const bends = (body.v[2 * a] === BEND ? 1 : 0) + (body.v[2 * b] === BEND ? 1 : 0);
        after[columns[a]].push([columns[b], (widths[a] + widths[b]) / 2 + GAPS[bends]]);
        waits[columns[b]] += 1;
      }
    }
    const order = [];
    for (let at = 0; at < count; at += 1) if (columns[at] === at && waits[at] === 0) order.push(at);
    const x = new Array(count).fill(0);
    for (let next = 0; next < order.length; next += 1) {
      for (const [other, apart] of after[order[next]]) {
        x[other] = Math.max(x[other], x[order[next]] + apart);
        waits[other] -= 1;
        if (waits[other] === 0) order.push(other);
      }
    }
    for (const at of order.reverse()) {
      const room = after[at].reduce((least, [other, apart]) => Math.min(least, x[other] - apart), Infinity);
      if (room !== Infinity) x[at] = Math.max(x[at], room);
    }
    const sign = right ? -1 : 1;
    return columns.map((column) => sign * x[column]);
  };
  const across = (body, widths) => {
    const ends = (x) => {
      let [low, high] = [Infinity, -Infinity];
      x.forEach((x, at) => {
        low = Math.min(low, x - widths[at] / 2);
        high = Math.max(high, x + widths[at] / 2);
      });
      return [low, high];
    };
    const all = body.c.map((columns, way) => pack(body, columns, widths, way % 2 === 1));
    let narrowest = [Infinity, 0, 0];
    for (const x of all) {
      const [low, high] = ends(x);
      if (high - low < narrowest[0]) narrowest = [high - low, low, high];
    }
    all.forEach((x, way) => {
      const [low, high] = ends(x);
      const shift = way % 2 === 1 ? narrowest[2] - high : narrowest[1] - low;
      x.forEach((_, at) => (x[at] += shift));
    });
    return widths.map((_, vertex) => {
      const four = all.map((x) => x[vertex]).sort((a, b) => a - b);
      return (four[1] + four[2]) / 2;
    });
  };
  const leaves = (group, vertex, value) => {
    const leaf = group.boxes[vertex].leaves.find(([of]) => of === value);
    return group.x[vertex] + (leaf ? leaf[1] : 0);
  };
  const arrivals = (group) => {
    const { body, boxes, x } = group;
    const ends = new Array(body.s.length / 3).fill(0);
    const spread = new Map();
    for (let at = 0; at < ends.length; at += 1) {
      const [from, to, value] = body.s.slice(3 * at, 3 * at + 3);
      const port = boxes[to].ports.get(value);
      if (port !== undefined) {
        ends[at] = x[to] + port;
        continue;
      }
      if (!spread.has(to)) spread.set(to, []);
      spread.get(to).push([leaves(group, from, value), at]);
    }
    for (const [vertex, pieces] of spread) {
      pieces.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
      pieces.forEach(([, at], number) => {
        ends[at] = x[vertex] + ((number + 1) / (pieces.length + 1) - 0.5) * boxes[vertex].width;
      });
    }
    return ends;
  };
  const place = (id) => {
    const body = items[id].b;
    const boxes = [];
    for (let at = 0; at < body.v.length; at += 2) {
      const [kind, of] = [body.v[at], body.v[at + 1]];
      const thin = (width) => ({ width, height: 0, leaves: [], ports: new Map() });
      if (kind === ITEM) boxes.push(items[of].b && open.has(of) ? opened(place(of)) : closed(of));
      else if (kind === TAKE) boxes.push(thin(PORT));
      else if (kind === HAND) boxes.push(thin(items[id].g.includes(of) ? values[of][1] : PORT));
      else boxes.push(thin(0));
    }
    const sizes = boxes.map(whole);
    const widths = sizes.map(([width]) => width);
    const x = across(body, widths);
    let [left, right] = [0, 0];
    if (x.length > 0) {
      left = Infinity;
      right = -Infinity;
      x.forEach((x, at) => {
        left = Math.min(left, x - widths[at] / 2);
        right = Math.max(right, x + widths[at] / 2);
      });
    }
    const width = Math.max(right - left, items[id].m[1] + 2 * PAD) + 2 * MARGIN;
    const shift = (width - (right - left)) / 2 - left;
    x.forEach((_, at) => (x[at] += shift));
    const layer = [];
    body.r.forEach((row, at) => row.forEach((vertex) => (layer[vertex] = at)));
    const group = { item: id, body, width, height: 0, x, layer, rows: [], boxes };
    group.ends = arrivals(group);
    const sideways = body.r.map(() => 0);
    group.ends.forEach((end, at) => {
      const from = body.s[3 * at];
      sideways[layer[from]] = Math.max(sideways[layer[from]], Math.abs(leaves(group, from, body.s[3 * at + 2]) - end));
    });
    let y = HEAD;
    body.r.forEach((row, at) => {
      const height = row.reduce((most, vertex) => Math.max(most, sizes[vertex][1]), 0);
      group.rows.push([y, height]);
      y += height;
      if (at + 1 < body.r.length) y += Math.min(STEP[0] + sideways[at] * STEP[1], STEP[2]);
    });
    const hands = body.v.some((kind, at) => at % 2 === 0 && kind === HAND);
    group.height = hands ? y : y + MARGIN;
    return group;
  };

  // What is drawn: paint.rs.
  const signs = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  const escape = (text) => text.replace(/[&<>"]/g, (sign) => signs[sign]);
  const number = (x) => String(Math.round(x * 10) / 10);
  const text = (kind, x, y, width, said) =>
    said === ""
      ? ""
      : `<text class="${kind}" x="${number(x)}" y="${number(y)}" textLength="${number(width)}" lengthAdjust="spacingAndGlyphs">${escape(said)}</text>`;
  const rectangle = (kind, x, y, width, height, rounded) =>
    `<rect class="${kind}" x="${number(x)}" y="${number(y)}" width="${number(width)}" height="${number(height)}" rx="${number(rounded)}"/>`;
  const card = (id, placed, x, y) => {
    const item = items[id];
    const rounded = /input|output/.test(item.c) ? placed.height / 2 : ROUND;
    let out = item.b ? rectangle("behind", x + 3, y + 3, placed.width, placed.height, rounded) : "";
    out += rectangle("box", x, y, placed.width, placed.height, rounded);
    let base = y + RIM;
    for (const [said, style, width] of item.l) {
      const [height, indent] = LINES[style];
      base += height;
      if (indent > 0) {
        out += `<path class="mark ${style}" d="M${number(x + PAD + 3)} ${number(base - 11)}l3.5 3.5l-3.5 3.5l-3.5 -3.5Z"/>`;
      }
      const start = indent > 0 ? x + PAD + indent : x + (placed.width - width) / 2;
      out += text(style, start, base - 4, width, said);
    }
    return out;
  };
  const pill = ([label, width], x, y, start) => {
    const half = number(y + STEM / 2);
    const end = number(y + STEM);
    const stem = start === x ? `V${end}` : `C${number(start)} ${half} ${number(x)} ${half} ${number(x)} ${end}`;
    return (
      `<path class="edge" d="M${number(start)} ${number(y)}${stem}"/>` +
      rectangle("pill", x - width / 2, y + STEM, width, PILL, PILL / 2) +
      text("value", x - width / 2 + 6, y + STEM + 11.5, width - 12, label)
    );
  };
  const where = new Map();
  const inside = (group, left, top) => {
    const { body, boxes, rows, layer, ends } = group;
    const out = [];
    ends.forEach((end, at) => {
      const [from, to, value] = body.s.slice(3 * at, 3 * at + 3);
      const [x1, x2] = [left + leaves(group, from, value), left + end];
      const [row, next] = [rows[layer[from]], rows[layer[to]]];
      const labelled = boxes[from].leaves.some(([of, , is]) => of === value && is);
      const start = body.v[2 * from] === BEND ? row[1] : boxes[from].height + (labelled ? STEM + PILL : 0);
      const [y0, y1, y2] = [top + row[0] + start, top + row[0] + row[1], top + next[0]];
      let path = `M${number(x1)} ${number(y0)}`;
      if (y1 > y0) path += `V${number(y1)}`;
      if (Math.abs(x1 - x2) < 0.05) path += `V${number(y2)}`;
      else {
        const middle = number((y1 + y2) / 2);
        path += `C${number(x1)} ${middle} ${number(x2)} ${middle} ${number(x2)} ${number(y2)}`;
      }
      if (body.v[2 * to] === BEND && next[1] > 0) path += `V${number(y2 + next[1])}`;
      const [kind, of] = [body.v[2 * to], body.v[2 * to + 1]];
      const arrow = kind === ITEM && !(boxes[to].inside && items[of].k.includes(value));
      out.push(`<path class="edge" d="${path}"${arrow ? ' marker-end="url(#arrow)"' : ""}/>`);
    });
    boxes.forEach((placed, vertex) => {
      if (body.v[2 * vertex] !== ITEM) return;
      const id = body.v[2 * vertex + 1];
      const item = items[id];
      const [x, y] = [left + group.x[vertex] - placed.width / 2, top + rows[layer[vertex]][0]];
      where.set(id, [x, y, placed.width, placed.height]);
      out.push(`<g class="${item.c}" data-item="${id}"><title>${escape(item.t)}</title>`);
      if (placed.inside) {
        out.push(rectangle("frame", x, y, placed.width, placed.height, 10));
        for (const [value, port] of [...placed.ports].sort((a, b) => a[0] - b[0])) {
          if (!item.k.includes(value)) continue;
          const end = number(y + placed.inside.rows[0][0]);
          out.push(`<path class="edge" d="M${number(x + placed.width / 2 + port)} ${number(y)}V${end}"/>`);
        }
        out.push(rectangle("tab", x + 6, y + 5, item.m[1] + 12, 18, 5), text("head", x + 12, y + 18, item.m[1], item.m[0]));
        out.push(inside(placed.inside, x, y));
      } else out.push(card(id, placed, x, y));
      for (const [value, at, labelled] of placed.leaves) {
        if (!labelled) continue;
        const room = Math.max(placed.width / 2 - ROUND, 0);
        const middle = x + placed.width / 2;
        out.push(pill(values[value], middle + at, y + placed.height, middle + Math.min(Math.max(at, -room), room)));
      }
      out.push("</g>");
    });
    return out.join("");
  };

  // What is seen of it.
  const canvas = document.getElementById("canvas");
  const arrow =
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">' +
    '<path class="arrow" d="M0 0.8 L7.4 4 L0 7.2 Z"/></marker></defs>';
  let size = [0, 0];
  let view = { x: 0, y: 0, scale: 1 };
  let svg;
  const look = () => {
    const [width, height] = [canvas.clientWidth || 1, canvas.clientHeight || 1];
    svg.setAttribute("viewBox", `${view.x} ${view.y} ${width / view.scale} ${height / view.scale}`);
  };
  const draw = () => {
    where.clear();
    const group = place(0);
    size = [group.width, group.height];
    canvas.innerHTML = `<svg class="drawing" xmlns="http://www.w3.org/2000/svg">${arrow}${inside(group, 0, 0)}</svg>`;
    svg = canvas.firstElementChild;
    look();
  };
  const fit = () => {
    const [width, height] = [canvas.clientWidth || 1, canvas.clientHeight || 1];
    // Wide pictures are seen whole; of long ones the beginning, in letters that can be read.
    const scale = Math.min(width / size[0], Math.max(height / size[1], 0.8), 1.25);
    view = { x: (size[0] - width / scale) / 2, y: height / scale > size[1] ? (size[1] - height / scale) / 2 : 0, scale };
    look();
  };
  // Redraws, and leaves the box `id` where it is on the screen.
  const keep = (id, change) => {
    const before = where.get(id);
    change();
    draw();
    const after = where.get(id);
    if (before && after) {
      view.x += after[0] + after[2] / 2 - before[0] - before[2] / 2;
      view.y += after[1] - before[1];
      look();
    }
  };
  const toggle = (id) => keep(id, () => (open.has(id) ? open.delete(id) : open.add(id)));
  const parts = (id) => {
    const { v } = items[id].b;
    const found = [];
    for (let at = 0; at < v.length; at += 2) if (v[at] === ITEM) found.push(v[at + 1]);
    return found;
  };
  const groups = items.flatMap((item, id) => (item && item.b && id !== 0 ? [id] : []));
  const seen = (id) => id === 0 || (open.has(items[id].a) && seen(items[id].a));
  const always = (id) => /graph/.test(items[id].c);
  document.getElementById("more").addEventListener("click", () => {
    const next = groups.filter((id) => !open.has(id) && seen(id));
    keep(-1, () => next.forEach((id) => open.add(id)));
  });
  document.getElementById("less").addEventListener("click", () => {
    const shut = (id) => parts(id).every((part) => !items[part].b || !open.has(part) || (always(part) && shut(part)));
    const last = groups.filter((id) => open.has(id) && !always(id) && seen(id) && shut(id));
    keep(-1, () => last.forEach((id) => open.delete(id)));
  });
  document.getElementById("all").addEventListener("click", () => keep(-1, () => groups.forEach((id) => open.add(id))));
  document.getElementById("fit").addEventListener("click", fit);

  const about = document.getElementById("about");
  document.getElementById("hide").addEventListener("click", () => (about.hidden = true));
  const tell = (id) => {
    about.hidden = false;
    about.querySelector("pre").textContent = items[id].t;
    for (const group of svg.querySelectorAll(".here")) group.classList.remove("here");
    svg.querySelector(`[data-item="${id}"]`)?.classList.add("here");
  };
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, y: event.clientY, moved: false };
  });
  window.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
    if (!drag.moved && Math.hypot(dx, dy) < 4) return;
    drag = { x: event.clientX, y: event.clientY, moved: true };
    view.x -= dx / view.scale;
    view.y -= dy / view.scale;
    look();
  });
  window.addEventListener("pointerup", (event) => {
    const click = drag && !drag.moved;
    drag = null;
    if (!click) return;
    const box = event.target.closest?.("[data-item]");
    if (!box) return;
    const id = Number(box.dataset.item);
    // Inside of an open group, its head closes it.
    const on = event.target.classList;
    const closes = !open.has(id) || on.contains("tab") || on.contains("head");
    if (items[id].b && closes && !always(id)) toggle(id);
    tell(id);
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left, event.clientY - box.top];
      const scale = Math.min(8, Math.max(0.02, view.scale * Math.exp(-event.deltaY / 500)));
      view = { x: view.x + x / view.scale - x / scale, y: view.y + y / view.scale - y / scale, scale };
      look();
    },
    { passive: false },
  );
  window.addEventListener("resize", look);

  // A search opens what is around the box that it finds; Enter goes on to the next one.
  const find = document.getElementById("find");
  let turn = 0;
  const search = () => {
    const wanted = find.value.trim().toLowerCase();
    const found = wanted === "" ? [] : items.flatMap((item, id) => (item && id !== 0 && item.t.toLowerCase().includes(wanted) ? [id] : []));
    document.getElementById("found").textContent = wanted === "" ? "" : found.length === 0 ? "none" : `${(turn % found.length) + 1} of ${found.length}`;
    if (found.length === 0) return;
    const id = found[turn % found.length];
    for (let above = items[id].a; above !== 0; above = items[above].a) open.add(above);
    draw();
    const [x, y, width, height] = where.get(id);
    view.scale = Math.max(view.scale, 0.7);
    view.x = x + width / 2 - canvas.clientWidth / view.scale / 2;
    view.y = y + Math.min(height, canvas.clientHeight / view.scale) / 2 - canvas.clientHeight / view.scale / 2;
    look();
    tell(id);
  };
  find.addEventListener("input", () => {
    turn = 0;
    search();
  });
  find.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    turn += 1;
    search();
  });

  draw();
  fit();
}
