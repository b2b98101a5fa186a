// Statements of a subject with what happened to them, for the timeline and the graph.
import { html, useEffect, useState } from "../vendor/preact.js";
import { call, get, spacePath } from "../core/api.js";
import { useApp } from "../core/app.js";
import { moment, since } from "../core/format.js";
import { t, word } from "../core/i18n.js";
import { go, link } from "../core/router.js";
import { Field, Name } from "../core/ui.js";

const RECENT = 200; // newest statements, whose subjects are offered
const SHOWN = 12;
const CONCLUSIONS = 24; // on other subjects, that are looked up one by one
const SET = "attr:"; // begins slots of attributes that Umi has no name for
export const HISTORY_MOST = 10_000; // statements of a subject that are loaded at once
const SETTLE_MS = 1500;

/** Kinds of what became of a statement, in the order of a legend. */
export const KINDS = ["current", "updated", "corrected", "ended", "disputed", "stale", "forgotten"];

/** `live`, once nothing more has come for a while: what takes long to load is not loaded for each write of an import. */
export function useSettled(live) {
  const [turn, setTurn] = useState(live);
  useEffect(() => {
    const timer = setTimeout(() => setTurn(live), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [live]);
  return turn;
}

/** Subjects of the newest statements, most spoken of first: [{subject, name, n}]. */
export async function subjectsOf(space, signal) {
  const page = await get(spacePath(space, "entities"), { limit: RECENT, order: "newest" }, { signal });
  const counts = new Map();
  for (const { entity } of page.items) {
    if (!entity.subject) continue;
    const held = counts.get(entity.subject) || { subject: entity.subject, name: entity.name, n: 0 };
    held.n += entity.slot ? 1 : 0.01; // what nothing structured is said of comes last
    counts.set(entity.subject, held);
  }
  return [...counts.values()].sort((one, other) => other.n - one.n).slice(0, SHOWN);
}

/** How many statements there are about a subject, and how many begin in each of so many parts of their time. */
export const countsOf = (space, subject, parts, signal) => get(spacePath(space, "history", subject, "counts"), { parts }, { signal });

/** The newest statements about a subject, `most` at most, with conclusions that rest on them: {steps, loaded, leftOut, isWhole}. `within` is {held: [from, to]} or {known: [from, to]}. */
export async function historyOf(space, subject, { signal, most, within }) {
  const page = await windowOf(spacePath(space, "history", subject), { limit: most, ...within }, signal);
  return { loaded: page.length, isWhole: page.length < most, ...(await concluded(space, page, signal)) };
}

// An answer that ends earlier, since statements are long, leads to its rest.
async function windowOf(path, params, signal) {
  const found = [];
  let page = await call("GET", path, { params, full: true, signal });
  for (;;) {
    found.push(...page.data.map(slim));
    if (!page.next) return found;
    page = await call("GET", page.next, { full: true, signal });
  }
}

async function concluded(space, found, signal) {
  const known = new Set(found.map((one) => one.id));
  const rests = [...new Set(found.flatMap((one) => one.relations.filter((row) => row.type === "derive" && row.from === one.id && !row.undone && !known.has(row.to)).map((row) => row.to)))];
  const looked = await Promise.all(rests.slice(0, CONCLUSIONS).map((id) => get(spacePath(space, "history", id), {}, { signal })));
  const conclusions = looked.flatMap((chain, at) => chain.filter((one) => one.entity.id === rests[at]).map(slim));
  for (const one of conclusions) found.push({ ...one, attribute: CONCLUDED });
  return { steps: withKinds(found), leftOut: Math.max(0, rests.length - CONCLUSIONS) };
}

export const CONCLUDED = "(concluded)";

/** What the views need of a step. Long texts stay whole; nothing else of it is kept. */
export function slim({ entity, state, evolutions }) {
  const said = since(entity);
  return {
    id: entity.id,
    subject: entity.subject,
    name: entity.name,
    also: entity.also,
    // The name by which a caller set it, where Umi has none.
    attribute: entity.slot.startsWith(SET) ? String(entity.metadata.attribute || entity.slot.slice(SET.length)) : entity.slot,
    value: entity.value,
    negated: entity.negated,
    content: entity.content,
    state,
    from: said ? said.getTime() : moment(entity.at)?.getTime() ?? 0,
    to: moment(entity.valid_to)?.getTime() ?? null,
    known: moment(entity.recorded_at)?.getTime() ?? 0,
    dropped: moment(entity.invalidated_at)?.getTime() ?? null,
    relations: evolutions.map((row) => ({
      id: row.id, from: row.source_id, to: row.target_id, type: row.evolution_type, nature: row.nature, reason: row.reason, acted: row.acted, undone: !!row.undone_at, resolved: row.resolved,
    })),
  };
}

/** Steps with `kind`: what became of each. A replaced one that held for no time was corrected; one that a denial of it replaced has ended. */
export function withKinds(steps) {
  const byId = new Map(steps.map((one) => [one.id, one]));
  return steps.map((one) => ({ ...one, kind: kindOf(one, byId) }));
}

function kindOf(one, byId) {
  if (one.state !== "superseded") return one.state;
  const by = one.relations.find((row) => row.from === one.id && row.type === "update" && row.acted && !row.undone);
  if (by?.nature === "corrected" || (one.to !== null && one.to <= one.from)) return "corrected";
  const newer = by && byId.get(by.to);
  if (by?.nature === "ended" || !by || (newer?.negated && !one.negated && newer.value === one.value)) return "ended";
  return "updated";
}

/** The subjects to choose from, and a field for another. */
export function Subjects({ view, subjects, subject }) {
  const { space } = useApp();
  const [text, setText] = useState("");
  const open = (event) => {
    event.preventDefault();
    if (text.trim()) go(link(space, view, text.trim()));
    setText("");
  };
  return html`<div class="row">
    <ul class="chips grow" aria-label=${t("now.subjects")}>${subjects.map((one) => html`<li key=${one.subject}>
      <a class="chip" href=${link(space, view, one.name)} aria-current=${one.name === subject ? "true" : undefined}><${Name} text=${one.name} first=${40} /></a></li>`)}</ul>
    <form class="row" onSubmit=${open}>
      <${Field} label=${t("now.other")}>${(id) => html`<input id=${id} class="input" dir="auto" value=${text} onInput=${(event) => setText(event.target.value)} />`}<//>
      <button class="button">${t("now.show")}</button>
    </form>
  </div>`;
}

// One sign for each kind, 12 by 12: told apart by shape, not only by colour.
const SIGNS = {
  current: html`<path d="M3 1.5 8.5 6 3 10.5" fill="none" stroke="currentColor" stroke-width="2.2" />`,
  updated: html`<path d="M0 6h7M4.5 3l3 3-3 3M10.5 1.5v9" fill="none" stroke="currentColor" stroke-width="1.8" />`,
  corrected: html`<path d="M1.5 4h9M1.5 8h9M9 1 3 11" fill="none" stroke="currentColor" stroke-width="1.8" />`,
  ended: html`<path d="M2 2h8v8H2z" fill="currentColor" />`,
  disputed: html`<path d="M1 3.5h10M1 8.5h10M6 0v12" fill="none" stroke="currentColor" stroke-width="2" />`,
  stale: html`<g stroke="currentColor" stroke-width="1.6"><circle cx="6" cy="6" r="4.5" fill="none" /><path d="M6 1.5a4.5 4.5 0 0 1 0 9z" fill="currentColor" /></g>`,
  forgotten: html`<path d="m2 2 8 8m0-8-8 8" fill="none" stroke="currentColor" stroke-width="2" />`,
};
export const Sign = ({ kind }) => SIGNS[kind];

/** The words for the attribute of a group of rows. */
export const titled = (attribute) => (attribute === CONCLUDED ? t("timeline.concluded") : attribute ? word("attribute", attribute) : t("attribute.none"));

/** Fills of bars, for one drawing of the page; all of them take these. */
export const Patterns = () => html`<defs>
  <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch" d="M1 0v6" /></pattern>
  <pattern id="dots" width="5" height="5" patternUnits="userSpaceOnUse"><circle class="dots" cx="2" cy="2" r="1" /></pattern></defs>`;
