// Ask: what answers a question, how sure, what found it, and what was left out.
import { html } from "../vendor/preact.js";
import { post, spacePath } from "../core/api.js";
import { useApp, useLoad } from "../core/app.js";
import { endOfDay, percent } from "../core/format.js";
import { t, word } from "../core/i18n.js";
import { useLive } from "../core/live.js";
import { link, replace } from "../core/router.js";
import { Empty, Field, Head, Loaded, Name, State, When, Words } from "../core/ui.js";

const LIMIT = 20;

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
    <${Field} label=${t("asof.label")}>${(id) => html`<input id=${id} class="input" type="date" value=${route.query.as_of || ""} onChange=${(event) => change({ as_of: event.target.value })} />`}<//>
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
    ${data.degraded.length > 0 && html`<div class="note bad">${data.degraded.map((one) => html`<span key=${one}>${word("degraded", one)}</span>`)}</div>`}
    ${!data.hits.length && html`<${Empty} title=${t("ask.none.title")}><p class="soft">${t("ask.none.about")}</p>
      ${data.why_abstained && html`<p class="tiny"><${Words} text=${data.why_abstained} /></p>`}<//>`}
    ${data.hits.length > 0 && html`<section class="card"><h2>${t("ask.hits", { n: data.hits.length })}</h2>
      <ol class="rows">${data.hits.map((hit) => html`<${Hit} key=${hit.id} hit=${hit} />`)}</ol>
      ${leftOut > 0 && html`<p class="soft">${t("left.out", { n: leftOut })}</p>`}</section>`}`}<//>`;
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
      ${Object.keys(hit.legs).map((leg) => html`<span class="tag" key=${leg}>${word("leg", leg)}</span>`)}
      ${hit.entity && html`<a href=${link(space, "why", hit.entity.id)}>${t("why.link")}<span class="unseen">: ${hit.content.slice(0, 80)}</span></a>`}
    </div>
  </li>`;
}
