// Texts of the page, by key, in a file for each language: lang/CODE.js. A text may have {name}; with a number `n` the plural form
// is chosen by key.one, key.other (and what else the language has). Texts are never read as HTML.

export const LANGUAGES = { en: "English", de: "Deutsch" };
const CHOSEN = "umi-language";

let texts = {};
let fallback = {};
export let language = "en";

export function preferred() {
  const held = localStorage.getItem(CHOSEN);
  const wanted = [held, ...navigator.languages].map((one) => (one || "").slice(0, 2));
  return wanted.find((one) => one in LANGUAGES) || "en";
}

export async function choose(code, { keep = false } = {}) {
  if (keep) localStorage.setItem(CHOSEN, code);
  fallback = (await import("../lang/en.js")).default;
  texts = code === "en" ? fallback : (await import(`../lang/${code}.js`)).default;
  language = code;
  document.documentElement.lang = code;
}

/** The text of a key. A key that no file has is shown itself, so that it is noticed. */
export function t(name, values = {}) {
  let found;
  if (values.n !== undefined) {
    const form = new Intl.PluralRules(language).select(values.n);
    found = texts[`${name}.${form}`] ?? texts[`${name}.other`];
  }
  found ??= texts[name] ?? fallback[name] ?? name;
  return found.replace(/\{(\w+)\}/g, (whole, key) => (key in values ? shown(values[key]) : whole));
}

/** Whether there is a text of this key: for words of the server, such as kinds, of which a newer one may have more. */
export const has = (name) => name in texts || name in fallback;
/** The text of a word of the server, below a prefix: word("state", "stale"); the word itself where nobody has translated it. */
export const word = (prefix, value) => (has(`${prefix}.${value}`) ? t(`${prefix}.${value}`) : String(value).replaceAll("_", " "));

const shown = (value) => (typeof value === "number" ? new Intl.NumberFormat(language).format(value) : String(value));
