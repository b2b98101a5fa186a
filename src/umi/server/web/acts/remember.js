// Remember something: it is kept word for word, and what Umi read in it is shown.
import { html, useRef, useState } from "../vendor/preact.js";
import { freshId, post, spacePath } from "../core/api.js";
import { useAct, useApp } from "../core/app.js";
import { DAY_LAST } from "../core/format.js";
import { t, word } from "../core/i18n.js";
import { kindOf } from "../core/relations.js";
import { link } from "../core/router.js";
import { Dialog, Failed, Field, Words } from "../core/ui.js";

const SPEAKER = "umi-speaker";

export default function Remember({ close }) {
  const { space } = useApp();
  const [said, setSaid] = useState({ content: "", speaker: localStorage.getItem(SPEAKER) || "", at: "", session: "" });
  const [receipt, setReceipt] = useState(null);
  // The same id with the same words stores nothing twice, when an answer was lost on its way.
  const id = useRef(freshId());
  const keep = useAct(async () => {
    localStorage.setItem(SPEAKER, said.speaker);
    const at = said.at ? new Date(said.at).toISOString() : null;
    setReceipt(await post(spacePath(space, "episodes"), { content: said.content, speaker: said.speaker.trim() || null, session: said.session.trim() || null, at, id: id.current }));
  });
  const change = (name) => (event) => {
    id.current = freshId();
    setSaid({ ...said, [name]: event.target.value });
  };
  const again = () => {
    id.current = freshId();
    setSaid({ ...said, content: "" });
    setReceipt(null);
  };
  if (receipt) return html`<${Dialog} title=${t("remember.done")} close=${close}><${Read} receipt=${receipt} close=${close} />
    <div class="row"><button class="button" onClick=${again}>${t("remember.again")}</button></div><//>`;
  return html`<${Dialog} title=${t("remember.title")} close=${close}>
    <form class="stack" onSubmit=${(event) => { event.preventDefault(); keep.run(); }}>
      <${Field} label=${t("remember.words")} hint=${t("remember.hint")}>${(id, hint) => html`<textarea id=${id} aria-describedby=${hint} class="input" dir="auto" required autofocus value=${said.content} onInput=${change("content")}></textarea>`}<//>
      <div class="row">
        <div class="grow"><${Field} label=${t("remember.speaker")} hint=${t("remember.speaker.hint")}>${(id, hint) => html`<input id=${id} aria-describedby=${hint} class="input" dir="auto" maxlength="256" value=${said.speaker} onInput=${change("speaker")} />`}<//></div>
        <div class="grow"><${Field} label=${t("remember.session")} hint=${t("optional")}>${(id, hint) => html`<input id=${id} aria-describedby=${hint} class="input" dir="auto" maxlength="256" value=${said.session} onInput=${change("session")} />`}<//></div>
        <${Field} label=${t("remember.at")} hint=${t("remember.at.hint")}>${(id, hint) => html`<input id=${id} aria-describedby=${hint} class="input" type="datetime-local" max=${`${DAY_LAST}T23:59`} value=${said.at} onInput=${change("at")} />`}<//>
      </div>
      ${keep.error && html`<${Failed} error=${keep.error} />`}
      <div><button class="button main-act" disabled=${keep.busy}>${t("remember.act")}</button></div>
    </form><//>`;
}

function Read({ receipt, close }) {
  const { space } = useApp();
  return html`<p class="soft">${t(receipt.entities.length ? "remember.read" : "remember.unread", { n: receipt.entities.length })}</p>
    <ul class="rows">${receipt.entities.map((one) => html`<li key=${one.id}><p><${Words} said text=${one.content} first=${600} /></p>
      <div class="meta"><span class="tag">${word("kind", one.entity_type)}</span><a href=${link(space, "why", one.id)} onClick=${close}>${t("why.link")}<span class="unseen">: ${one.content.slice(0, 80)}</span></a></div></li>`)}
      ${receipt.evolutions.map((one) => html`<li key=${one.id}><strong>${kindOf(one)}</strong> <span class="soft"><${Words} text=${one.reason} /></span></li>`)}</ul>
    ${receipt.degraded.length > 0 && html`<div class="note bad">${receipt.degraded.map((one) => html`<span key=${one}>${word("degraded", one)}</span>`)}</div>`}
    ${receipt.forgotten.length > 0 && html`<div class="note bad">${t("remember.forgotten")}</div>`}`;
}
