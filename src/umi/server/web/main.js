// The page: who is there (GET /v1/me), which namespace, which view. Views are loaded when they are opened.
import { html, render, useCallback, useEffect, useErrorBoundary, useRef, useState } from "./vendor/preact.js";
import { ApiError, get, key, spacePath } from "./core/api.js";
import { App, useApp, useLoad } from "./core/app.js";
import { seen } from "./core/format.js";
import { choose, LANGUAGES, language, preferred, t } from "./core/i18n.js";
import { follow, useLive } from "./core/live.js";
import { current, go, link, VIEWS } from "./core/router.js";
import { Empty, Failed, Field, Loading, Name } from "./core/ui.js";

const SPACE = "umi-namespace";
const THEME = "umi-theme";
const THEMES = ["", "light", "dark"];
const TOAST_MS = 8000;
const WAITING_MOST = 99; // changes to review that are counted

const ICONS = {
  now: "M4 12a8 8 0 1 0 16 0 8 8 0 1 0-16 0m8-3.5V12l2.5 2",
  timeline: "M3 7h9M8 12h11M5 17h7",
  ask: "M5 11a6 6 0 1 0 12 0 6 6 0 1 0-12 0m10.5 4.5L20 20",
  why: "M9.2 9a3 3 0 1 1 4.3 2.7c-1 .5-1.5 1-1.5 2.3m0 3v.1",
  graph: "M7 7a2 2 0 1 0 .1 0M17 6a2 2 0 1 0 .1 0M13 17a2 2 0 1 0 .1 0M8.5 9.5l4 6.5M9 8.8l6-.6M16.5 10l-2.6 6.3",
  review: "M5 6h8M5 12h5M5 18h4m4-2 3 3 5-7",
  activity: "M5 19v-5m5 5V9m5 10v-7m5 7V5",
  admin: "M12 3.5 19 6v5.5c0 4-3 7-7 9-4-2-7-5-7-9V6zM9 12l2 2 4-4",
  menu: "M4 7h16M4 12h16M4 17h16",
  add: "M12 5v14M5 12h14",
};
const Icon = ({ name }) => html`<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d=${ICONS[name]} /></svg>`;
const Mark = () => html`<svg viewBox="0 0 32 32" fill="none" stroke-width="2.8" stroke-linecap="round" aria-hidden="true"><path d="M4 12c4 0 4 3.4 8 3.4s4-3.4 8-3.4 4 3.4 8 3.4" stroke="var(--tide)" /><path d="M4 20c4 0 4 3.4 8 3.4s4-3.4 8-3.4 4 3.4 8 3.4" stroke="var(--coral)" /></svg>`;

const covers = (grant, space) =>
  grant.namespace.endsWith("*") ? space.startsWith(grant.namespace.slice(0, -1)) : space === grant.namespace;

