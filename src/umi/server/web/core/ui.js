// Components that views are made of. Texts of memories go through <Words> or <Name> and nowhere else.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { key } from "./api.js";
import { useApp } from "./app.js";
import { link } from "./router.js";
import { t, word } from "./i18n.js";
import { cut, day, isVisible, number, seen, since, time } from "./format.js";

let ids = 0;
/** An id for a label, an element and what they name; the same as long as the component is there. */
export const useId = () => useState(() => `id-${(ids += 1)}`)[0];

const FIRST = 2000; // characters of a text that are shown before it is asked for
const MORE = 20000;

/** Text that somebody wrote: shown as text, its direction kept to itself, cut where it is long. `marks` is a range [from, to) to mark. */
export function Words({ text, said = false, marks = null, first = FIRST }) {
  const [length, setLength] = useState(first);
  const whole = String(text ?? "");
  const head = cut(whole, length);
  const kind = said ? "words said" : "words";
  if (!isVisible(cut(whole, FIRST))) return html`<span class="tag">${t("words.invisible", { n: whole.length })}</span>`;
  return html`<span class=${kind} dir="auto">${marked(seen(head), marks)}</span>${
    head.length < whole.length &&
    html`<span class="soft"> … </span><button class="button quiet small" onClick=${() => setLength(length + MORE)}>
      ${t("words.more", { n: whole.length - head.length })}
    </button>`
  }`;
}

// A span counts characters as Python does: a sign beyond the first 65,536 is one.
function marked(text, marks) {
  if (!marks) return text;
  const signs = Array.from(text);
  const [from, to] = marks;
  if (from >= signs.length || (from === 0 && to >= signs.length)) return text;
  return [signs.slice(0, from).join(""), html`<mark>${signs.slice(from, to).join("")}</mark>`, signs.slice(to).join("")];
}

/** A short text of somebody within a sentence or a link: a name, a value. */
export const Name = ({ text, first = 80 }) => {
  const whole = String(text ?? "");
  const head = cut(whole, first);
  return isVisible(head) ? html`<bdi class="name">${seen(head)}${head.length < whole.length ? "…" : ""}</bdi>` : html`<span class="tag">${t("words.invisible", { n: whole.length })}</span>`;
};

const SIGNS = {
  current: html`<circle cx="6" cy="6" r="4.5" fill="currentColor" />`,
  superseded: html`<g fill="none" stroke="currentColor" stroke-width="1.6"><circle cx="6" cy="6" r="4.5" /><path d="M2 10 10 2" /></g>`,
  stale: html`<g stroke="currentColor" stroke-width="1.6"><circle cx="6" cy="6" r="4.5" fill="none" /><path d="M6 1.5a4.5 4.5 0 0 1 0 9z" fill="currentColor" /></g>`,
  disputed: html`<path d="M1 2.5h10M1 9.5h10M6 0v12" fill="none" stroke="currentColor" stroke-width="1.8" />`,
  forgotten: html`<path d="m2 2 8 8m0-8-8 8" fill="none" stroke="currentColor" stroke-width="1.8" />`,
};

/** The state of a statement, told by sign, word and colour. */
export const State = ({ state }) => html`
  <span class=${`state ${state}`}><svg viewBox="0 0 12 12" aria-hidden="true">${SIGNS[state]}</svg>${word("state", state)}</span>`;

/** A date; the exact moment on hover. */
export const When = ({ at, exact = false }) => html`<time dateTime=${at || ""} title=${at ? time(at) : ""}>${exact ? time(at) : day(at)}</time>`;

/** "Alice · 12 Jan 2026": who said it and when. */
export const Source = ({ entity, episode, space }) => html`
  ${episode?.speaker && html`<${Name} text=${episode.speaker} /> `}
  <${When} at=${(since(entity || {}) || episode?.at) ? (since(entity || {})?.toISOString() || episode.at) : null} />
  ${entity && html` <a href=${link(space, "why", entity.id)}>${t("why.link")}</a>`}`;

export const Loading = () => html`<div class="loading" role="status">${t("loading")}</div>`;

/** What failed, and what to do about it. */
export function Failed({ error, retry }) {
  const app = useApp(); // null at the door, which has a field for a key
  if (!error) return null;
  const isShut = error.status === 401;
  const enter = isShut && app && app.settings.leave;
  const known = t(`error.${error.code || "bug"}`);
  const advice = known === `error.${error.code || "bug"}` ? t(`error.status.${error.status >= 500 ? 500 : error.status}`) : known;
  return html`<div class="note bad" role="alert">
    <strong>${isShut && !key.get() ? t("door.title") : advice.startsWith("error.") ? t("error.other") : advice}</strong>
    ${error.message && html`<span class="tiny"><${Words} text=${error.message} /></span>`}
    ${(enter || retry) && html`<div class="row">${enter && html`<button type="button" class="button small" onClick=${enter}>${t("door.other")}</button>`}
      ${retry && html`<button type="button" class="button small" onClick=${retry}>${t("again")}</button>`}</div>`}
  </div>`;
}

/** Nothing here, said so that one learns what would be. */
export const Empty = ({ title, children }) => html`<div class="empty"><h2>${title}</h2>${children}</div>`;

/** What `useLoad` gave: loading, failed, or the view of its data. Data that is there stays while it is loaded again. */
export const Loaded = ({ from, children }) => {
  if (from.error) return html`<${Failed} error=${from.error} retry=${from.reload} />`;
  if (from.data === null) return html`<${Loading} />`;
  return children(from.data);
};

/** A labelled field: <Field label=..>${(id) => html`<input id=${id} class="input" />`}<//> */
export function Field({ label, hint, children }) {
  const id = useId();
  return html`<div class="field"><label class="label" for=${id}>${label}</label>${children(id, hint ? `${id}-hint` : undefined)}
    ${hint && html`<span class="hint" id=${`${id}-hint`}>${hint}</span>`}</div>`;
}

/** The head of a view: its title, what it is for, and what can be done there. */
export const Head = ({ title, about, children }) => html`
  <header class="head"><h1 tabindex="-1">${title}</h1>${children}${about && html`<p class="about">${about}</p>`}</header>`;

/** A dialog. Escape and the button close it; focus goes in, and back to where it was. */
export function Dialog({ title, close, children, danger = false }) {
  const box = useRef(null);
  const id = useId();
  useEffect(() => {
    const [before, mine] = [document.activeElement, box.current];
    const closed = () => close();
    mine.showModal();
    mine.addEventListener("close", closed);
    // What is behind an open dialog takes no focus, so it is closed before it goes.
    return () => {
      mine.removeEventListener("close", closed);
      mine.close();
      before?.focus?.();
    };
  }, []);
  return html`<dialog ref=${box} class=${danger ? "dialog danger" : "dialog"} aria-labelledby=${id}>
    <header class="row centre"><h2 id=${id}>${title}</h2>
      <button type="button" class="button quiet end" onClick=${() => box.current.close()}>${t("close")}</button></header>
    <div class="stack">${children}</div>
  </dialog>`;
}

export const Count = ({ n }) => html`<span class="tiny soft">${number(n)}</span>`;
