// Admin: namespaces, what this one holds, files in and out, keys, health; each only for those who may.
import { html, useEffect, useState } from "../vendor/preact.js";
import { get, post, send, spacePath } from "../core/api.js";
import { useAct, useApp, useLoad } from "../core/app.js";
import { number } from "../core/format.js";
import { t, word } from "../core/i18n.js";
import { useLive } from "../core/live.js";
import { go, link } from "../core/router.js";
import { Failed, Field, Head, Loaded, Name, When } from "../core/ui.js";
import { useSettled } from "./steps.js";

const SHOWN = 100;
const RIGHTS = ["read", "write", "erase", "admin"];

export default function Admin() {
  const { me } = useApp();
  const isOperator = me.grants.some((one) => one.namespace === "*" && one.rights.includes("admin"));
  return html`<${Head} title=${t("nav.admin")} about=${t("admin.about")} />
    <div class="cards wide"><${Files} /><${Held} /></div>
    <${Spaces} />
    ${isOperator && html`<${Keys} />`}
    <${Health} isOperator=${isOperator} />`;
}

function Files() {
  const { space, may, act } = useApp();
  if (!may("read") && !may("write")) return null;
  return html`<section class="card stack"><h2>${t("admin.files")}</h2><p class="soft">${t("admin.files.about")}</p>
    <div class="row">
      ${may("write") && html`<button class="button" onClick=${() => act("import")}>${t("import.open")}</button>`}
      ${may("read") && html`<button class="button" onClick=${() => act("export")}>${t("export.open")}</button>`}
      ${may("erase") && may("read") && html`<button class="button danger" onClick=${() => act("erase", {})}>${t("erase.open")}</button>`}
    </div></section>`;
}

function Held() {
  const { space, may, notify } = useApp();
  const [stats, setStats] = useState(null);
  const live = useLive();
  useEffect(() => setStats(null), [live]); // counts of before
  const count = useAct(async () => setStats(await get(spacePath(space, "stats"))));
  const maintain = useAct(async () => {
    const done = await post(spacePath(space, "maintain"));
    notify(t("admin.maintained", { n: done.completed }));
  });
  if (!may("read")) return null;
  return html`<section class="card stack"><h2>${t("admin.holds", { space: "" })}<${Name} text=${space} first=${60} /></h2>
    ${stats && html`<dl class="pairs">${["episodes", "entities", "vectors", "waiting"].map((name) => html`<div class="pair" key=${name}><dt>${word("count", name)}</dt><dd>${number(stats[name])}</dd></div>`)}
      ${Object.entries(stats.states).map(([name, n]) => html`<div class="pair" key=${name}><dt>${word("state", name)}</dt><dd>${number(n)}</dd></div>`)}
      <div class="pair"><dt>${t("admin.embedder")}</dt><dd>${stats.embedder || t("admin.embedder.none")}</dd></div></dl>`}
    <div class="row"><button class="button" disabled=${count.busy} onClick=${() => count.run()}>${t("admin.count")}</button>
      ${may("admin") && html`<button class="button" disabled=${maintain.busy} onClick=${() => maintain.run()}>${t("admin.maintain")}</button>`}</div>
    ${(count.error || maintain.error) && html`<${Failed} error=${count.error || maintain.error} />`}</section>`;
}

function Spaces() {
  const { me } = useApp();
  const [text, setText] = useState("");
  const [after, setAfter] = useState("");
  const live = useSettled(useLive());
  const found = useLoad((signal) => get("/v1/namespaces", { limit: SHOWN, after }, { signal }), [after, live]);
  const writes = me.grants.some((one) => one.rights.includes("write"));
  const open = (event) => {
    event.preventDefault();
    go(link(text.trim(), "now"));
  };
  return html`<section class="card stack"><h2>${t("admin.spaces")}</h2><p class="soft">${t(writes ? "admin.spaces.about" : "first.read")}</p>
    <form class="row" onSubmit=${open}>
      <div class="grow"><${Field} label=${t("admin.open")}>${(id) => html`<input id=${id} class="input" dir="auto" required maxlength="256" value=${text} onInput=${(event) => setText(event.target.value)} />`}<//></div>
      <button class="button">${t("first.begin")}</button></form>
    <${Loaded} from=${found}>${(page) => html`<div class="table" tabindex="0" role="region" aria-label=${t("admin.spaces")}><table>
      <thead><tr><th scope="col">${t("space.label")}</th><th scope="col">${word("count", "episodes")}</th><th scope="col">${word("count", "entities")}</th></tr></thead>
      <tbody>${page.items.map((one) => html`<tr key=${one.name}><th scope="row"><a href=${link(one.name, "now")}><${Name} text=${one.name} /></a></th><td>${number(one.episodes)}</td><td>${number(one.entities)}</td></tr>`)}</tbody></table></div>
      <div class="row">${after && html`<button class="button" onClick=${() => setAfter("")}>${t("review.first")}</button>`}${page.next && html`<button class="button" onClick=${() => setAfter(page.next)}>${t("review.next")}</button>`}</div>`}<//></section>`;
}

