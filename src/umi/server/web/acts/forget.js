// Forget one statement, or the message it stands in, for good: first every row that goes, then a typed word.
import { html, useState } from "../vendor/preact.js";
import { get, post, spacePath } from "../core/api.js";
import { useAct, useApp, useLoad } from "../core/app.js";
import { t } from "../core/i18n.js";
import { Typed } from "../core/confirm.js";
import { Dialog, Loaded, Words } from "../core/ui.js";

export default function Forget({ close, entity, done }) {
  const { space, notify } = useApp();
  const [whole, setWhole] = useState(false);
  const id = whole ? entity.episode_id : entity.id;
  const preview = useLoad((signal) => get(spacePath(space, "forget", id), {}, { signal }), [space, id]);
  const forget = useAct(async () => {
    const { deleted } = await post(spacePath(space, "forget"), { id });
    notify(t(deleted ? "forget.done" : "forget.none"));
    close();
    done?.();
  });
  return html`<${Dialog} title=${t("forget.title")} danger close=${close}>
    <fieldset class="plain"><legend class="unseen">${t("forget.what")}</legend>
      <label class="check"><input type="radio" name="what" checked=${!whole} onChange=${() => setWhole(false)} />${t("forget.statement")}</label>
      <label class="check"><input type="radio" name="what" checked=${whole} onChange=${() => setWhole(true)} />${t("forget.message")}</label></fieldset>
    <${Loaded} from=${preview}>${(plan) => html`
      <${Rows} title=${t(plan.left === null ? "forget.goes.message" : "forget.goes.cut")} items=${[plan.left === null ? plan.episode : { id: "left", content: plan.left }]} />
      <${Rows} title=${t("forget.goes.statements", { n: plan.statements.length })} items=${plan.statements} />
      ${plan.unsupported.length > 0 && html`<${Rows} title=${t("forget.unsupported", { n: plan.unsupported.length })} items=${plan.unsupported} />`}
      <${Typed} expected=${t("forget.word")} label=${t("forget.act")} act=${forget} run=${forget.run} />`}<//>
  <//>`;
}

const Rows = ({ title, items }) => html`<section class="stack"><h3>${title}</h3>
  <ul class="rows going">${items.map((one) => html`<li key=${one.id}><${Words} said text=${one.content} first=${400} /></li>`)}</ul></section>`;
