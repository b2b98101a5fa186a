// Review: disputes and changes too unsure to act, one after the other; decided by button or by key.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { get, post, spacePath } from "../core/api.js";
import { useAct, useApp, useLoad } from "../core/app.js";
import { t } from "../core/i18n.js";
import { useLive } from "../core/live.js";
import { Relation, Statement } from "../core/relations.js";
import { Empty, Failed, Head, Loaded } from "../core/ui.js";

const PAGE = 50;
const KEYS = { 1: "new", 2: "old", 3: "both" };
const SIDES = ["new", "old", "both"];

/** Pages until there is something to show: a page may be empty before the last. */
async function undecided(space, after, signal) {
  let page = await get(spacePath(space, "undecided"), { limit: PAGE, after }, { signal });
  while (!page.items.length && page.next) page = await get(spacePath(space, "undecided"), { limit: PAGE, after: page.next }, { signal });
  return page;
}

export default function Review() {
  const { space, may } = useApp();
  const live = useLive();
  const [after, setAfter] = useState("");
  const found = useLoad((signal) => undecided(space, after, signal), [space, live, after]);
  return html`<${Head} title=${t("nav.review")} about=${t("review.about")} />
    <${Loaded} from=${found}>${({ items, next }) => (items.length
      ? html`${may("write") && html`<p class="soft tiny" id="keys">${t("review.keys")}</p>`}
        <${List} items=${items} reload=${found.reload} />
        <div class="row">${after && html`<button class="button" onClick=${() => setAfter("")}>${t("review.first")}</button>`}
          ${next && html`<button class="button" onClick=${() => setAfter(next)}>${t("review.next")}</button>`}</div>`
      : html`<${Empty} title=${t("review.empty.title")}><p class="soft">${t("review.empty.about")}</p><//>`)}<//>`;
}

function List({ items, reload }) {
  const box = useRef(null);
  const at = useRef(0);
  const refocus = useRef(false);
  const cards = () => [...box.current.querySelectorAll(":scope > li")];
  const focus = (place) => {
    const all = cards();
    at.current = Math.max(0, Math.min(place, all.length - 1));
    all[at.current]?.focus();
  };
  // After a decision the next one is at the same place.
  useEffect(() => {
    if (!refocus.current) return;
    refocus.current = false;
    focus(at.current);
  }, [items]);
  // Wherever the focus is: a view that was opened has it on its title, or nowhere.
  useEffect(() => {
    const move = (event) => {
      const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
      if (!step || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
      event.preventDefault();
      focus(cards().findIndex((one) => one.contains(document.activeElement)) + step);
    };
    addEventListener("keydown", move);
    return () => removeEventListener("keydown", move);
  }, []);
  return html`<ol class="stack wide" ref=${box}>${items.map((one, place) => html`
    <${Item} key=${one.relation.id} one=${one} decided=${() => { at.current = place; refocus.current = true; reload(); }} />`)}</ol>`;
}

function Item({ one, decided }) {
  const { space, may, notify, act } = useApp();
  const isUpdate = one.relation.evolution_type === "update";
  const resolve = useAct(async (keep) => {
    const relation = await post(spacePath(space, "relations", one.relation.id, "resolve"), { keep });
    notify(t(`resolved.${keep}`), { label: t("undo.act"), act: () => act("undo", { relation }) });
    decided();
  });
  const press = (event) => {
    const keep = KEYS[event.key];
    if (!keep || !may("write") || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    resolve.run(keep);
  };
  return html`<li class="card pairing" tabindex="0" aria-labelledby=${`about-${one.relation.id}`} onKeyDown=${press}>
    <div id=${`about-${one.relation.id}`}><${Relation} relation=${one.relation} /></div>
    <div class="sides">
      <section><h2>${t("review.older")}</h2><${Statement} entity=${one.older} state=${one.older_state} space=${space} /></section>
      <section><h2>${t("review.newer")}</h2><${Statement} entity=${one.newer} state=${one.newer_state} space=${space} /></section>
    </div>
    ${may("write") && html`<div class="row">${SIDES.map((keep, at) => html`<button key=${keep} class=${keep === "new" ? "button main-act" : "button"} disabled=${resolve.busy} onClick=${() => resolve.run(keep)}>
      ${t(`review.${isUpdate ? "update" : "contradict"}.${keep}`)} <kbd aria-hidden="true">${at + 1}</kbd></button>`)}</div>`}
    ${resolve.error && html`<${Failed} error=${resolve.error} />`}
  </li>`;
}
