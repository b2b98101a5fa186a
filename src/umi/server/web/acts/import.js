// Import files: chats of other programs, notes and tables message by message, or an export of Umi as a whole. The same file again goes on where it broke off.
import { html, useRef, useState } from "../vendor/preact.js";
import { lines, send, spacePath } from "../core/api.js";
import { useAct, useApp } from "../core/app.js";
import { bytes, number, percent } from "../core/format.js";
import { t } from "../core/i18n.js";
import { go, link } from "../core/router.js";
import { Dialog, Failed, Field, Name, Words } from "../core/ui.js";

const HEAD_BYTES = 4096;
const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
const isExport = async (file) => /^\s*\{\s*"umi_export"/.test(await file.slice(0, HEAD_BYTES).text());

export default function Import({ close, files = [] }) {
  const { space, may } = useApp();
  const [chosen, setChosen] = useState([...files]);
  const [speaker, setSpeaker] = useState(localStorage.getItem("umi-speaker") || "");
  const [told, setTold] = useState([]);
  const stopper = useRef(null);
  const note = (at, more) => setTold((before) => { const after = [...before]; after[at] = { ...after[at], ...more }; return after; });

  const one = async (file, at, signal) => {
    note(at, { name: file.name, size: file.size, sent: true });
    if (await isExport(file)) {
      if (!may("admin")) throw Object.assign(new Error(t("import.export.admin")), { code: "forbidden", status: 403 });
      const receipt = await (await send("POST", spacePath(space, "import"), { raw: file, headers: { "Content-Type": "application/x-ndjson" }, signal })).json();
      note(at, { done: true, messages: receipt.episodes, statements: receipt.entities, changes: receipt.relations, known_already: 0, rejected: [], rejected_count: 0, skipped: {} });
      return;
    }
    const params = { name: file.name, speaker: speaker.trim(), timezone: zone(), modified: file.lastModified ? new Date(file.lastModified).toISOString() : "" };
    const answer = await send("POST", spacePath(space, "files"), { params, raw: file, headers: { "Content-Type": "application/octet-stream" }, signal });
    let last = {};
    await lines(answer, (line) => { last = JSON.parse(line); note(at, last); });
    if (!last.done) throw Object.assign(new Error(last.error || t("import.broken")), { code: last.error ? "invalid_input" : "unreachable", status: 0 });
  };
  const run = useAct(async () => {
    stopper.current = new AbortController();
    setTold([]);
    for (let at = 0; at < chosen.length; at += 1) await one(chosen[at], at, stopper.current.signal);
  });
  const stop = () => { stopper.current?.abort(); };
  const leave = () => { stop(); close(); };
  const begun = told.some((item) => item?.messages > 0);
  const done = chosen.length > 0 && told.length === chosen.length && told.every((item) => item?.done);
  return html`<${Dialog} title=${t("import.title")} close=${leave}>
    <p class="soft">${t("import.about")}</p>
    <form class="stack" onSubmit=${(event) => { event.preventDefault(); run.run(); }}>
      <${Field} label=${t("import.files")} hint=${t("import.hint")}>${(id, hint) => html`<input id=${id} aria-describedby=${hint} class="input" type="file" multiple disabled=${run.busy} onChange=${(event) => { setChosen([...event.target.files]); setTold([]); }} />`}<//>
      ${chosen.length > 0 && html`<ul class="rows">${chosen.map((file, at) => html`<li key=${`${at} ${file.name}`}><${Name} text=${file.name} /> <span class="soft">${bytes(file.size)}</span>
        ${told[at] && (run.busy || told[at].messages !== undefined) && html`<${Progress} told=${told[at]} />`}</li>`)}</ul>`}
      <${Field} label=${t("import.speaker")} hint=${t("import.speaker.hint")}>${(id, hint) => html`<input id=${id} aria-describedby=${hint} class="input" dir="auto" value=${speaker} disabled=${run.busy} onInput=${(event) => setSpeaker(event.target.value)} />`}<//>
      ${run.error && html`<${Failed} error=${run.error} />${begun && html`<p class="soft">${t("import.resume")}</p>`}`}
      <div class="row">${!done && html`<button class="button main-act" disabled=${run.busy || !chosen.length}>${t(run.error && begun ? "import.again" : "import.act")}</button>`}
        ${run.busy && html`<button type="button" class="button" onClick=${stop}>${t("import.stop")}</button>`}
        ${done && html`<button type="button" class="button main-act" onClick=${() => { close(); go(link(space, "timeline")); }}>${t("import.see")}</button>`}</div>
    </form><//>`;
}

function Progress({ told }) {
  const share = told.done ? 1 : told.bytes ? told.bytes_done / told.bytes : 0;
  const skipped = Object.entries(told.skipped || {});
  return html`<div class="stack">
    <progress max="1" value=${told.messages === undefined ? undefined : share} aria-label=${t("import.progress")}></progress>
    <p class="tiny" role="status">${told.messages === undefined ? t("import.sending") : html`${percent(share)} · ${t("import.messages", { n: told.messages })} · ${t("import.statements", { n: told.statements })} · ${t("import.changes", { n: told.changes })}
      ${told.known_already > 0 && html` · ${t("import.known", { n: told.known_already })}`}`}</p>
    ${told.rejected_count > 0 && html`<details><summary>${t("import.rejected", { n: told.rejected_count })}</summary><ul class="rows">${told.rejected.map((one, at) => html`<li key=${at}>${number(one.line)}: <${Words} text=${`${one.where} ${one.reason}`} /></li>`)}</ul></details>`}
    ${skipped.length > 0 && html`<p class="tiny soft">${t("import.skipped")} ${skipped.map(([reason, n]) => `${reason}: ${number(n)}`).join(", ")}</p>`}
  </div>`;
}
