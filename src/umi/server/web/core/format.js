// Dates, numbers and texts as they are shown.
import { language, t } from "./i18n.js";

const YEAR_LEAST = 1900; // a beginning before it stands for an unknown one
const made = new Map();
const formatter = (options) => {
  const name = language + JSON.stringify(options);
  if (!made.has(name)) made.set(name, new Intl.DateTimeFormat(language, options));
  return made.get(name);
};

export const number = (value, options) => new Intl.NumberFormat(language, options).format(value);
export const percent = (value) => number(value, { style: "percent", maximumFractionDigits: 0 });
export const bytes = (value) => {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"];
  let at = 0;
  let size = value;
  while (size >= 1000 && at < units.length - 1) { size /= 1000; at += 1; }
  return number(size, { style: "unit", unit: units[at], unitDisplay: "short", maximumFractionDigits: at ? 1 : 0 });
};

/** A Date of a moment that the server sent; null for none, and for one that stands for an unknown beginning. */
export function moment(text) {
  if (!text) return null;
  const found = new Date(text);
  return Number.isNaN(found.getTime()) || found.getUTCFullYear() < YEAR_LEAST ? null : found;
}

export const day = (value) => { const at = moment(value); return at ? formatter({ dateStyle: "medium" }).format(at) : t("time.unknown"); };
export const time = (value) => { const at = moment(value); return at ? formatter({ dateStyle: "medium", timeStyle: "short" }).format(at) : t("time.unknown"); };
/** Since when a statement holds, else when it was said. */
export const since = (entity) => moment(entity.valid_from) || moment(entity.at);

/** The last day that a field takes; without it a year may have six digits. */
export const DAY_LAST = "9999-12-31";

/** The moment that a field <input type=date> means: the end of that day, here; "" for an empty field. What is no day in a link is left to the server, which says so. */
export function endOfDay(text) {
  const at = new Date(`${text}T23:59:59`);
  return Number.isNaN(at.getTime()) ? text || "" : at.toISOString();
}

/** The first `length` characters, no sign cut in two. */
export function cut(text, length) {
  if (text.length <= length) return text;
  const end = /[\ud800-\udbff]/.test(text[length - 1]) ? length - 1 : length;
  return text.slice(0, end);
}

/** A text as it is shown: control characters and marks that reverse the writing are seen and do nothing. */
export const seen = (text) => text.replace(/(?![\t\n\r])[\p{Cc}\u202d\u202e]/gu, "\ufffd");

/** Whether a text shows anything at all: one of marks and spaces only does not. */
export const isVisible = (text) => /[^\p{C}\p{Z}\p{M}\u2800\u3164\u115f\u1160\uffa0]/u.test(text);
