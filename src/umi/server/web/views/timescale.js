// A time axis: from moments to pixels, and marks at whole hours, days, months or years.
import { language } from "../core/i18n.js";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
// The length of a step in ms, how a date is cut to one (month and year in their own way), and how it is written.
const STEPS = [
  [HOUR, { hour: "numeric", minute: "2-digit" }],
  [6 * HOUR, { weekday: "short", hour: "numeric" }],
  [DAY, { day: "numeric", month: "short" }],
  [7 * DAY, { day: "numeric", month: "short" }],
  [30 * DAY, { month: "short", year: "2-digit" }],
  [91 * DAY, { month: "short", year: "numeric" }],
  [365 * DAY, { year: "numeric" }],
  [5 * 365 * DAY, { year: "numeric" }],
  [20 * 365 * DAY, { year: "numeric" }],
  [100 * 365 * DAY, { year: "numeric" }],
  [500 * 365 * DAY, { year: "numeric" }],
  [2000 * 365 * DAY, { year: "numeric" }],
];
const MONTHS = { [30 * DAY]: 1, [91 * DAY]: 3, [365 * DAY]: 12, [5 * 365 * DAY]: 60, [20 * 365 * DAY]: 240, [100 * 365 * DAY]: 1200, [500 * 365 * DAY]: 6000, [2000 * 365 * DAY]: 24_000 };
const LABEL_PX = 84;
const CHARACTER_PX = 7.5; // of a label: one that would end behind the axis is left out

/** A scale of [from, to] in ms onto [0, width] px. */
export const scaleOf = (from, to, width) => {
  const perMs = width / Math.max(1, to - from);
  return { from, to, width, x: (at) => (at - from) * perMs, at: (x) => from + x / perMs };
};

/** Where marks stand: [{x, text}], not closer than a label is wide. */
export function ticks(scale) {
  const wanted = (scale.to - scale.from) / Math.max(1, scale.width / LABEL_PX);
  const [step, options] = STEPS.find(([length]) => length >= wanted) || STEPS.at(-1);
  const write = new Intl.DateTimeFormat(language, options);
  const found = [];
  for (let at = first(scale.from, step); at <= scale.to && found.length < 200; at = next(at, step)) {
    const text = write.format(at);
    if (at >= scale.from && scale.x(at) + text.length * CHARACTER_PX <= scale.width) found.push({ x: scale.x(at), text });
  }
  return found;
}

function first(from, step) {
  const date = new Date(from);
  const months = MONTHS[step];
  if (!months) {
    const midnight = new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
    return midnight + Math.floor((from - midnight) / step) * step;
  }
  const count = Math.floor((date.getFullYear() * 12 + date.getMonth()) / months) * months;
  return new Date(Math.floor(count / 12), count % 12, 1).getTime();
}

function next(at, step) {
  const date = new Date(at);
  const months = MONTHS[step];
  if (months) return new Date(date.getFullYear(), date.getMonth() + months, 1).getTime();
  if (step >= DAY) return new Date(date.getFullYear(), date.getMonth(), date.getDate() + step / DAY).getTime();
  return at + step;
}
