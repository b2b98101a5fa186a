// Timeline: statements of a subject by attribute on two axes of time, when it held and when it was known. A range on either one sets the other.
import { html, useEffect, useMemo, useRef, useState } from "../vendor/preact.js";
import { useApp, useLoad, useStyle } from "../core/app.js";
import { number, time } from "../core/format.js";
import { t } from "../core/i18n.js";
import { useLive } from "../core/live.js";
import { link, replace } from "../core/router.js";
import { Empty, Head, Loaded, Loading, Name, When, Words } from "../core/ui.js";
import { Brush } from "./brush.js";
import { Chart } from "./timeline-chart.js";
import { binsOf, binsOfCounts, extent, extentOfCounts, spanOn } from "./lanes.js";
import { countsOf, HISTORY_MOST, historyOf, KINDS, Patterns, Sign, Subjects, subjectsOf, titled, useSettled } from "./steps.js";

const AXES = ["held", "known"];
const WIDTH_LEAST = 240;
const ROWS = 100; // of the table at once
const FIRST_COUNT = 400; // newest statements, of all or of the range, that are loaded before more are asked for
const MORE = 5; // times as many
const PARTS = 160; // of an axis, in which the server counts
const BIN_PX = 5;

export default function Timeline() {
  const { space, route } = useApp();
  const live = useSettled(useLive());
  const ready = [useStyle("views/steps.css"), useStyle("views/timeline.css")].every(Boolean);
  const found = useLoad((signal) => subjectsOf(space, signal), [space, live]);
  const subject = route.arg || found.data?.[0]?.name || "";
  return html`<${Head} title=${subject ? html`<${Name} text=${subject} />` : t("nav.timeline")} about=${subject && t("timeline.about")}>${subject && html`<span class="eyebrow">${t("nav.timeline")}</span>`}<//>
    ${subject ? html`<${Subjects} view="timeline" subjects=${found.data || []} subject=${subject} />
      ${ready && html`<${OfSubject} key=${subject} subject=${subject} live=${live} />`}`
    : html`<${Loaded} from=${found}>${() => html`<${Empty} title=${t("timeline.empty.title")}><p class="soft">${t("timeline.empty.about")}</p>
      <pre>umi remember "I work at Acme." --speaker Alice --at 2026-01-12T10:00Z -n ${space}\numi remember "I left Acme and joined StartupX." --speaker Alice -n ${space}</pre><//>`}<//>`}`;
}

/** What is loaded: the newest statements with counts of all; where these are not all, those of the range that is set. */
function useHistory(space, subject, live, range) {
  const [most, setMost] = useState(FIRST_COUNT);
  const newest = useLoad(async (signal) => {
    const [counts, history] = await Promise.all([countsOf(space, subject, PARTS, signal), historyOf(space, subject, { signal, most })]);
    return { counts, ...history, isWhole: history.isWhole || !counts.count };
  }, [space, subject, live, most]);
  const { data } = newest;
  const wanted = data && !data.isWhole && range ? `${range.on} ${range.range.map((at, end) => iso(at + end)).join(" ")}` : "";
  const ofRange = useLoad(async (signal) => {
    if (!wanted) return null;
    const [on, ...ends] = wanted.split(" ");
    return { wanted, ...(await historyOf(space, subject, { signal, most, within: { [on]: ends } })) };
  }, [space, subject, live, most, wanted]);
  const more = () => setMost(Math.min(HISTORY_MOST, most * MORE));
  const held = ofRange.data?.wanted === wanted ? ofRange.data : null; // else it is of the range before
  const shown = useMemo(() => data && { ...data, steps: held ? joined(held.steps, data.steps) : data.steps, isRangeWhole: wanted ? held?.isWhole ?? null : data.isWhole }, [data, held, wanted]);
  return { data: shown, error: newest.error || ofRange.error, reload: newest.reload, loading: newest.loading || ofRange.loading, more: most < HISTORY_MOST && more };
}

const joined = (some, others) => [...new Map([...others, ...some].map((one) => [one.id, one])).values()];

function OfSubject({ subject, live }) {
  const { space, route } = useApp();
  const found = useHistory(space, subject, live, numbers(route));
  return html`<${Loaded} from=${found}>${(history) => (history.steps.length ? html`<${Shown} subject=${subject} history=${history} loading=${found.loading} more=${found.more} />`
    : html`<${Empty} title=${t("timeline.nothing.title")}><p class="soft">${t("timeline.nothing.about")}</p><//>`)}<//>`;
}

const numbers = (route) => {
  const range = [route.query.from, route.query.to].map((one) => Date.parse(one || ""));
  return AXES.includes(route.query.on) && !range.some(Number.isNaN) && range[0] <= range[1] ? { on: route.query.on, range } : null;
};