function Keys() {
  const { me, settings, notify } = useApp();
  const [made, setMade] = useState(null);
  const found = useLoad((signal) => get("/v1/keys", {}, { signal }), [made]);
  const grantsAll = me.grants.some((one) => one.namespace === "*" && RIGHTS.every((right) => one.rights.includes(right)));
  const revoke = useAct(async (id) => {
    await send("DELETE", `/v1/keys/${encodeURIComponent(id)}`);
    notify(t("keys.revoked"));
    if (id === me.id) settings.reload();
    else found.reload();
  });
  return html`<section class="card stack"><h2>${t("keys.title")}</h2><p class="soft">${t("keys.about")}</p>
    ${grantsAll && html`<${NewKey} made=${setMade} isFirst=${!me.needs_key} />`}
    ${made && html`<div class="note" role="status"><strong>${t("keys.made")}</strong><code class="token">${made.token}</code><span>${t("keys.once")}</span></div>`}
    ${revoke.error && html`<${Failed} error=${revoke.error} />`}
    ${!(made && !me.needs_key) && html`<${Loaded} from=${found}>${({ items }) => items.length > 0 && html`<div class="table" tabindex="0" role="region" aria-label=${t("keys.title")}><table>
      <thead><tr><th scope="col">${t("keys.name")}</th><th scope="col">${t("keys.grants")}</th><th scope="col">${t("keys.used")}</th><th scope="col">${t("keys.ends")}</th><th scope="col"><span class="unseen">${t("keys.revoke")}</span></th></tr></thead>
      <tbody>${items.map((one) => html`<tr key=${one.id}><th scope="row"><${Name} text=${one.name || one.id} /></th><td>${one.grants.map((grant) => html`<div key=${grant}><bdi>${grant}</bdi></div>`)}</td>
        <td>${one.used_at ? html`<${When} at=${one.used_at} />` : t("keys.never")}</td>
        <td>${one.revoked_at ? html`${t("keys.revoked")} <${When} at=${one.revoked_at} />` : one.expires_at ? html`<${When} at=${one.expires_at} />` : t("keys.never")}</td>
        <td>${!one.revoked_at && html`<button class="button small danger" disabled=${revoke.busy} onClick=${() => revoke.run(one.id)}>${t("keys.revoke")}<span class="unseen">: ${(one.name || one.id).slice(0, 80)}</span></button>`}</td></tr>`)}</tbody></table></div>`}<//>`}</section>`;
}

function NewKey({ made, isFirst }) {
  const { space } = useApp();
  const [name, setName] = useState("");
  const [where, setWhere] = useState(isFirst ? "*" : space);
  const [rights, setRights] = useState(isFirst ? RIGHTS : ["read"]);
  const [days, setDays] = useState("");
  const make = useAct(async () => made(await post("/v1/keys", { name: name.trim(), grants: [`${where.trim()}=${rights.join(",")}`], expires_in_days: days ? Number(days) : null })));
  const flip = (right) => setRights(RIGHTS.filter((one) => (one === right ? !rights.includes(one) : rights.includes(one))));
  return html`<details><summary>${t("keys.new")}</summary><form class="stack" onSubmit=${(event) => { event.preventDefault(); make.run(); }}>
    ${isFirst && html`<p class="note bad">${t("keys.first")}</p>`}
    <div class="row">
      <div class="grow"><${Field} label=${t("keys.name")} hint=${t("optional")}>${(id, hint) => html`<input id=${id} aria-describedby=${hint} class="input" dir="auto" maxlength="200" value=${name} onInput=${(event) => setName(event.target.value)} />`}<//></div>
      <div class="grow"><${Field} label=${t("keys.where")} hint=${t("keys.where.hint")}>${(id, hint) => html`<input id=${id} aria-describedby=${hint} class="input" dir="auto" required value=${where} onInput=${(event) => setWhere(event.target.value)} />`}<//></div>
      <${Field} label=${t("keys.days")} hint=${t("optional")}>${(id, hint) => html`<input id=${id} aria-describedby=${hint} class="input" type="number" min="1" max="36500" value=${days} onInput=${(event) => setDays(event.target.value)} />`}<//>
    </div>
    <fieldset class="plain"><legend class="label">${t("keys.rights")}</legend>${RIGHTS.map((right) => html`<label class="check" key=${right}><input type="checkbox" checked=${rights.includes(right)} onChange=${() => flip(right)} />${t(`right.${right}`)}</label>`)}</fieldset>
    ${make.error && html`<${Failed} error=${make.error} />`}
    <div><button class="button main-act" disabled=${make.busy || !rights.length}>${t("keys.make")}</button></div></form></details>`;
}

function Health({ isOperator }) {
  const { me } = useApp();
  const found = useLoad((signal) => get("/readyz", {}, { signal }), []);
  return html`<section class="card stack"><h2>${t("health.title")}</h2>
    <p>${found.error ? html`<${Failed} error=${found.error} retry=${found.reload} />` : found.data ? t("health.ready", { version: me.version }) : t("loading")}</p>
    <p class="soft">${t(me.needs_key ? "health.keys" : "health.open")} ${t(me.learns ? "health.learns" : "health.not.learns")} ${isOperator && t("health.metrics")}</p></section>`;
}
