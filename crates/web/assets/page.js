// What the page does beside its forms and links, which work without it.
const $ = (what, from = document) => from.querySelector(what);
const all = (what, from = document) => [...from.querySelectorAll(what)];
const body = document.body, on = addEventListener, focused = () => document.activeElement;

// --- Swaps: a page is fetched whole, and its parts take the place of the old ones. Focus and what was typed stay.
const ASIDE = { headers: { "x-part": "1" } }, ASKED = { headers: { "x-part": "asked" } };
async function load(url, options = {}) {
  const answer = await fetch(url, { ...options, headers: { accept: "text/html", ...options.headers } });
  if (new URL(answer.url).pathname === "/sign-in") return void location.assign(answer.url);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  page.address = answer.url;
  return page;
}
// A part in which somebody writes, or mends what they wrote, waits.
const isWrittenIn = (part) => $("[role=alert]", part) || all("input:not([type=checkbox],[type=hidden]),textarea,select", part).some((one) => one === focused() || one.value !== (one.defaultValue ?? one.value));
function swap(page, what) {
  for (const old of all(what)) {
    const now = old.id && page.getElementById(old.id);
    if (!now || now.outerHTML === old.outerHTML || isWrittenIn(old)) continue;
    const at = old.contains(focused()) && focused();
    const href = at && at.getAttribute("href"), path = at && (at.id ? "#" + CSS.escape(at.id) : href && `[href="${CSS.escape(href)}"]`);
    const open = all("details[open][id]", old).map((one) => one.id), chosen = all(":checked[value]", old).map((one) => one.value);
    const known = new Set(all("[data-id]", old).map((one) => one.dataset.id));
    old.replaceWith(now);
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    for (const one of all("input[type=checkbox][value]", now)) if (chosen.includes(one.value)) one.checked = true;
    if (known.size) for (const one of all("[data-id]", now)) if (!known.has(one.dataset.id)) one.classList.add("fresh");
    if (path) $(path, now)?.focus({ preventScroll: true });
    ticked();
  }
}
function show(page, keepsAddress) {
  document.title = page.title;
  $("main").replaceWith($("main", page));
  const nav = $("nav"), next = $("nav", page);
  if (nav && next) nav.replaceWith(next);
  if (!keepsAddress && page.address !== location.href) history.pushState({}, "", page.address);
  ticked();
}
on("popstate", async () => { const page = await load(location.href); if (page) show(page, true); });
let sending = Promise.resolve(), pending = 0;
on("submit", (event) => {
  const form = event.target;
  if (form.method === "dialog" || !form.matches("[data-swap]")) return;
  event.preventDefault();
  // A second press sends nothing twice; a list that is sorted again is sent again, after the first.
  if (form.ariaBusy && !$("[data-sortable]", form)) return;
  const data = new URLSearchParams(new FormData(form, event.submitter)), action = event.submitter?.getAttribute("formaction") ?? form.getAttribute("action");
  form.ariaBusy = "true"; pending += 1;
  sending = sending.then(() => send(form, action, data));
});
async function send(form, action, data) {
  try {
    const page = form.method === "get" ? await load(`${action}?${data}`) : await load(action, { method: "POST", body: data });
    if (!page || pending > 1) return;
    if (page.body.classList.contains("bare")) return void location.assign(page.address);
    const problem = $(".toast.problem", page);
    if (problem && new URL(page.address).pathname === location.pathname) {
      // What was typed stays to be mended.
      $("#toast").replaceChildren(problem);
      if (!isWrittenIn(form)) refresh();
      return;
    }
    const at = focused()?.id;
    show(page);
    // A button that is gone leaves its focus to the page.
    (form.matches("[data-add] form") ? $("#sentence") : (at && document.getElementById(at)) || $("#main"))?.focus({ preventScroll: true });
    news?.postMessage({ heard: { own: true } });
  } catch { location.reload(); } finally { pending -= 1; form.ariaBusy = null; }
}

// --- Folded parts, fetched when unfolded.
on("toggle", async (event) => {
  const part = event.target.open && $("[data-from]", event.target);
  if (!part) return;
  const page = await load(part.dataset.from, ASKED).catch(() => 0);
  if (page) part.replaceWith($("div", page));
}, true);