function useRoute() {
  const [route, setRoute] = useState(current);
  useEffect(() => {
    const changed = () => setRoute(current());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}

/** Asks for a key where the server needs one. */
function Door({ error, entered }) {
  const [text, setText] = useState("");
  const enter = (event) => {
    event.preventDefault();
    key.set(text.trim());
    entered();
  };
  return html`<main class="door stack">
    <div class="brand"><${Mark} />Umi</div>
    <h1>${t("door.title")}</h1>
    <p class="soft">${t("door.about")}</p>
    <form class="stack" onSubmit=${enter}>
      <${Field} label=${t("door.key")} hint=${t("door.hint")}>${(id, hint) => html`
        <input id=${id} aria-describedby=${hint} class="input" type="password" autocomplete="off" spellcheck=${false} required value=${text} onInput=${(event) => setText(event.target.value)} />`}<//>
      ${error && key.get() && html`<${Failed} error=${error} />`}
      <div><button class="button main-act">${t("door.enter")}</button></div>
    </form>
    <pre>umi keys create --grant 'alice=read,write'</pre>
  </main>`;
}

function SpacePicker({ spaces }) {
  const { space, route } = useApp();
  const names = spaces.some((one) => one.name === space) ? spaces : [{ name: space }, ...spaces];
  return html`<label class="unseen" for="space">${t("space.label")}</label>
    <select id="space" class="input space" dir="auto" value=${space} onChange=${(event) => go(link(event.target.value, route.view))}>
      ${names.map((one) => html`<option key=${one.name} value=${one.name}>${seen(one.name)}</option>`)}
    </select>`;
}

function AskField() {
  const { space, route } = useApp();
  const asked = route.view === "ask" ? route.query.q || "" : "";
  const [text, setText] = useState(asked);
  useEffect(() => setText(asked), [asked]);
  const ask = (event) => {
    event.preventDefault();
    if (text.trim()) go(link(space, "ask", "", { ...(route.view === "ask" ? route.query : {}), q: text.trim() }));
  };
  return html`<form class="ask" role="search" onSubmit=${ask}>
    <label class="unseen" for="ask">${t("ask.label")}</label>
    <input id="ask" class="input" type="search" dir="auto" placeholder=${t("ask.placeholder")} value=${text} onInput=${(event) => setText(event.target.value)} />
  </form>`;
}

/** How many changes wait for a decision, beside the view that shows them. */
function Waiting() {
  const { space } = useApp();
  const live = useLive();
  const found = useLoad((signal) => get(spacePath(space, "undecided"), { limit: WAITING_MOST + 1 }, { signal }), [space, live]);
  const n = found.data?.items.length || 0;
  return n > 0 && html`<span class="count">${n > WAITING_MOST ? `${WAITING_MOST}+` : n}<span class="unseen"> ${t("review.waiting")}</span></span>`;
}

function Rail({ open, close, settings }) {
  const { space, route, me, may } = useApp();
  return html`<aside class="rail" id="rail" aria-label="Umi" data-open=${open || undefined}>
    <a class="brand" href=${link(space, "now")}><${Mark} />Umi</a>
    <nav aria-label=${t("nav.label")}><ul class="views">
      ${VIEWS.map((view) => html`<li key=${view}><a href=${link(space, view)} aria-current=${route.view === view ? "page" : undefined} onClick=${close}>
        <${Icon} name=${view} />${t(`nav.${view}`)}${view === "review" && may("read") && html`<${Waiting} />`}</a></li>`)}
    </ul></nav>
    <div class="rail-foot">
      <${Field} label=${t("settings.language")}>${(id) => html`<select id=${id} class="input" value=${language} onChange=${(event) => settings.language(event.target.value)}>
        ${Object.entries(LANGUAGES).map(([code, name]) => html`<option value=${code} lang=${code}>${name}</option>`)}</select>`}<//>
      <${Field} label=${t("settings.theme")}>${(id) => html`<select id=${id} class="input" value=${settings.theme} onChange=${(event) => settings.setTheme(event.target.value)}>
        ${THEMES.map((one) => html`<option value=${one}>${t(`theme.${one || "system"}`)}</option>`)}</select>`}<//>
      ${me.id && html`<button class="button small" onClick=${settings.leave}>${t("door.leave")}</button>`}
      <span>Umi ${me.version} · <a href="/docs">REST API</a></span>
    </div>
  </aside>`;
}

/** A view's module, loaded when it is opened. Its default export is a component without properties: see `useApp`. */
function View() {
  const { route } = useApp();
  const module = useLoad(() => import(`./views/${route.view}.js`).then(
    (found) => ({ view: route.view, Shown: found.default }),
    () => { throw new ApiError(0, { code: "unreachable" }); },
  ), [route.view]);
  const isThere = module.data?.view === route.view; // until then the data is of the view before
  const [broken, reset] = useErrorBoundary((error) => console.error(error));
  const box = useRef(null);
  useEffect(() => {
    reset();
    document.title = `${t(`nav.${route.view}`)} · ${route.space} · Umi`;
  }, [route.view, route.space]);
  // A view that was opened is read from its title on.
  const first = useRef(true);
  useEffect(() => {
    if (first.current) first.current = !isThere;
    else if (isThere) box.current?.querySelector("h1")?.focus();
  }, [route.view, isThere]);
  if (broken) return html`<${Failed} error=${{ code: "page", message: String(broken.message || broken) }} retry=${reset} />`;
  if (module.error) return html`<${Failed} error=${module.error} retry=${module.reload} />`;
  if (!isThere) return html`<${Loading} />`;
  const { Shown } = module.data;
  return html`<div class="view" data-view=${route.view} ref=${box}><${Shown} key=${`${route.space} ${route.view}`} /></div>`;
}

/** Files that are dropped anywhere are imported. */
function Drop() {
  const { act } = useApp();
  const [over, setOver] = useState(false);
  useEffect(() => {
    const carries = (event) => [...(event.dataTransfer?.types || [])].includes("Files");
    const hover = (event) => { if (carries(event)) { event.preventDefault(); setOver(true); } };
    const leave = (event) => { if (!event.relatedTarget) setOver(false); };
    const drop = (event) => {
      if (!carries(event)) return;
      event.preventDefault();
      setOver(false);
      act("import", { files: [...event.dataTransfer.files] });
    };
    const heard = { dragover: hover, dragleave: leave, drop };
    for (const [name, one] of Object.entries(heard)) addEventListener(name, one);
    return () => { for (const [name, one] of Object.entries(heard)) removeEventListener(name, one); };
  }, [act]);
  return over && html`<div class="dropping">${t("import.drop")}</div>`;
}

function Toasts({ toasts, drop }) {
  return html`<div class="toasts" role="status" aria-live="polite">${toasts.map((one) => html`<div class="toast" key=${one.id}>
    <span dir="auto">${one.text}</span>
    ${one.act && html`<button class="button small" onClick=${() => { drop(one.id); one.act(); }}>${one.label}</button>`}
  </div>`)}</div>`;
}

function Frame({ me, spaces, settings }) {
  const route = useRoute();
  const [open, setOpen] = useState(false);
  const [toasts, setToasts] = useState([]);
  const [dialog, setDialog] = useState(null);
  const names = spaces.map((one) => one.name);
  const held = localStorage.getItem(SPACE);
  const wantsDemo = new URLSearchParams(location.search).has("demo");
  const space = route.space || (wantsDemo && me.demo) || (names.includes(held) ? held : names[0]) || "";
  useEffect(() => {
    if (space && !(route.space && route.view)) location.replace(link(space, route.view || "now"));
  }, [space, route.space, route.view]);
  useEffect(() => {
    if (!space) return;
    localStorage.setItem(SPACE, space);
    follow(space);
  }, [space]);
  // A dialog belongs to what it was opened from.
  useEffect(() => setDialog(null), [space, route.view, route.arg]);
  const drop = (id) => setToasts((before) => before.filter((one) => one.id !== id));
  const notify = (text, { label, act } = {}) => {
    const id = `${performance.now()}`;
    setToasts((before) => [...before.slice(-2), { id, text, label, act }]);
    setTimeout(() => drop(id), TOAST_MS);
  };
  const act = useCallback((name, props) => import(`./acts/${name}.js`).then((module) => setDialog({ Shown: module.default, props }), () => notify(t("error.unreachable"))), []);
  const may = (right, where = space) => me.grants.some((grant) => grant.rights.includes(right) && covers(grant, where));
  const context = { space, route: { ...route, space, view: route.view || "now" }, me, may, notify, settings, open: (Shown, props) => setDialog({ Shown, props }), act };
  if (!space) return html`<${First} me=${me} leave=${settings.leave} />`;
  const Shown = dialog?.Shown;
  return html`<${App.Provider} value=${context}>
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.querySelector("#main").focus(); }}>${t("skip")}</a>
    <div class="frame">
      <${Rail} open=${open} close=${() => setOpen(false)} settings=${settings} />
      <div class="top" role="banner">
        <button class="button menu-button" aria-expanded=${open ? "true" : "false"} aria-controls="rail" onClick=${() => setOpen(!open)}><${Icon} name="menu" /><span class="label">${t("menu")}</span></button>
        <${SpacePicker} spaces=${spaces} />
        <${AskField} />
        ${may("write") && html`<button class="button main-act" onClick=${() => act("remember", {})}><${Icon} name="add" /><span class="label">${t("remember.act")}</span></button>`}
      </div>
      <main class="main" id="main" tabindex="-1" onClick=${() => open && setOpen(false)}>
        ${wantsDemo && html`<p class=${me.demo ? "note demo" : "note bad demo"}>${t(me.demo ? "demo.about" : "demo.how")}</p>`}<${View} /></main>
    </div>
    ${may("write") && html`<${Drop} />`}
    ${Shown && html`<${Shown} ...${dialog.props} close=${() => setDialog(null)} />`}
    <${Toasts} toasts=${toasts} drop=${drop} />
  <//>`;
}

/** No namespace yet: the first one is made by writing to it. */
function First({ me, leave }) {
  const [name, setName] = useState("");
  const writes = me.grants.some((grant) => grant.rights.includes("write"));
  const begin = (event) => {
    event.preventDefault();
    go(link(name.trim(), "now"));
  };
  return html`<main class="door stack"><div class="brand"><${Mark} />Umi</div>
    <${Empty} title=${t("first.title")}>
      <p class="soft">${t(writes ? "first.about" : "first.read")}</p>
      <form class="row" onSubmit=${begin}>
        <${Field} label=${t("space.label")}>${(id) => html`<input id=${id} class="input" required maxlength="256" dir="auto" value=${name} onInput=${(event) => setName(event.target.value)} placeholder="alice" />`}<//>
        <button class="button main-act">${t("first.begin")}</button>
      </form>
      ${me.id && html`<button class="button small" onClick=${leave}>${t("door.leave")}</button>`}
    <//></main>`;
}

function Page() {
  const [turn, setTurn] = useState(0);
  const [theme, setTheme] = useState(localStorage.getItem(THEME) || "");
  const who = useLoad(async (signal) => {
    const [me, { items }] = await Promise.all([get("/v1/me", {}, { signal }), get("/v1/namespaces", { limit: 1000 }, { signal })]);
    // A key may be for a namespace in which nothing is remembered yet.
    const granted = me.grants.map((one) => one.namespace).filter((name) => !name.endsWith("*") && !items.some((one) => one.name === name));
    return { me, spaces: [...items, ...granted.map((name) => ({ name }))] };
  }, [turn]);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem(THEME, theme);
  }, [theme]);
  const again = () => setTurn((before) => before + 1);
  const settings = {
    theme,
    setTheme,
    language: (code) => choose(code, { keep: true }).then(again),
    leave: () => { key.set(""); again(); },
    reload: again,
  };
  if (who.error?.status === 401) return html`<${Door} error=${who.error} entered=${again} />`;
  if (who.error) return html`<main class="door stack"><${Failed} error=${who.error} retry=${again} /></main>`;
  if (!who.data) return html`<${Loading} />`;
  return html`<${Frame} key=${language} me=${who.data.me} spaces=${who.data.spaces} settings=${settings} />`;
}

await choose(preferred());
render(html`<${Page} />`, document.querySelector("#umi"));
