// What cannot be taken back is confirmed by typing a word.
import { html, useState } from "../vendor/preact.js";
import { t } from "./i18n.js";
import { Failed, Field } from "./ui.js";

/** A field for the word and the button that it unlocks. `act` is what useAct gave. */
export function Typed({ expected, label, act, run }) {
  const [typed, setTyped] = useState("");
  const submit = (event) => {
    event.preventDefault();
    if (typed.trim() === expected.trim()) run();
  };
  return html`<form class="stack" onSubmit=${submit}>
    <${Field} label=${html`${t("confirm.type")} <bdi class="typed">${expected}</bdi>`}>${(id) => html`
      <input id=${id} class="input" dir="auto" autocomplete="off" spellcheck=${false} value=${typed} onInput=${(event) => setTyped(event.target.value)} />`}<//>
    ${act.error && html`<${Failed} error=${act.error} />`}
    <div><button class="button danger" disabled=${act.busy || typed.trim() !== expected.trim()}>${label}</button></div>
  </form>`;
}

/** Hands a text to the browser as a file. */
export function download(name, parts, type = "application/json") {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const anchor = Object.assign(document.createElement("a"), { href: url, download: name });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** A namespace's name as a part of a file's. */
export const fileName = (text) => text.replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 80) || "umi";
