// Erase a subject, a session or the whole namespace: what goes, a typed confirmation, a receipt, and the proof that it is gone.
import { html, useState } from "../vendor/preact.js";
import { post, spacePath } from "../core/api.js";
import { useAct, useApp } from "../core/app.js";
import { number, time } from "../core/format.js";
import { t, word } from "../core/i18n.js";
import { Typed, download, fileName } from "../core/confirm.js";
import { Dialog, Failed, Field, Name, Words } from "../core/ui.js";

const asked = ({ kind, name, derived }) => ({ ...(kind === "everything" ? { everything: true } : { [kind]: name.trim() }), derived });

export default function Erase({ close, subject = "", kind = "subject" }) {
  const { space, may } = useApp();
  const [choice, setChoice] = useState({ kind, name: subject, derived: "stale" });
  const [plan, setPlan] = useState(null);
  const [receipt, setReceipt] = useState(null);
  const preview = useAct(async () => setPlan(await post(spacePath(space, "erasures", "preview"), asked(choice), { full: true })));
  const erase = useAct(async () => {
    setReceipt(await post(spacePath(space, "erasures"), { ...asked(choice), confirm: plan.data.confirm }));
  });
  const change = (more) => { setChoice({ ...choice, ...more }); setPlan(null); preview.clear(); erase.clear(); };
  if (receipt) return html`<${Dialog} title=${t("erase.done")} close=${close}><${Receipt} receipt=${receipt} /><//>`;
  const kinds = ["subject", "session", ...(may("admin") ? ["everything"] : [])];
  return html`<${Dialog} title=${t("erase.title")} danger close=${close}>
    <p class="soft">${t("erase.about")}</p>
    <form class="stack" onSubmit=${(event) => { event.preventDefault(); preview.run(); }}>
      <div class="row">
        <${Field} label=${t("erase.kind")}>${(id) => html`<select id=${id} class="input" value=${choice.kind} onChange=${(event) => change({ kind: event.target.value })}>
          ${kinds.map((one) => html`<option key=${one} value=${one}>${t(`erase.kind.${one}`)}</option>`)}</select>`}<//>
        ${choice.kind !== "everything" && html`<div class="grow"><${Field} label=${t("erase.name")}>${(id) => html`<input id=${id} class="input" dir="auto" required value=${choice.name} onInput=${(event) => change({ name: event.target.value })} />`}<//></div>`}
      </div>
      ${choice.kind !== "everything" && html`<label class="check"><input type="checkbox" checked=${choice.derived === "erase"} onChange=${(event) => change({ derived: event.target.checked ? "erase" : "stale" })} />${t("erase.derived")}</label>`}
      ${preview.error && html`<${Failed} error=${preview.error} />`}
      <div><button class="button" disabled=${preview.busy}>${t("erase.preview")}</button></div>
    </form>
    ${plan && !plan.data.preview.known && html`<p class="note">${t("erase.unknown")}</p>`}
    ${plan && plan.data.preview.known && html`<${Plan} plan=${plan} />
      <${Typed} expected=${choice.kind === "everything" ? space : choice.name} label=${t("erase.act")} act=${erase} run=${erase.run} />`}
  <//>`;
}

function Plan({ plan }) {
  const { preview } = plan.data;
  const parts = [["deleted", preview.deleted], ["redacted", preview.redacted], ["left", preview.left]];
  return html`<div class="stack" role="status">
    <ul class="chips">${Object.entries(preview.counts).map(([name, n]) => html`<li class="tag" key=${name}>${word("count", name)}: ${number(n)}</li>`)}</ul>
    ${parts.map(([name, items]) => items.length > 0 && html`<details key=${name} open=${name !== "left"}><summary>${t(`erase.${name}`, { n: items.length })}</summary>
      <ul class=${name === "deleted" ? "rows going" : "rows"}>${items.map((one) => html`<li key=${one.id}><${Words} said text=${one.content} first=${300} /></li>`)}</ul></details>`)}
    ${preview.aliases.length > 0 && html`<p>${t("erase.aliases")} ${preview.aliases.map((one, at) => html`${at ? ", " : ""}<${Name} text=${one} first=${120} />`)}</p>`}
    ${plan.leftOut > 0 && html`<p class="soft">${t("erase.more", { n: plan.leftOut })}</p>`}
  </div>`;
}

function Receipt({ receipt }) {
  const { space, me } = useApp();
  const [check, setCheck] = useState(null);
  const verify = useAct(async () => setCheck(await post(spacePath(space, "erasures", "verify"), receipt)));
  const isOperator = me.grants.some((one) => one.namespace === "*" && one.rights.includes("admin"));
  const isGone = check && !check.remains && !check.said_before.length && !check.pending;
  // The receipt of a whole namespace has counts in place of lists of ids.
  const listed = ["deleted", "redacted", "stale"].filter((name) => receipt[name].length || !("episodes" in receipt.counts));
  const sum = (counts) => Object.values(counts).reduce((one, other) => one + other, 0);
  return html`
    <p>${t("erase.receipt", { at: time(receipt.at) })} ${receipt.pending && t("erase.pending")}</p>
    <ul class="chips">${[...listed.map((name) => [name, receipt[name].length]), ...Object.entries(receipt.counts)].map(([name, n]) => html`<li class="tag" key=${name}>${word("count", name)}: ${number(n)}</li>`)}</ul>
    <p class="soft">${t("erase.keep")}</p>
    <div class="row"><button class="button main-act" onClick=${() => download(`umi-erasure-${fileName(receipt.id)}.json`, [JSON.stringify(receipt, null, 2)])}>${t("erase.download")}</button>
      ${isOperator && html`<button class="button" disabled=${verify.busy} onClick=${() => verify.run()}>${t("erase.verify")}</button>`}</div>
    ${verify.error && html`<${Failed} error=${verify.error} />`}
    <div role="status">${check && html`<p class=${isGone ? "note" : "note bad"}><strong>${t(isGone ? "erase.gone" : "erase.not.gone")}</strong>
      <span>${t("erase.searched", { n: sum(check.searched), absent: sum(check.absent), remains: check.remains })}</span>
      ${!check.files_searched && html`<span>${t("erase.rows.only")}</span>`}</p>`}</div>`;
}
