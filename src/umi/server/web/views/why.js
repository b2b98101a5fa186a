// Why: where a statement comes from, what it rests on, what changed it, who decided that and how sure, and what rests on it.
import { html } from "../vendor/preact.js";
import { get, spacePath } from "../core/api.js";
import { useApp, useLoad } from "../core/app.js";
import { moment, percent } from "../core/format.js";
import { t, word } from "../core/i18n.js";
import { useLive } from "../core/live.js";
import { Relation, Statement } from "../core/relations.js";
import { go, link } from "../core/router.js";
import { Empty, Head, Loaded, Name, State, When, Words } from "../core/ui.js";

const LATEST = 20;

export default function Why() {
  const { route } = useApp();
  return route.arg ? html`<${OfOne} id=${route.arg} />` : html`<${Latest} />`;
}

function Latest() {
  const { space } = useApp();
  const live = useLive();
  const found = useLoad((signal) => get(spacePath(space, "entities"), { limit: LATEST, order: "newest" }, { signal }), [space, live]);
  return html`<${Head} title=${t("nav.why")} about=${t("why.about")} />
    <${Loaded} from=${found}>${({ items }) => items.length
      ? html`<section class="card"><h2>${t("why.latest")}</h2><ol class="rows">${items.map(({ entity, state }) => html`<li key=${entity.id}><${Statement} entity=${entity} state=${state} space=${space} /></li>`)}</ol></section>`
      : html`<${Empty} title=${t("now.empty.title")}><p class="soft">${t("why.empty")}</p><//>`}<//>`;
}

function OfOne({ id }) {
  const { space } = useApp();
  const live = useLive();
  const found = useLoad(async (signal) => {
    const told = await get(spacePath(space, "entities", id, "why"), {}, { signal });
    return { told, chain: await get(spacePath(space, "history", told.entity.id), {}, { signal }) };
  }, [space, id, live]);
  return html`<${Head} title=${t("why.title")} about=${t("why.about")}>${found.data && html`<${Acts} told=${found.data.told} />`}<//>
    <${Loaded} from=${found}>${({ told, chain }) => html`
      <section class="card claim" data-id=${told.entity.id}><h2 class="unseen">${t("why.statement")}</h2><p class="lead"><${Words} said text=${told.entity.content} /></p><${Facts} told=${told} /></section>
      <${Source} told=${told} />
      <${Chain} told=${told} chain=${chain} />
      <${Grounds} title=${t("why.rests")} about=${t("why.rests.about")} items=${told.derived_from} relations=${told.stale_because} />
      <${Grounds} title=${t("why.supports")} about=${t("why.supports.about")} items=${told.supports} />`}<//>`;
}

function Acts({ told }) {
  const { space, may, act } = useApp();
  const { entity } = told;
  return html`<div class="row end">
    ${may("write") && entity.slot && entity.name && html`<button class="button" onClick=${() => act("correct", { subject: entity.name, attribute: entity.slot, value: entity.value })}>${t("correct.open")}</button>`}
    ${may("erase") && may("read") && html`<button class="button danger" onClick=${() => act("forget", { entity, done: () => go(link(space, "now", entity.name)) })}>${t("forget.open")}</button>`}
  </div>`;
}

const Pair = ({ name, children }) => html`<div class="pair"><dt>${name}</dt><dd>${children}</dd></div>`;

function Facts({ told }) {
  const { space } = useApp();
  const { entity } = told;
  return html`<dl class="pairs">
    <${Pair} name=${t("why.state")}><${State} state=${told.state} /><//>
    ${entity.name && html`<${Pair} name=${t("why.subject")}><a href=${link(space, "now", entity.name)}><${Name} text=${entity.name} /></a><//>`}
    ${entity.slot && html`<${Pair} name=${word("attribute", entity.slot)}>${entity.negated && html`<em>${t("fact.not")} </em>`}<${Name} text=${entity.value} first=${400} /><//>`}
    ${entity.mode !== "asserted" && html`<${Pair} name=${t("why.mode")}>${word("mode", entity.mode)}<//>`}
    <${Pair} name=${t("why.held")}><${When} at=${entity.valid_from} /> – ${moment(entity.valid_to) ? html`<${When} at=${entity.valid_to} />` : t("why.today")}<//>
    <${Pair} name=${t("why.known")}><${When} at=${entity.recorded_at} exact />${entity.invalidated_at && html` – <${When} at=${entity.invalidated_at} exact />`}<//>
    ${entity.confidence < 1 && html`<${Pair} name=${t("why.confidence")}>${percent(entity.confidence)}<//>`}
    ${entity.said_by && html`<${Pair} name=${t("why.said_by")}><${Name} text=${entity.said_by} /><//>`}
    ${told.lesson && html`<${Pair} name=${t("why.lesson")}>${t("why.lesson.told", { n: told.lesson.counted, share: percent(told.lesson.estimate) })}<//>`}
  </dl>`;
}

function Source({ told }) {
  const { episode, entity } = told;
  return html`<section class="card"><h2>${t("why.source")}</h2>
    <p><${Words} said text=${episode.content} marks=${entity.span} /></p>
    <div class="meta">${episode.speaker && html`<${Name} text=${episode.speaker} />`}<span><${When} at=${episode.at} exact /></span>
      <span class="tag">${word("origin", episode.origin)}</span>
      ${episode.session && html`<span>${t("why.session")} <${Name} text=${episode.session} /></span>`}</div></section>`;
}

function Chain({ told, chain }) {
  const { space, may, act } = useApp();
  const shown = new Set();
  const once = (rows) => rows.filter((one) => !shown.has(one.id) && shown.add(one.id));
  return html`<section class="card"><h2>${t("why.chain")}</h2>
    <ol class="rows chain">${chain.map((step) => html`<li key=${step.entity.id} aria-current=${step.entity.id === told.entity.id ? "true" : undefined}>
      <${Statement} entity=${step.entity} state=${step.state} space=${space} />
      ${step.reason && html`<p class="soft">${t("why.set")} <${Words} text=${step.reason} /></p>`}
      ${once(step.evolutions.filter((one) => one.target_id === step.entity.id)).map((one) => html`<${Relation} key=${one.id} relation=${one}>
        ${may("write") && !one.undone_at && html`<button class="button small" onClick=${() => act("undo", { relation: one })}>${t("undo.open")}</button>`}<//>`)}</li>`)}</ol>
    ${chain.length < 2 && html`<p class="soft">${t("why.alone")}</p>`}</section>`;
}

function Grounds({ title, about, items, relations = [] }) {
  const { space } = useApp();
  if (!items.length && !relations.length) return null;
  return html`<section class="card"><h2>${title}</h2><p class="soft">${about}</p>
    ${relations.length > 0 && html`<div class="note bad"><strong>${t("why.stale")}</strong>${relations.map((one) => html`<${Relation} key=${one.id} relation=${one} />`)}</div>`}
    <ol class="rows">${items.map((one) => html`<li key=${one.id}><${Statement} entity=${one} space=${space} /></li>`)}</ol></section>`;
}
