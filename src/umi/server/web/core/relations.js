// How a newer statement relates to an older one, as every view shows it: what, who noticed it, how sure, and whether it acts.
import { html } from "../vendor/preact.js";
import { percent } from "./format.js";
import { t, word } from "./i18n.js";
import { link } from "./router.js";
import { Name, State, When, Words } from "./ui.js";

/** The word for a relation: of an update and an extension its nature, where somebody said. */
export const kindOf = (relation) => word("relation", relation.nature || relation.evolution_type);

/** One relation: "replaces · 93% sure · Umi's rules · 12 Jan 2026", with its reason. */
export function Relation({ relation, children }) {
  const open = relation.evolution_type === "contradict" && !relation.resolved && !relation.undone_at;
  const unsure = relation.evolution_type === "update" && !relation.acted && !relation.resolved && !relation.undone_at;
  return html`<div class=${`relation ${relation.evolution_type}${relation.undone_at ? " undone" : ""}`}>
    <p><strong>${kindOf(relation)}</strong> <span class="soft"><${Words} text=${relation.reason} /></span></p>
    <div class="meta">
      <span>${t("relation.by", { who: word("detector", relation.detector) })}</span>
      <span>${t("relation.sure", { share: percent(relation.confidence) })}</span>
      <${When} at=${relation.created_at} />
      ${open && html`<span class="tag warm">${t("relation.open")}</span>`}
      ${unsure && html`<span class="tag warm">${t("relation.unsure")}</span>`}
      ${relation.resolved && html`<span class="tag">${t(`resolved.${relation.resolved}`)}</span>`}
      ${relation.undone_at && html`<span class="tag">${t("relation.undone")} <${When} at=${relation.undone_at} /></span>`}
      ${children}
    </div>
  </div>`;
}

/** A statement in a list: its words, state, date, and the way to its reasons. */
export const Statement = ({ entity, state, space, children }) => html`<div class="statement">
  <p><${Words} said text=${entity.content} first=${600} /></p>
  <div class="meta">${state && html`<${State} state=${state} />`}
    ${entity.name && html`<${Name} text=${entity.name} first=${40} />`}
    <${When} at=${entity.at} />
    <a href=${link(space, "why", entity.id)}>${t("why.link")}<span class="unseen">: ${entity.content.slice(0, 80)}</span></a>${children}</div>
</div>`;