// --- Live: one stream a browser. The tab that leads tells the others.
let news, waits, again, leads, source, lost, unheard = 1;
function heard(heard) {
  const concerns = (names, name) => !name || !names || names.includes(name); // News that names nobody may concern anybody.
  const wanted = all("[data-live]").some((part) => heard.own || part.dataset.live.split(" ").some((kind) => heard.kinds.some((one) => one.startsWith(kind))) &&
    concerns(heard.reminders, part.dataset.liveReminder) && concerns(heard.users, part.dataset.liveUser));
  if (wanted) refresh();
}
async function refresh() {
  if (waits || document.hidden) { again = 1; return; }
  waits = 1; again = 0;
  const begun = performance.now();
  try { const page = await load(location.href, ASIDE); if (page) swap(page, "[data-live]"); } catch { /* The stream says so. */ }
  // A flood is looked at now and then.
  setTimeout(() => { waits = 0; if (again) refresh(); }, Math.min(5000, Math.max(250, 8 * (performance.now() - begun))));
}
function state(is) {
  const was = body.className, banner = $("#lost");
  if (was === (body.className = "is-" + is)) return;
  banner.textContent = is === "lost" ? body.dataset.lost : was && body.dataset.back;
  if (was && is === "live") { refresh(); setTimeout(() => { if (body.className === "is-live") banner.textContent = ""; }, 4000); }
}
function follow() {
  if (!leads) return;
  source = new EventSource("/stream");
  const tell = (message) => { news.postMessage(message); take(message); };
  source.onopen = () => { lost = clearTimeout(lost); tell({ state: "live" }); };
  source.onerror = () => {
    lost ||= setTimeout(() => tell({ state: "lost" }), 700);
    if (source.readyState === EventSource.CLOSED) setTimeout(async () => {
      await load(location.href, ASIDE).catch(() => 0); // Leads to the form who is signed out.
      follow();
    }, 2000);
  };
  source.addEventListener("news", (event) => tell({ heard: JSON.parse(event.data) }));
}
function take(message) { if (message.state) state(message.state); else if (message.heard) heard(message.heard); }
if (body.dataset.lost && "BroadcastChannel" in window) {
  news = new BroadcastChannel("punctual");
  news.onmessage = ({ data }) => {
    if (data.ask) { if (leads) news.postMessage({ state: body.className.slice(3) }); return; }
    unheard = 0;
    if (leads && data.state) { leads = 0; source.close(); lost = clearTimeout(lost); }
    take(data);
  };
  news.postMessage({ ask: 1 });
  const lead = () => { leads = 1; follow(); return new Promise(() => {}); };
  // Plain http has no locks: a tab that nobody answers leads, and one that hears another stops.
  const seek = () => {
    if (!leads && !document.hidden) { if (unheard++) lead(); else news.postMessage({ ask: 1 }); }
    setTimeout(seek, 1000 + 500 * Math.random());
  };
  if (navigator.locks) navigator.locks.request("punctual-stream", lead); else setTimeout(seek, 100 + 200 * Math.random());
  on("visibilitychange", () => { if (!document.hidden && (again || $("[data-live]"))) refresh(); });
  setInterval(() => { if ($("[data-each-minute]")) refresh(); }, 60000);
}

// --- Quick-add: what was understood is marked and said back.
let asked = 0;
async function understand(field) {
  const box = field.closest("[data-add]"), text = field.value, mine = ++asked;
  const said = $(".said", box), over = $(".over", box) ?? Object.assign(document.createElement("div"), { className: "over", ariaHidden: "true" });
  if (!over.parentNode) field.before(over);
  if (!text.trim()) { over.replaceChildren(); said.replaceChildren(); return; }
  const answer = await fetch("/add/understood?" + new URLSearchParams({ text, user: body.dataset.user })).catch(() => 0);
  if (!answer.ok || mine !== asked) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of [over, said]) part.replaceChildren(...($("." + part.className, page)?.childNodes ?? []));
  over.scrollLeft = field.scrollLeft;
}

// --- Search as somebody types.
let typed;
on("input", (event) => {
  const field = event.target;
  if (field.id === "sentence") { clearTimeout(typed); typed = setTimeout(() => understand(field), 90); }
  const form = field.closest("form[data-as-you-type]");
  if (form) {
    clearTimeout(typed);
    const mine = typed = setTimeout(async () => {
      const url = form.getAttribute("action") + "?" + new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
      const page = await load(url, ASKED);
      if (page && mine === typed && form.isConnected) { history.replaceState({}, "", page.address); swap(page, "[data-found]"); }
    }, 120);
  }
  if (field.matches("[data-all]")) for (const box of all(`input[name="${field.dataset.all}"]`)) box.checked = field.checked;
  if (field.matches("input[type=checkbox]")) ticked();
});
function ticked() {
  for (const bar of all(".many")) {
    const n = all(`input[name="${bar.dataset.of}"]:checked`).length;
    bar.hidden = !n; const count = $("[data-count]", bar); if (count) count.textContent = n;
  }
}

