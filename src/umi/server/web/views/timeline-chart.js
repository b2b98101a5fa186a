// The bars of the timeline. Rows are drawn in blocks, and only those near to what is seen: scrolling through any number of them draws little.
import { Component, html, useEffect, useMemo, useRef, useState } from "../vendor/preact.js";
import { cut, isVisible } from "../core/format.js";
import { t } from "../core/i18n.js";
import { drawn, lanesOf, SIGN_PX, spanOn } from "./lanes.js";
import { Sign, titled } from "./steps.js";
import { scaleOf, ticks } from "./timescale.js";

const ROW = 30;
const BAR = 20;
const BLOCK = 16; // rows that are drawn together
const SIDE = 132;
const SIDE_NARROW_PX = 560; // below it the names stand above the bars
const CHARACTER_PX = 7.2;
const HEIGHT_MOST = 620;

/** A text as a label within a drawing: no signs that turn the direction, none that is not seen. */
const label = (text, px) => {
  const clean = text.replace(/[\p{C}\p{M}]/gu, "");
  const room = Math.floor(px / CHARACTER_PX);
  return room < 2 || !isVisible(clean) ? "" : clean.length <= room ? clean : `${cut(clean, room - 1)}…`;
};

export function Chart({ steps, axis, range, width, now, selected, select, zoom }) {
  const isNarrow = width < SIDE_NARROW_PX;
  const side = isNarrow ? 0 : SIDE;
  const scale = useMemo(() => scaleOf(range[0], range[1], width - side - 2), [range[0], range[1], width, side]);
  const rows = useMemo(() => lanesOf(steps, axis, isNarrow), [steps, axis, isNarrow]);
  const scroller = useRef(null);
  const [top, setTop] = useState(0);
  const blocks = Math.ceil(rows.length / BLOCK);
  const first = Math.max(0, Math.floor(top / (BLOCK * ROW)) - 1);
  const last = Math.min(blocks - 1, Math.floor((top + HEIGHT_MOST) / (BLOCK * ROW)) + 1);
  const scrolled = (event) => {
    const at = Math.floor(event.currentTarget.scrollTop / (BLOCK * ROW)) * BLOCK * ROW;
    if (at !== top) setTop(at);
  };
  const where = useMemo(() => {
    const found = new Map();
    rows.forEach((one, at) => one.bars.forEach((bar, place) => found.set(bar.id, [at, place])));
    return found;
  }, [rows]);
  useEffect(() => {
    const at = selected && where.get(selected.id);
    const box = scroller.current;
    if (!at || !box) return;
    const y = at[0] * ROW;
    if (y < box.scrollTop || y + ROW > box.scrollTop + box.clientHeight) box.scrollTop = Math.max(0, y - box.clientHeight / 2);
  }, [selected?.id, where]);
  const key = (event) => {
    const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [-rows.length, 0], End: [rows.length, 0] }[event.key];
    if (!move || !rows.length) return;
    event.preventDefault();
    const lanes = rows.filter((one) => one.bars.length);
    const held = (selected && where.get(selected.id)) || null;
    if (!held) return select(lanes[0].bars[0].id);
    const lane = lanes[Math.min(lanes.length - 1, Math.max(0, lanes.indexOf(rows[held[0]]) + move[0]))];
    const place = move[1] ? Math.min(lane.bars.length - 1, Math.max(0, held[1] + move[1])) : nearest(lane.bars, axis, spanOn(axis, selected)[0]);
    return select(lane.bars[place].id);
  };
  const press = (event) => {
    const group = event.target.closest("[data-ids]");
    if (!group) return;
    const [id, end] = group.dataset.ids.split(" ");
    if (!end) return select(id);
    const ends = [id, end].map((one) => spanOn(axis, rows[where.get(one)[0]].bars[where.get(one)[1]]));
    const margin = Math.max(60_000, (ends[1][0] - ends[0][0]) * 0.05);
    return zoom([ends[0][0] - margin, Math.max(...ends.map(([from, to]) => to ?? from)) + margin]);
  };
  const height = Math.min(HEIGHT_MOST, rows.length * ROW + 2);
  return html`<section class="card chart" aria-label=${t("timeline.chart")}>
    <p class="unseen" id="timeline-keys">${t("timeline.keys")}</p>
    <svg class="axis" width=${width} height="22" aria-hidden="true">${ticks(scale).map((one) => html`<text key=${one.x} x=${side + one.x} y="14">${one.text}</text>`)}</svg>
    <div class="scroller" ref=${scroller} onScroll=${scrolled} tabindex="0" role="application" aria-roledescription=${t("timeline.chart")} aria-label=${t("timeline.chart.of", { n: steps.length })} aria-describedby="timeline-keys" onKeyDown=${key} onClick=${press} style=${{ height: `${height}px` }}>
      <svg width=${width} height=${rows.length * ROW} aria-hidden="true">
        <g class="grid">${ticks(scale).map((one) => html`<path key=${one.x} d=${`M${side + one.x} 0V${rows.length * ROW}`} />`)}
          ${axis && now >= range[0] && now <= range[1] && html`<path class="now" d=${`M${side + scale.x(now)} 0V${rows.length * ROW}`} />`}</g>
        ${Array.from({ length: Math.max(0, last - first + 1) }, (_, place) => first + place).map((block) => html`<${Block} key=${block} block=${block} rows=${rows} axis=${axis} scale=${scale} side=${side} now=${now} selected=${selected?.id} />`)}
      </svg>
    </div>
  </section>`;
}

