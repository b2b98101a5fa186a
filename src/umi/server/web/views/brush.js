// A strip of a whole time axis with how much begins when, and a range on it that is set by dragging, by keys, or by two dates.
import { html, useRef } from "../vendor/preact.js";
import { day, time } from "../core/format.js";
import { t } from "../core/i18n.js";
import { scaleOf, ticks } from "./timescale.js";

const HEIGHT = 44;
const LEAST_PX = 6; // a shorter drag is a click, which takes the range away
const KEY_SHARE = 0.02;
const PAGE_SHARE = 0.1;

/**
 * @param label what the axis is
 * @param bins how much begins when: {from, to, all, some}, counts of equal parts of [from, to]; `some` are those that the range takes, or null without one
 * @param seen [from, to] of what is loaded, or null where that is all of it
 * @param range [from, to] of the axis
 * @param brushed [from, to] that is set on this axis, or null
 * @param follows [from, to] that the range of the other axis comes to here, or null
 * @param change called with [from, to] or null; `done` says that the drag has ended
 */
export function Brush({ label, bins, seen, range, brushed, follows, width, change }) {
  const scale = scaleOf(range[0], range[1], width);
  const ends = [scale.x(bins.from), scale.x(bins.to)];
  const tall = Math.max(1, ...bins.all);
  const drag = useRef(null);
  const svg = useRef(null);

  const place = (event) => Math.min(width, Math.max(0, event.clientX - svg.current.getBoundingClientRect().left));
  const begin = (event) => {
    if (event.button) return;
    const x = place(event);
    const part = event.target.dataset.part || "";
    svg.current.setPointerCapture(event.pointerId);
    drag.current = { part, x, held: brushed };
  };
  const move = (event) => {
    const { part, x, held } = drag.current || {};
    if (x === undefined) return;
    const now = place(event);
    if (part === "range") {
      const length = held[1] - held[0];
      const from = Math.min(range[1] - length, Math.max(range[0], held[0] + scale.at(now) - scale.at(x)));
      change([from, from + length]);
    } else if (part) {
      const other = part === "from" ? held[1] : held[0];
      change(ordered(scale.at(now), other));
    } else if (Math.abs(now - x) >= LEAST_PX) change(ordered(scale.at(x), scale.at(now)));
  };
  const end = (event) => {
    if (!drag.current) return;
    const isClick = !drag.current.part && Math.abs(place(event) - drag.current.x) < LEAST_PX;
    drag.current = null;
    change(isClick ? null : undefined, true);
  };
  const key = (which) => (event) => {
    const length = range[1] - range[0];
    const step = { ArrowLeft: -KEY_SHARE, ArrowDown: -KEY_SHARE, ArrowRight: KEY_SHARE, ArrowUp: KEY_SHARE, PageDown: -PAGE_SHARE, PageUp: PAGE_SHARE, Home: -1, End: 1 }[event.key];
    if (event.key === "Escape") change(null, true);
    if (step === undefined) return;
    event.preventDefault();
    const held = brushed || range;
    const moved = Math.min(range[1], Math.max(range[0], held[which] + step * length));
    change(which === 0 ? [Math.min(moved, held[1]), held[1]] : [held[0], Math.max(moved, held[0])], true);
  };
  const at = brushed && brushed.map(scale.x);
  const handle = (which) => {
    const moment = (brushed || range)[which];
    const x = at ? at[which] : which * width;
    return html`<g class="handle" role="slider" tabindex="0" aria-label=${t(which ? "timeline.until" : "timeline.since", { axis: label })}
      aria-valuemin=${Math.round(range[0])} aria-valuemax=${Math.round(range[1])} aria-valuenow=${Math.round(moment)} aria-valuetext=${time(new Date(moment).toISOString())} onKeyDown=${key(which)}>
      <rect data-part=${which ? "to" : "from"} x=${x - 12} y="0" width="24" height=${HEIGHT} fill="transparent" />
      <rect class="grip" data-part=${which ? "to" : "from"} x=${Math.min(width - 7, Math.max(1, x - 3))} y=${HEIGHT / 2 - 11} width="6" height="22" rx="3" /></g>`;
  };
  return html`<div class="strip">
    <div class="row centre"><h2>${label}</h2><span class="tiny soft">${brushed ? `${day(new Date(brushed[0]).toISOString())} – ${day(new Date(brushed[1]).toISOString())}` : follows ? t("timeline.follows") : t("timeline.drag")}</span>
      ${brushed && html`<button class="button quiet small end" onClick=${() => change(null, true)}>${t("timeline.all")}</button>`}</div>
    <svg ref=${svg} class="brush" width=${width} height=${HEIGHT + 20} onPointerDown=${begin} onPointerMove=${move} onPointerUp=${end} onPointerCancel=${end}>
      <rect class="ground" x="0" y="0" width=${width} height=${HEIGHT} rx="6" />
      ${follows && html`<g class="follows"><rect x=${scale.x(follows[0])} y="1" width=${Math.max(3, scale.x(follows[1]) - scale.x(follows[0]))} height=${HEIGHT - 2} rx="4" /></g>`}
      <g class="bins">${bars(bins.all, tall, ends)}</g>
      ${bins.some && html`<g class="bins chosen">${bars(bins.some, tall, ends)}</g>`}
      ${seen && html`<path class="seen" d=${`M${scale.x(seen[0]).toFixed(1)} ${HEIGHT - 1.5}H${Math.max(scale.x(seen[0]) + 3, scale.x(seen[1])).toFixed(1)}`} />`}
      ${at && html`<rect class="range" data-part="range" x=${at[0]} y="0.5" width=${Math.max(2, at[1] - at[0])} height=${HEIGHT - 1} rx="4" />`}
      <g class="axis" aria-hidden="true">${ticks(scale).map((one) => html`<text key=${one.x} x=${one.x} y=${HEIGHT + 15}>${one.text}</text>`)}</g>
      ${handle(0)}${handle(1)}
    </svg></div>`;
}

const ordered = (one, other) => (one <= other ? [one, other] : [other, one]);

// The root makes few beside many still seen.
function bars(bins, tall, [from, to]) {
  const each = Math.max(3, to - from) / bins.length;
  const path = bins.map((count, at) => {
    const height = count ? 3 + Math.sqrt(count / tall) * (HEIGHT - 8) : 0;
    return height ? `M${(from + at * each + each / 8).toFixed(1)} ${HEIGHT}v-${height.toFixed(1)}h${Math.max(1, each * 0.75).toFixed(1)}v${height.toFixed(1)}z` : "";
  });
  return html`<path d=${path.join("")} />`;
}