// --- The palette.
const palette = $("#palette"), list = $("#palette-list"), wish = $("#palette input");
let found = [], sought = 0, people;
const fits = (words) => ({ text }) => words.toLowerCase().split(/\s+/).every((word) => text.toLowerCase().includes(word));
function choices(words) {
  const links = all("nav a[data-go]").map((a) => ({ text: a.textContent.trim(), note: "g " + a.dataset.go, go: () => a.click() }));
  const acts = all("main form button, main a.button").filter((one) => one.checkVisibility() && (words || !one.matches(".danger,.link"))).map((one) => {
    const of = $("a,h1", one.closest(".ask,[data-id],#reminder") ?? one)?.textContent.trim(), text = one.ariaLabel ?? one.textContent.trim();
    return { text: of ? `${text} · ${of}` : text, note: "↵", go: () => one.click() };
  });
  const seen = new Set();
  return (words ? [...links, ...acts] : [...acts.slice(0, 4), ...links]).filter((one) => one.text && fits(words)(one) && !seen.has(one.text) && seen.add(one.text)).slice(0, words ? 8 : 14);
}
function draw(entries, at = 0) {
  found = entries;
  list.replaceChildren(...entries.map((one, index) => {
    const [item, name, note] = ["li", "span", "small"].map((tag) => document.createElement(tag));
    Object.assign(item, { id: "choice-" + index, role: "option", ariaSelected: index === at });
    name.textContent = one.text; note.textContent = one.note;
    item.append(name, note);
    item.onclick = () => { palette.close(); one.go(); };
    return item;
  }));
  wish.setAttribute("aria-activedescendant", entries.length ? "choice-" + at : "");
  list.children[at]?.scrollIntoView({ block: "nearest" });
}
function openPalette() { if (!palette || palette.open) return; palette.showModal(); people = null; wish.value = ""; draw(choices("")); }
palette?.addEventListener("input", async () => {
  const words = wish.value, mine = ++sought;
  draw(choices(words));
  if (words.trim().length < 2) return;
  people ??= load("/people", ASKED).catch(() => 0);
  const pages = await Promise.all([people, load("/reminders?" + new URLSearchParams({ q: words, user: body.dataset.user }), ASKED).catch(() => 0)]);
  if (mine !== sought) return;
  const hits = ([page, what]) => all(what, page || palette).map((a) => ({ text: a.textContent.trim(), note: $("h1", page).textContent, go: () => location.assign(a.href) }));
  const [humans, reminders] = [[pages[0], "#people a.what"], [pages[1], "[data-found] a.what"]].map(hits);
  draw([...choices(words), ...humans.filter(fits(words)), ...reminders].slice(0, 16));
});
palette?.addEventListener("keydown", (event) => {
  const at = found.findIndex((_, index) => list.children[index].ariaSelected === "true");
  if (event.key === "Escape") { event.preventDefault(); palette.close(); }
  const step = { ArrowDown: 1, ArrowUp: found.length - 1 }[event.key];
  if (step) { event.preventDefault(); draw(found, (at + step) % found.length || 0); }
  if (event.key === "Enter" && found[at]) { event.preventDefault(); palette.close(); found[at].go(); }
});
on("click", ({ target }) => {
  if (target.closest("[data-palette]")) openPalette();
  if (target.closest("[data-close]")) target.closest(".toast").remove();
  if (target.matches("dialog")) target.close();
});

// --- Keys.
let went = 0;
on("keydown", (event) => {
  const { key, target } = event, held = event.ctrlKey || event.metaKey;
  if (held && key.toLowerCase() === "k") { event.preventDefault(); return openPalette(); }
  const field = target.closest("input,textarea,select,dialog"); // One in a dialog that was just closed takes no letters.
  if (held || event.altKey || (field && !field.closest("dialog:not([open])"))) return;
  const to = went && performance.now() - went < 1500 && $(`nav a[data-go="${CSS.escape(key)}"]`);
  went = key === "g" ? performance.now() : 0;
  if (to) return void to.click();
  if (key === "?") $("#keys")?.showModal();
  else if (key === "z") $("[data-undo]")?.click();
  else if (key === "n" || key === "/") { const field = $(`main [data-key="${key}"]`); event.preventDefault(); if (field) field.focus(); else if (key === "/") openPalette(); else location.assign("/"); }
  else if (key === "j" || key === "k") {
    const rows = all("main a.what"), at = rows.indexOf(focused());
    rows[key === "j" ? Math.min(at + 1, rows.length - 1) : Math.max(at - 1, 0)]?.focus();
  }
});

// --- Lists in an order: the form around one is sent when it has changed.
const sorted = (list) => list.closest("form")?.requestSubmit();
on("dragstart", (event) => event.target.closest?.("[data-sortable] > [draggable]")?.classList.add("is-dragged"));
on("dragover", (event) => {
  const moved = $(".is-dragged"), over = event.target.closest?.("[data-sortable] > *");
  if (!moved || !over || over.parentNode !== moved.parentNode) return;
  event.preventDefault();
  const { top, height } = over.getBoundingClientRect();
  over[event.clientY < top + height / 2 ? "before" : "after"](moved);
});
on("dragend", () => { const moved = $(".is-dragged"); if (moved) { moved.classList.remove("is-dragged"); sorted(moved.parentNode); } });
on("keydown", (event) => {
  const move = { ArrowUp: "before", ArrowDown: "after" }[event.key], row = move && event.altKey && event.target.closest("[data-sortable] > *");
  if (!row) return;
  event.preventDefault();
  const other = move === "before" ? row.previousElementSibling : row.nextElementSibling;
  if (!other) return;
  other[move](row);
  event.target.focus(); sorted(row.parentNode);
});

ticked();