/** What the range of one axis takes, and what that is on the other. */
function useRange(steps) {
  const { space, route } = useApp();
  const [dragged, setDragged] = useState(undefined); // undefined: none under way
  const brush = dragged === undefined ? numbers(route) : dragged;
  const latest = useRef(brush);
  latest.current = brush;
  const change = (on) => (range, isDone) => {
    const next = range === undefined ? latest.current : range && { on, range };
    latest.current = next;
    if (!isDone) return setDragged(next);
    setDragged(undefined);
    const iso = next?.range.map((one) => new Date(one).toISOString());
    return replace(link(space, "timeline", route.arg, { ...route.query, on: next?.on, from: iso?.[0], to: iso?.[1] }));
  };
  const chosen = useMemo(() => brush && steps.filter((one) => {
    const [from] = spanOn(brush.on, one);
    return from >= brush.range[0] && from <= brush.range[1];
  }), [steps, brush?.on, brush?.range[0], brush?.range[1]]);
  return { brush, chosen, change };
}

function Shown({ subject, history, loading, more }) {
  const { steps, counts, leftOut, isWhole, isRangeWhole } = history;
  const { space, route } = useApp();
  const { brush, chosen, change } = useRange(steps);
  const [box, width] = useWidth();
  const now = useMemo(() => Date.now(), [steps]);
  const whole = useMemo(() => Object.fromEntries(AXES.map((one) => [one, isWhole ? extent(steps, one, now) : extentOfCounts(counts[one], now)])), [steps]);
  const axis = AXES.includes(route.query.axis) ? route.query.axis : "held";
  const isTable = route.query.as === "table";
  const set = (more) => replace(link(space, "timeline", subject, { ...route.query, ...more }));
  const follows = useMemo(() => brush && chosen.length && beginnings(chosen, other(brush.on)), [chosen]);
  const [shown, range] = useMemo(() => {
    if (!brush) return [steps, isWhole ? whole[axis] : extent(steps, axis, now)];
    if (brush.on !== axis) return [chosen, chosen.length ? extent(chosen, axis, now) : whole[axis]];
    return [steps.filter((one) => overlaps(spanOn(axis, one), brush.range)), brush.range];
  }, [steps, chosen, axis]);
  const selected = steps.find((one) => one.id === route.query.at);
  const bins = (one) => {
    const most = Math.max(8, Math.floor(width / BIN_PX));
    return isWhole ? binsOf(steps, chosen, one, whole[one], most) : binsOfCounts(counts[one], chosen, brush?.on === one ? brush.range : null, one, most);
  };
  return html`
    <section class="card timeline" aria-label=${t("timeline.axes")}><div ref=${box} class="stack">
      ${width > 0 && AXES.map((one) => html`<${Brush} key=${one} label=${t(`timeline.${one}`)} bins=${bins(one)} seen=${!isWhole && !brush ? beginnings(steps, one) : null} range=${whole[one]} width=${width}
        brushed=${brush?.on === one ? brush.range : null} follows=${brush && brush.on !== one ? follows : null} change=${change(one)} />`)}
    </div></section>
    <div class="row centre">
      <div class="segments" role="group" aria-label=${t("timeline.order")}>${AXES.map((one) => html`<button key=${one} class="button small" aria-pressed=${axis === one ? "true" : "false"} onClick=${() => set({ axis: one === "held" ? "" : one })}>${t(`timeline.${one}`)}</button>`)}</div>
      <p class="soft grow" role="status">${t("timeline.shown", { n: shown.length, all: isWhole ? steps.length : counts.count })}${leftOut > 0 && ` ${t("timeline.left", { n: leftOut })}`}
        ${isRangeWhole === false && ` ${t(brush ? "timeline.part" : "timeline.newest")}`}</p>
        ${isRangeWhole === false && more && html`<button class="button small" disabled=${loading} onClick=${more}>${t("timeline.more")}</button>`}${loading && !isWhole && html`<${Loading} />`}
      <div class="segments end" role="group" aria-label=${t("timeline.form")}>${["", "table"].map((one) => html`<button key=${one} class="button small" aria-pressed=${(one === "table") === isTable ? "true" : "false"} onClick=${() => set({ as: one })}>${t(one ? "timeline.table" : "timeline.chart")}</button>`)}</div>
    </div>
    <${Legend} steps=${shown} />
    ${isTable ? html`<${Table} steps=${shown} />` : width > 0 && html`<${Chart} steps=${shown} axis=${axis} range=${range} width=${width} now=${now} selected=${selected}
      select=${(id) => set({ at: id })} zoom=${(to) => change(axis)(to, true)} />`}
    <div aria-live="polite">${selected && html`<${Detail} step=${selected} steps=${steps} close=${() => set({ at: "" })} />`}</div>`;
}

const other = (axis) => (axis === "held" ? "known" : "held");
const overlaps = ([from, to], range) => from <= range[1] && (to ?? Infinity) >= range[0];
const beginnings = (steps, axis) => steps.reduce(([low, high], one) => [Math.min(low, spanOn(axis, one)[0]), Math.max(high, spanOn(axis, one)[0])], [Infinity, -Infinity]);

