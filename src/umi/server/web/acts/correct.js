// Correct a fact: the new value replaces the old one, which stays in the history with the reason, and can be brought back.
import { html, useState } from "../vendor/preact.js";
import { put, spacePath } from "../core/api.js";
import { useAct, useApp } from "../core/app.js";
import { DAY_LAST } from "../core/format.js";
import { t, word } from "../core/i18n.js";
import { Dialog, Failed, Field, Name, Words } from "../core/ui.js";

export default function Correct({ close, subject, attribute, value }) {
  const { space, notify, act, may } = useApp();
  const [to, setTo] = useState(value);
  const [reason, setReason] = useState("");
  const [at, setAt] = useState("");
  const correct = useAct(async () => {
    const body = { value: to.trim(), reason: reason.trim() || null, at: at ? new Date(at).toISOString() : null };
    const receipt = await put(spacePath(space, "facts", subject, attribute), body);
    const made = receipt.evolutions.find((one) => one.evolution_type === "update" && one.acted);
    notify(t("correct.done"), made && may("read") ? { label: t("undo.act"), act: () => act("undo", { relation: made }) } : {});
    close();
  });
  return html`<${Dialog} title=${t("correct.title")} close=${close}>
    <p class="soft"><${Name} text=${subject} /> · ${word("attribute", attribute)}: <${Words} text=${value} first=${400} /></p>
    <form class="stack" onSubmit=${(event) => { event.preventDefault(); correct.run(); }}>
      <${Field} label=${t("correct.value")}>${(id) => html`<input id=${id} class="input" dir="auto" required autofocus value=${to} onInput=${(event) => setTo(event.target.value)} />`}<//>
      <${Field} label=${t("correct.reason")} hint=${t("optional")}>${(id, hint) => html`<input id=${id} aria-describedby=${hint} class="input" dir="auto" maxlength="1024" value=${reason} onInput=${(event) => setReason(event.target.value)} />`}<//>
      <${Field} label=${t("correct.since")} hint=${t("correct.since.hint")}>${(id, hint) => html`<input id=${id} aria-describedby=${hint} class="input" type="datetime-local" max=${`${DAY_LAST}T23:59`} value=${at} onInput=${(event) => setAt(event.target.value)} />`}<//>
      ${correct.error && html`<${Failed} error=${correct.error} />`}
      <div><button class="button main-act" disabled=${correct.busy || to.trim() === value}>${t("correct.act")}</button></div>
    </form><//>`;
}
