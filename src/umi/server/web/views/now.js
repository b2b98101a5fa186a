// Now: what holds of a subject, by kind, each with its source and date; at an earlier date too.
import { html, useState } from "../vendor/preact.js";
import { get, spacePath } from "../core/api.js";
import { useApp, useLoad } from "../core/app.js";
import { DAY_LAST, endOfDay, since } from "../core/format.js";
import { t, word } from "../core/i18n.js";
import { useLive } from "../core/live.js";
import { go, link, replace } from "../core/router.js";
import { Empty, Field, Head, Loaded, Name, State, When } from "../core/ui.js";

const RECENT = 200; // newest statements, whose subjects are offered
const SHOWN = 12;
const FACTS = 40; // of a kind at first
const FACTS_MOST = 10_000;

/** Subjects of the newest statements, most spoken of first. A subject that nothing structured is said of comes last. */
function subjectsOf(steps) {
  const counts = new Map();
  for (const { entity } of steps) {
    if (!entity.subject) continue;
    const held = counts.get(entity.subject) || { subject: entity.subject, name: entity.name, n: 0 };
    held.n += entity.slot ? 1 : 0.01;
    counts.set(entity.subject, held);
  }
  return [...counts.values()].sort((one, other) => other.n - one.n).slice(0, SHOWN);
}

export default function Now() {
  const { space } = useApp();
  const live = useLive();
  const recent = useLoad((signal) => get(spacePath(space, "entities"), { limit: RECENT, order: "newest" }, { signal }), [space, live]);
  if (!recent.data) return html`<${Head} title=${t("nav.now")} /><${Loaded} from=${recent} />`;
  return html`<${Loaded} from=${recent}>${(page) => html`<${OfSubject} live=${live} subjects=${subjectsOf(page.items)} isEmpty=${!page.items.length} />`}<//>`;
}

function OfSubject({ subjects, isEmpty, live }) {
  const { space, route, may, act } = useApp();
  const subject = route.arg || subjects[0]?.name || "";
  const asOf = route.query.as_of || "";
  if (isEmpty) {
    return html`<${Head} title=${t("nav.now")} /><${Empty} title=${t("now.empty.title")}><p class="soft">${t("now.empty.about")}</p>
      ${may("write") ? html`<div class="row"><button class="button main-act" onClick=${() => act("remember", {})}>${t("remember.title")}</button>
        <button class="button" onClick=${() => act("import", {})}>${t("import.open")}</button></div><p class="soft tiny">${t("now.empty.drop")}</p>` : html`<pre>umi remember "I live in Berlin." --speaker Alice -n ${space}</pre>`}<//>`;
  }
  return html`
    <${Head} title=${html`<${Name} text=${subject || t("nav.now")} />`} about=${t("now.about")}><span class="eyebrow">${t(asOf ? "now.then" : "nav.now")}</span>
      ${subject && may("erase") && may("read") && html`<button class="button danger end" onClick=${() => act("erase", { subject })}>${t("erase.open")}</button>`}<//>
    <${Subjects} subjects=${subjects} subject=${subject} asOf=${asOf} />
    ${subject && html`<${Profile} key=${subject} subject=${subject} asOf=${asOf} live=${live} />`}`;
}

function Subjects({ subjects, subject, asOf }) {
  const { space } = useApp();
  const [text, setText] = useState("");
  const open = (event) => {
    event.preventDefault();
    if (text.trim()) go(link(space, "now", text.trim(), { as_of: asOf }));
    setText("");
  };
  return html`<div class="stack">
    <ul class="chips" aria-label=${t("now.subjects")}>${subjects.map((one) => html`<li key=${one.subject}>
      <a class="chip" href=${link(space, "now", one.name, { as_of: asOf })} aria-current=${one.name === subject ? "true" : undefined}><${Name} text=${one.name} first=${40} /></a></li>`)}</ul>
    <div class="row">
      <form class="row grow" onSubmit=${open}>
        <div class="grow"><${Field} label=${t("now.other")}>${(id) => html`<input id=${id} class="input" dir="auto" value=${text} onInput=${(event) => setText(event.target.value)} />`}<//></div>
        <button class="button">${t("now.show")}</button>
      </form>
      <${Field} label=${t("asof.label")}>${(id) => html`<input id=${id} class="input" type="date" max=${DAY_LAST} value=${asOf}
        onChange=${(event) => replace(link(space, "now", subject, { as_of: event.target.value }))} />`}<//>
    </div>
  </div>`;
}

function Profile({ subject, asOf, live }) {
  const { space } = useApp();
  const [most, setMost] = useState(FACTS);
  const profile = useLoad(
    (signal) => get(spacePath(space, "profile", subject), { as_of: endOfDay(asOf), limit: most }, { signal }),
    [space, subject, asOf, live, most],
  );
  const more = () => setMost(Math.min(FACTS_MOST, most * 10));
  return html`<${Loaded} from=${profile}>${(data) => {
    const groups = Object.entries(data.groups);
    if (!groups.length) return html`<${Empty} title=${t("now.nothing.title")}><p class="soft">${t(asOf ? "now.nothing.then" : "now.nothing.about")}</p>
      <a class="button" href=${link(space, "timeline", subject)}>${t("now.history")}</a><//>`;
    return html`<div class="cards">${groups.map(([kind, facts]) => html`<${Group} key=${kind} kind=${kind} facts=${facts} rest=${data.left_out[kind] || 0} more=${more} busy=${profile.loading} />`)}</div>`;
  }}<//>`;
}

function Group({ kind, facts, rest, more, busy }) {
  return html`<section class="card" aria-label=${word("group", kind)}>
    <h2>${word("group", kind)}</h2>
    <ul class="rows">${facts.map((fact) => html`<${Fact} key=${fact.entity.id} fact=${fact} />`)}</ul>
    ${rest > 0 && html`<button class="button" disabled=${busy} onClick=${more}>${t("now.more", { n: rest })}</button>`}
  </section>`;
}

function Fact({ fact }) {
  const { space, route, may, act } = useApp();
  const canCorrect = may("write") && fact.attribute && !route.query.as_of && !fact.negated;
  const begun = since(fact.entity);
  const planned = fact.entity.mode === "planned";
  return html`<li class="fact">
    <span class="attribute"><bdi>${fact.attribute ? word("attribute", fact.attribute) : t("attribute.none")}</bdi></span>
    <span class="value">${fact.negated && html`<em>${t("fact.not")} </em>`}<${Name} text=${fact.value} first=${400} /></span>
    <span class="source">
      ${fact.state !== "current" && html`<${State} state=${fact.state} />`}
      ${planned && html`<span class="tag">${t("fact.planned")}</span>`}
      ${["tool", "document"].includes(fact.origin) && html`<span class="tag">${word("origin", fact.origin)}</span>`}
      ${begun && html`<span>${t("fact.since")} <${When} at=${begun.toISOString()} /></span>`}
      <a href=${link(space, "why", fact.entity.id)}>${t("why.link")}<span class="unseen">: ${fact.attribute} ${fact.value.slice(0, 80)}</span></a>
      ${canCorrect && html`<button class="button quiet small" onClick=${() => act("correct", { subject: fact.entity.name, attribute: fact.attribute, value: fact.value })}>${t("correct.open")}<span class="unseen">: ${fact.attribute} ${fact.value.slice(0, 80)}</span></button>`}
    </span>
  </li>`;
}