/** The width of an element, followed: [ref, px]. */
function useWidth() {
  const box = useRef(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(Math.max(WIDTH_LEAST, Math.floor(entry.contentRect.width))));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  return [box, width];
}

function Legend({ steps }) {
  const counts = new Map();
  for (const one of steps) counts.set(one.kind, (counts.get(one.kind) || 0) + 1);
  return html`<svg class="unseen" aria-hidden="true"><${Patterns} /></svg><ul class="legend" aria-label=${t("timeline.legend")}>${KINDS.map((kind) => html`<li key=${kind} class=${counts.has(kind) ? "" : "soft"}>
    <svg width="40" height="18" aria-hidden="true"><g class=${`bar ${kind}`}><rect x="1" y="1" width="38" height="16" rx="4" /><g class="sign" transform="translate(24 3)"><${Sign} kind=${kind} /></g></g></svg>
    ${t(`timeline.kind.${kind}`)} <span class="tiny">${number(counts.get(kind) || 0)}</span></li>`)}</ul>`;
}

const Said = ({ step, first = 80 }) => html`${step.negated && html`<em>${t("fact.not")} </em>`}<${Name} text=${step.value || step.content} first=${first} />`;

function Detail({ step, steps, close }) {
  const { space } = useApp();
  const byId = new Map(steps.map((one) => [one.id, one]));
  return html`<section class="card stack" aria-label=${t("timeline.detail")}>
    <div class="row centre"><h2>${titled(step.attribute)}: <${Said} step=${step} /></h2><button class="button quiet small end" onClick=${close}>${t("close")}</button></div>
    <p class="row centre"><${Kind} kind=${step.kind} /><span>${t("timeline.held")}: <${Span} axis="held" step=${step} /></span><span>${t("timeline.known")}: <${Span} axis="known" step=${step} /></span></p>
    <p><${Words} said text=${step.content} /></p>
    <ul class="rows">${step.relations.map((row) => {
      const end = byId.get(row.from === step.id ? row.to : row.from);
      const way = row.from === step.id ? "by" : "of";
      return html`<li key=${row.id}><strong>${t(`timeline.${row.type}.${way}`)}</strong>${row.undone && html` <span class="tag">${t("timeline.undone")}</span>`}${row.type === "update" && !row.acted && html` <span class="tag">${t("timeline.unsure")}</span>`}
        ${end && html` <${Said} step=${end} />`} <span class="soft tiny"><${Words} text=${row.reason} /></span></li>`;
    })}</ul>
    <div><a class="button" href=${link(space, "why", step.id)}>${t("why.link")}<span class="unseen">: ${step.content.slice(0, 80)}</span></a></div>
  </section>`;
}

const Kind = ({ kind }) => html`<span class=${`state kind-${kind}`}><svg viewBox="0 0 12 12" aria-hidden="true"><${Sign} kind=${kind} /></svg>${t(`timeline.kind.${kind}`)}</span>`;

const iso = (at) => (at === null ? null : new Date(at).toISOString());
function Span({ axis, step }) {
  const [from, to] = spanOn(axis, step);
  return html`<${When} at=${iso(from)} /> – ${to === null ? t("timeline.open") : html`<${When} at=${iso(to)} />`}`;
}

function Table({ steps }) {
  const { space } = useApp();
  const [page, setPage] = useState(0);
  const last = Math.max(0, Math.ceil(steps.length / ROWS) - 1);
  const at = Math.min(page, last);
  return html`<div class="table wide card" tabindex="0" role="region" aria-label=${t("timeline.table")}><table><caption class="unseen">${t("timeline.table")}</caption>
    <thead><tr>${["attribute", "value", "became", "held", "known", "why"].map((one) => html`<th key=${one} scope="col">${t(`timeline.${one}`)}</th>`)}</tr></thead>
    <tbody>${steps.slice(at * ROWS, (at + 1) * ROWS).map((one) => html`<tr key=${one.id}><th scope="row"><bdi>${titled(one.attribute)}</bdi></th><td><${Said} step=${one} /></td><td><${Kind} kind=${one.kind} /></td>
      <td><${Span} axis="held" step=${one} /></td><td title=${time(iso(one.known))}><${Span} axis="known" step=${one} /></td>
      <td><a href=${link(space, "why", one.id)}>${t("why.link")}<span class="unseen">: ${one.content.slice(0, 80)}</span></a></td></tr>`)}</tbody></table></div>
    ${last > 0 && html`<div class="row centre"><button class="button small" disabled=${at === 0} onClick=${() => setPage(at - 1)}>${t("timeline.earlier")}</button>
      <span role="status">${t("timeline.page", { at: at + 1, last: last + 1 })}</span><button class="button small" disabled=${at === last} onClick=${() => setPage(at + 1)}>${t("timeline.later")}</button></div>`}`;
}
