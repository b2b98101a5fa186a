// Take a change back: first what that will bring back, then the change.
import { html } from "../vendor/preact.js";
import { get, post, spacePath } from "../core/api.js";
import { useAct, useApp, useLoad } from "../core/app.js";
import { t } from "../core/i18n.js";
import { Relation } from "../core/relations.js";
import { Dialog, Failed, Loaded, State, When, Words } from "../core/ui.js";

export default function Undo({ close, relation }) {
  const { space, notify } = useApp();
  const preview = useLoad((signal) => get(spacePath(space, "relations", relation.id, "undo"), {}, { signal }), [space, relation.id]);
  const undo = useAct(async () => {
    await post(spacePath(space, "relations", relation.id, "undo"));
    notify(t("undo.done"));
    close();
  });
  return html`<${Dialog} title=${t("undo.title")} close=${close}>
    <${Relation} relation=${relation} />
    <${Loaded} from=${preview}>${({ changes }) => html`
      <h3>${t(changes.length ? "undo.changes" : "undo.nothing")}</h3>
      <ul class="rows">${changes.map((one) => html`<li key=${one.entity.id} class="stack">
        <p><${Words} said text=${one.entity.content} first=${400} /></p>
        <p class="meta"><${State} state=${one.was} /> <span aria-hidden="true">→</span><span class="unseen">${t("undo.becomes")}</span> <${State} state=${one.becomes} />
          ${one.was === one.becomes && html`<span>${t("undo.held")} <${When} at=${one.entity.valid_from} /> – ${one.entity.valid_to ? html`<${When} at=${one.entity.valid_to} />` : t("why.today")}</span>`}</p></li>`)}</ul>
      ${undo.error && html`<${Failed} error=${undo.error} />`}
      <div class="row"><button class="button main-act" autofocus disabled=${undo.busy} onClick=${() => undo.run()}>${t("undo.act")}</button>
        <button class="button" onClick=${close}>${t("cancel")}</button></div>`}<//>
  <//>`;
}
