"use strict";
(() => {
  const ROW = 24, SHOWN = 200, STEP = 200, OPEN = 400;
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  const about = JSON.parse($("about").textContent);
  $("data").remove();
  const make = (tag, kind, text) => {
    const element = document.createElement(tag);
    if (kind) element.className = kind;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  document.querySelector("h1").textContent = about.title;

  const children = data.map(() => []), roots = [];
  data.forEach((entry, at) => (entry.p === null ? roots : children[entry.p]).push(at));
  // The newest entry below each: where a click on it leads.
  const newest = data.map((_, at) => at);
  for (let at = data.length - 1; at >= 0; at--) {
    const up = data[at].p;
    if (up !== null && newest[at] > newest[up]) newest[up] = newest[at];
  }
  const leaves = children.filter((list) => list.length === 0).length;
  $("facts").textContent = `${about.cwd} · ${about.started} · ${data.length} entries · ${leaves} branches · ${about.id}`;

  // Rows in tree order; only a fork indents, so a long talk stays flat.
  const order = [];
  const stack = roots.slice().reverse().map((at) => [at, roots.length > 1 ? 1 : 0]);
  while (stack.length) {
    const [at, depth] = stack.pop();
    order.push([at, depth]);
    const below = children[at];
    const deeper = depth + (below.length > 1 ? 1 : 0);
    for (let n = below.length - 1; n >= 0; n--) stack.push([below[n], deeper]);
  }

  let path = [], on = new Set(), here = null, first = 0, rows = order;
  const pathTo = (at) => {
    const found = [];
    for (let next = at; next !== null; next = data[next].p) found.push(next);
    return found.reverse();
  };

  const tree = $("tree"), holder = $("rows");
  const paintTree = () => {
    holder.style.height = `${rows.length * ROW}px`;
    const top = Math.max(0, Math.floor(tree.scrollTop / ROW) - 10);
    const end = Math.min(rows.length, top + Math.ceil(tree.clientHeight / ROW) + 20);
    holder.replaceChildren();
    for (let n = top; n < end; n++) {
      const [at, depth] = rows[n], entry = data[at];
      const kind = `row ${entry.v}${entry.e ? " bad" : ""}${on.has(at) ? " on" : ""}${at === here ? " here" : ""}`;
      const mark = at === about.leaf ? "● " : on.has(at) ? "│ " : "  ";
      const label = entry.l ? `[${entry.l}] ` : "";
      const row = make("button", kind, " ".repeat(Math.min(depth, 12) * 2) + mark + label + (entry.x || entry.t));
      row.style.top = `${n * ROW}px`;
      row.addEventListener("click", () => show(at));
      holder.append(row);
    }
  };
  tree.addEventListener("scroll", () => requestAnimationFrame(paintTree));
  addEventListener("resize", paintTree);
  $("find").addEventListener("input", (event) => {
    const word = event.target.value.toLowerCase();
    const has = (entry) =>
      `${entry.l || ""} ${entry.t} ${entry.x || ""}`.toLowerCase().includes(word) ||
      entry.b.some((piece) => piece[0] !== "image" && piece[1].toLowerCase().includes(word));
    rows = word ? order.filter(([at]) => has(data[at])) : order;
    tree.scrollTop = 0;
    paintTree();
  });

  const folded = (title, body, isOpen) => {
    const details = make("details");
    details.open = isOpen;
    details.append(make("summary", "", title), body);
    return details;
  };
  // Words with their fenced code set apart.
  const words = (text) => {
    const holder = make("div");
    let lines = [], code = null;
    const flush = (kind) => {
      if (lines.length) holder.append(make(kind, kind === "pre" ? "" : "text", lines.join("\n")));
      lines = [];
    };
    for (const line of text.split("\n")) {
      const fence = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line);
      if (code === null && fence) {
        flush("div");
        code = fence[1];
      } else if (code !== null && fence && fence[1].startsWith(code) && !fence[2].trim()) {
        flush("pre");
        code = null;
      } else lines.push(line);
    }
    flush(code === null ? "div" : "pre");
    return holder;
  };
  const diff = (text) => {
    const pre = make("pre");
    for (const line of text.split("\n")) {
      const kind = line.startsWith("+") ? "add" : line.startsWith("-") ? "del" : "";
      pre.append(make("span", kind, `${line}\n`));
    }
    return pre;
  };
  const paintPiece = ([kind, text, more]) => {
    if (kind === "text") return words(text);
    if (kind === "diff") return diff(text);
    if (kind === "thinking") return folded("thinking", make("div", "text", text), false);
    if (kind === "call") return folded(`calls ${more}`, make("pre", "", text), false);
    if (kind === "image") {
      const image = make("img");
      image.src = `data:${more};base64,${text}`;
      image.alt = "image";
      return image;
    }
    return folded("output", make("pre", "", text), text.length < OPEN);
  };
  const paintEntry = (at) => {
    const entry = data[at];
    const article = make("article", `${entry.v}${entry.e ? " bad" : ""}${at === here ? " here" : ""}`);
    const title = make("h2", "", entry.t + (entry.e ? " (failed)" : ""));
    if (entry.l) title.append(make("span", "label", entry.l));
    if (entry.at > 0) title.append(make("span", "", new Date(entry.at).toISOString().slice(0, 19).replace("T", " ")));
    article.append(title, ...entry.b.map(paintPiece));
    article.dataset.at = at;
    return article;
  };
  const paintPath = () => {
    $("earlier").hidden = first === 0;
    $("path").replaceChildren(...path.slice(first).filter((at) => !data[at].q).map(paintEntry));
  };
  const show = (at) => {
    here = at;
    path = pathTo(newest[at]);
    on = new Set(path);
    const place = path.indexOf(at);
    first = Math.max(0, Math.min(path.length - SHOWN, place - 5));
    paintPath();
    paintTree();
    const article = document.querySelector(`article[data-at="${at}"]`);
    if (article) article.scrollIntoView({ block: "nearest" });
  };
  $("earlier").addEventListener("click", () => {
    first = Math.max(0, first - STEP);
    paintPath();
  });
  if (data.length) {
    const leaf = about.leaf === null ? data.length - 1 : about.leaf;
    path = pathTo(leaf);
    on = new Set(path);
    first = Math.max(0, path.length - SHOWN);
    here = leaf;
    paintPath();
    tree.scrollTop = Math.max(0, order.findIndex(([at]) => at === leaf) * ROW - 200);
    paintTree();
    const last = document.querySelector("#path article:last-child");
    if (last) last.scrollIntoView();
  }
})();
