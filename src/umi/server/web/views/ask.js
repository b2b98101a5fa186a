// Ask: what answers a question, how sure, what found it, and what was left out.
import { html, useState } from "../vendor/preact.js";
import { post, spacePath } from "../core/api.js";
import { useAct, useApp, useLoad } from "../core/app.js";
import { DAY_LAST, endOfDay, percent } from "../core/format.js";
import { has, t, word } from "../core/i18n.js";
import { useLive } from "../core/live.js";
import { link, replace } from "../core/router.js";
import { Empty, Failed, Field, Head, Loaded, Name, State, When, Words } from "../core/ui.js";

const LIMIT = 20;
const CONTEXT_TOKENS = 800;

export default function Ask() {
  const { route } = useApp();
  return html`<${Head} title=${t("nav.ask")} about=${t("ask.about")} />
    <${Options} />
    ${route.query.q ? html`<${Answer} />` : html`<${Empty} title=${t("ask.empty.title")}><p class="soft">${t("ask.empty.about")}</p><//>`}`;
}

function Options() {
  const { space, route } = useApp();
  const change = (more) => replace(link(space, "ask", "", { ...route.query, ...more }));
  return html`<div class="row">
    <${Field} label=${t("asof.label")}>${(id) => html`<input id=${id} class="input" type="date" max=${DAY_LAST} value=${route.query.as_of || ""} onChange=${(event) => change({ as_of: event.target.value })} />`}<//>
    <label class="check"><input type="checkbox" checked=${!!route.query.all} onChange=${(event) => change({ all: event.target.checked })} />${t("ask.all")}</label>
  </div>`;
}

function Answer() {
  const { space, route } = useApp();
  const live = useLive();
  const { q, as_of: asOf, all } = route.query;
  const found = useLoad(
    (signal) => post(spacePath(space, "recall"), { query: q, limit: LIMIT, explain: true, as_of: endOfDay(asOf) || null, include_superseded: !!all }, { signal, full: true }),
    [space, q, asOf, all, live],
  );
  return html`<${Loaded} from=${found}>${({ data, leftOut }) => html`
    ${data.degraded.length > 0 && html`<div class=${data.degraded.every((one) => one === "no_embedder") ? "note" : "note bad"}>${data.degraded.map((one) => html`<span key=${one}>${word("degraded", one)}</span>`)}</div>`}
    ${!data.hits.length && html`<${Empty} title=${t("ask.none.title")}><p class="soft">${t("ask.none.about")}</p>
      ${data.why_abstained && html`<p class="tiny"><${Words} text=${data.why_abstained} /></p>`}<//>`}
    ${data.hits.length > 0 && html`<section class="card"><h2>${t("ask.hits", { n: data.hits.length })}</h2>
      <ol class="rows">${data.hits.map((hit) => html`<${Hit} key=${hit.id} hit=${hit} />`)}</ol>
      ${leftOut > 0 && html`<p class="soft">${t("left.out", { n: leftOut })}</p>`}
      ${replaced(data.hits) && html`<p class="soft">${t("ask.replaced")}</p>`}
      <${Verdict} key=${data.id} recall=${data} /></section>`}
    <${Prompt} key=${q} q=${q} live=${live} />`}<//>`;
}

/** Whether a hit is newer than something that is not shown. */
function replaced(hits) {
  const shown = new Set(hits.map((hit) => hit.id));
  return hits.some((hit) => hit.newer_than.some((id) => !shown.has(id)));
}

/** Whether the answer helped: that moves rankings, where the server learns. */
function Verdict({ recall }) {
  const { space, me, may, notify } = useApp();
  const [said, setSaid] = useState("");
  const tell = useAct(async (outcome) => {
    await post(spacePath(space, "feedback"), { recall_id: recall.id, outcome });
    setSaid(outcome);
    notify(t("feedback.done"));
  });
  if (!me.learns || !may("write")) return null;
  return html`<div class="row centre verdict"><span class="soft">${t("feedback.ask")}</span>
    ${["success", "failure"].map((one) => html`<button key=${one} class="button small" aria-pressed=${said === one ? "true" : "false"} disabled=${tell.busy || !!said} onClick=${() => tell.run(one)}>${t(`feedback.${one}`)}</button>`)}
    ${tell.error && html`<${Failed} error=${tell.error} />`}</div>`;
}

/** The text that an agent would get, and what found no place in it. */
function Prompt({ q, live }) {
  const { space } = useApp();
  const [open, setOpen] = useState(false);
  const found = useLoad((signal) => (open ? post(spacePath(space, "context"), { query: q, max_tokens: CONTEXT_TOKENS }, { signal }) : Promise.resolve(null)), [space, q, open, live]);
  return html`<details class="card" onToggle=${(event) => setOpen(event.target.open)}><summary>${t("context.title")}</summary>
    ${open && html`<${Loaded} from=${found}>${(data) => html`<p class="soft">${t("context.about", { n: data.tokens })}</p>
      ${data.text ? html`<pre tabindex="0" aria-label=${t("context.title")} dir="auto">${data.text}</pre>` : html`<p>${t("context.empty")}</p>`}
      ${data.left_out.length > 0 && html`<h3>${t("context.left", { n: data.left_out_count })}</h3><ul class="rows">${data.left_out.map((one) => html`<li key=${`${one.section} ${one.id}`} class="meta"><span class="tag">${word("reason", one.reason)}</span>
        <span>${word("section", one.section)}</span><${When} at=${one.at} /><a href=${link(space, "why", one.id)}>${t("why.link")}<span class="unseen">: ${one.id}</span></a></li>`)}</ul>`}`}<//>`}</details>`;
}

function Hit({ hit }) {
  const { space } = useApp();
  return html`<li class=${`hit ${hit.state}`}>
    <p><${Words} said text=${hit.content} marks=${hit.content === hit.episode.content ? hit.matched : null} /></p>
    <div class="meta">
      <${State} state=${hit.state} />
      <span class="score">${t(hit.calibrated ? "ask.score" : "ask.order")} <meter min="0" max="1" value=${hit.score} aria-label=${t("ask.score")}></meter>${percent(hit.score)}</span>
      ${hit.episode.speaker && html`<${Name} text=${hit.episode.speaker} first=${40} />`}
      <${When} at=${hit.episode.at} />
      ${Object.keys(hit.legs).filter((leg) => has(`leg.${leg}`)).map((leg) => html`<span class="tag" key=${leg}>${word("leg", leg)}</span>`)}
      ${hit.entity && html`<a href=${link(space, "why", hit.entity.id)}>${t("why.link")}<span class="unseen">: ${hit.content.slice(0, 80)}</span></a>`}
    </div>
  </li>`;
}