function nearest(bars, axis, at) {
  let best = 0;
  bars.forEach((one, place) => { if (Math.abs(spanOn(axis, one)[0] - at) < Math.abs(spanOn(axis, bars[best])[0] - at)) best = place; });
  return best;
}

/** Some rows; drawn again only when what they show changes, not when one scrolls. */
class Block extends Component {
  shouldComponentUpdate(next) {
    const { rows, scale, side, now, selected, block } = this.props;
    if (rows !== next.rows || scale !== next.scale || side !== next.side || now !== next.now) return true;
    const mine = (id) => id && rows.slice(block * BLOCK, (block + 1) * BLOCK).some((one) => one.bars.some((bar) => bar.id === id));
    return selected !== next.selected && (mine(selected) || mine(next.selected));
  }

  render({ block, rows, axis, scale, side, now, selected }) {
    return html`<g>${rows.slice(block * BLOCK, (block + 1) * BLOCK).map((one, at) => {
      const y = (block * BLOCK + at) * ROW;
      return html`<g key=${at} transform=${`translate(0 ${y})`}>
        ${one.isFirst && html`<path class="line" d=${`M0 0h${side + scale.width}`} /><text class="attribute" x="0" y="20">${label(titled(one.attribute), side ? side - 8 : scale.width)}</text>`}
        <g transform=${`translate(${side} ${(ROW - BAR) / 2})`}>${drawn(one.bars, axis, scale, now).map((bar) => html`<${Bar} key=${bar.steps[0].id} bar=${bar} scale=${scale} isSelected=${bar.steps.some((step) => step.id === selected)} />`)}</g>
      </g>`;
    })}</g>`;
  }
}

function Bar({ bar, scale, isSelected }) {
  const { steps } = bar;
  const [step] = steps;
  const x = Math.max(0, bar.x);
  if (steps.length > 1) {
    const width = Math.max(10, bar.x + bar.width - x);
    const kind = steps.some((one) => one.kind === "disputed") ? "disputed" : steps.some((one) => one.kind === "stale") ? "stale" : "many";
    return html`<g class=${`bar many ${kind}`} data-ids=${`${step.id} ${steps.at(-1).id}`} data-selected=${isSelected || undefined}>
      <rect x=${x} y="0" width=${width} height=${BAR} rx="2" /><path class="stack" d=${`M${x + 3} 4v${BAR - 8}M${x + 6} 4v${BAR - 8}`} />${width > 26 && html`<text x=${x + 10} y="14">${label(`${steps.length}`, width - 10)}</text>`}</g>`;
  }
  const width = Math.min(scale.width - x, Math.max(SIGN_PX, bar.x + bar.width - x));
  const text = label(`${step.negated ? `${t("fact.not")} ` : ""}${step.value || step.content}`, width - SIGN_PX - 6 - bar.under);
  return html`<g class=${`bar ${step.kind}`} data-ids=${step.id} data-selected=${isSelected || undefined}>
    <rect x=${x} y="0" width=${width} height=${BAR} rx="4" />${text && html`<text x=${x + 6 + bar.under} y="14">${text}</text>`}
    <g class="sign" transform=${`translate(${x + width - SIGN_PX + 4} 4)`}><${Sign} kind=${step.kind} /></g></g>`;
}
