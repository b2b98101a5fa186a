// Export: everything of the namespace in one file, which `umi restore` and the import of this page read.
import { html, useEffect, useState } from "../vendor/preact.js";
import { piece, send, spacePath } from "../core/api.js";
import { useAct, useApp } from "../core/app.js";
import { download, fileName } from "../core/confirm.js";
import { bytes } from "../core/format.js";
import { t } from "../core/i18n.js";
import { Dialog, Failed } from "../core/ui.js";

export default function Export({ close }) {
  const { space } = useApp();
  const [got, setGot] = useState(0);
  const [size, setSize] = useState(0);
  const [done, setDone] = useState(false);
  const run = useAct(async (signal) => {
    const answer = await send("GET", spacePath(space, "export"), { signal });
    const [reader, parts] = [answer.body.getReader(), []];
    const whole = Number(answer.headers.get("Content-Length")) || 0;
    setSize(whole);
    let count = 0;
    for (let next = await piece(reader); !next.done; next = await piece(reader)) {
      parts.push(next.value);
      count += next.value.length;
      setGot(count);
    }
    if (whole && count !== whole) throw new Error(t("export.short"));
    download(`umi-${fileName(space)}.jsonl`, parts, "application/x-ndjson");
    setDone(true);
  });
  useEffect(() => {
    const stopper = new AbortController();
    run.run(stopper.signal);
    return () => stopper.abort();
  }, []);
  return html`<${Dialog} title=${t("export.title")} close=${close}>
    <p class="soft">${t("export.about")}</p>
    <progress max=${size || 1} value=${done ? size || 1 : got} aria-label=${t("export.title")}></progress>
    <p role="status">${done ? t("export.done", { size: bytes(got) }) : bytes(got)}</p>
    ${run.error && html`<${Failed} error=${run.error} />`}
  <//>`;
}
