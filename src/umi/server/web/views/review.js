import { html } from "../vendor/preact.js";
import { t } from "../core/i18n.js";
import { Empty, Head } from "../core/ui.js";

export default function View() {
  return html`<${Head} title=${t("nav.review")} /><${Empty} title=${t("soon")} />`;
}
