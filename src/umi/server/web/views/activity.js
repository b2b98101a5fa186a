// Activity: what happened on each day, as far as it is stored, and what this server counted since it started.
import { html } from "../vendor/preact.js";
import { get, spacePath } from "../core/api.js";
import { useApp, useLoad, useStyle } from "../core/app.js";
import { number, time } from "../core/format.js";
import { language, t } from "../core/i18n.js";
import { useLive } from "../core/live.js";
import { link, replace } from "../core/router.js";
import { Empty, Field, Head, Loaded } from "../core/ui.js";
import { useSettled } from "./steps.js";

const PERIODS = [7, 30, 90, 365];
const NARROW = 90; // days, from which on the bars have no gaps
const DAY_MS = 86_400_000;

// What is counted: the first of all days from the store, the rest by the server itself.
const STORED = [
  ["remembered", (day) => day.remembered],
  ["changed", (day) => sum(day.evolutions, ["update", "contradict"])],
  ["concluded", (day) => sum(day.evolutions, ["derive", "extend"])],
  ["settled", (day) => day.settled + day.undone],
  ["waiting", (day) => day.waiting],
];
const COUNTED = [
  ["recalled", (day) => day.recalled],
  ["degraded", (day) => day.degraded],
  ["deferred", (day) => day.deferred],
  ["erased", (day) => day.erased],
];
const ALL = [...STORED, ...COUNTED];
const sum = (counts, names) => names.reduce((total, name) => total + (counts[name] || 0), 0);

export default function Activity() {
  const { space, route } = useApp();
  const live = useSettled(useLive());
  const ready = useStyle("views/activity.css");
  const period = PERIODS.includes(Number(route.query.days)) ? Number(route.query.days) : 30;
  const found = useLoad((signal) => get(spacePath(space, "activity"), { days: period }, { signal }), [space, period, live]);
  return html`<${Head} title=${t("nav.activity")} about=${t("activity.about")} />
    <div class="row"><${Field} label=${t("activity.period")}>${(id) => html`<select id=${id} class="input" value=${period} onChange=${(event) => replace(link(space, "activity", "", { days: event.target.value === "30" ? "" : event.target.value }))}>
      ${PERIODS.map((one) => html`<option key=${one} value=${one}>${t("activity.days", { n: one })}</option>`)}</select>`}<//>
      <button class="button" onClick=${found.reload}>${t("activity.reload")}</button></div>
    <${Loaded} from=${found}>${(data) => (ready && !data.days.length ? html`<${Empty} title=${t("activity.empty.title")}><p class="soft">${t("activity.empty.about")}</p>
      <pre>umi remember "I live in Berlin." --speaker Alice -n ${space}</pre><//>` : ready && html`<${Days} data=${data} />`)}<//>`;
}

const dayText = (iso, options) => new Intl.DateTimeFormat(language, { timeZone: "UTC", ...options }).format(Date.parse(iso));

/** Every day of the period, also those on which nothing happened. */
function whole({ first, last, days }) {
  const byDay = new Map(days.map((one) => [one.day, one]));
  const found = [];
  for (let at = Date.parse(first); at <= Date.parse(last); at += DAY_MS) {
    const day = new Date(at).toISOString().slice(0, 10);
    found.push(byDay.get(day) || { day, evolutions: {}, remembered: 0, waiting: 0, settled: 0, undone: 0, recalled: 0, degraded: 0, deferred: 0, erased: 0 });
  }
  return found;
}

function Days({ data }) {
  const days = whole(data);
  return html`
    <section class="stack" aria-label=${t("activity.stored")}><h2>${t("activity.stored")}</h2><p class="soft">${t("activity.stored.about")}</p>
      <div class="figures-row">${STORED.map(([name, of]) => html`<${Figure} key=${name} name=${name} of=${of} days=${days} />`)}</div></section>
    <section class="stack" aria-label=${t("activity.counted")}><h2>${t("activity.counted")}</h2><p class="soft">${t("activity.counted.about", { since: time(data.counted_since) })}</p>
      <div class="figures-row">${COUNTED.map(([name, of]) => html`<${Figure} key=${name} name=${name} of=${of} days=${days} since=${data.counted_since.slice(0, 10)} />`)}</div></section>
    <section class="card"><h2>${t("activity.table")}</h2><div class="table wide" tabindex="0" role="region" aria-label=${t("activity.table")}><table><caption class="unseen">${t("activity.table")}</caption>
      <thead><tr><th scope="col">${t("activity.day")}</th>${ALL.map(([name]) => html`<th key=${name} scope="col">${t(`activity.${name}`)}</th>`)}</tr></thead>
      <tbody>${[...data.days].reverse().map((day) => html`<tr key=${day.day}><th scope="row">${dayText(day.day, { dateStyle: "medium" })}</th>${ALL.map(([name, of]) => html`<td key=${name} class="figure">${of(day) ? number(of(day)) : html`<span class="soft">0</span>`}</td>`)}</tr>`)}</tbody></table></div></section>`;
}

/** One thing over all days: its sum, and a bar for each day. Days of which nothing is known are hatched. */
function Figure({ name, of, days, since = "" }) {
  const counts = days.map(of);
  const total = counts.reduce((one, other) => one + other, 0);
  const most = Math.max(1, ...counts);
  const peak = days[counts.indexOf(Math.max(...counts))];
  const gap = days.length > NARROW ? 0 : 0.2;
  const unknown = days.filter((day) => day.day < since).length;
  const said = total ? t("activity.peak", { n: Math.max(...counts), day: dayText(peak.day, { dateStyle: "long" }) }) : t("activity.none");
  return html`<section class=${`card figures ${name}`} aria-label=${t(`activity.${name}`)}>
    <h3>${t(`activity.${name}`)}</h3><p class="total">${number(total)}</p>
    <svg viewBox=${`0 0 ${days.length} 40`} preserveAspectRatio="none" role="img" aria-label=${`${t(`activity.${name}`)}: ${number(total)}. ${said}`}>
      <defs><pattern id=${`unknown-${name}`} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform=${`scale(${days.length / 300} 1)`}><path d="M0 6 6 0" /></pattern></defs>
      ${unknown > 0 && html`<rect class="unknown" x="0" y="0" width=${unknown} height="40" fill=${`url(#unknown-${name})`} />`}
      <path class="ground" d=${`M0 39.5H${days.length}`} />
      ${counts.map((count, at) => count > 0 && html`<rect key=${days[at].day} class="count" x=${at + gap / 2} width=${1 - gap} y=${39 - 36 * (count / most)} height=${36 * (count / most)}><title>${dayText(days[at].day, { dateStyle: "medium" })}: ${number(count)}</title></rect>`)}
    </svg>
    <p class="row centre tiny soft"><span>${dayText(days[0].day, { day: "numeric", month: "short" })}</span><span class="end">${dayText(days.at(-1).day, { day: "numeric", month: "short" })}</span></p>
    <p class="tiny soft">${t(`activity.${name}.about`)}</p>
  </section>`;
}
