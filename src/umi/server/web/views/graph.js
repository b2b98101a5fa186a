// Graph: subjects, what is said of them, and how statements replace, dispute and rest on each other. Cytoscape is loaded with this view.
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { get, spacePath } from "../core/api.js";
import { useApp, useLoad, useStyle } from "../core/app.js";
import { cut, isVisible } from "../core/format.js";
import { t } from "../core/i18n.js";
import { useLive } from "../core/live.js";
import { link, replace } from "../core/router.js";
import { Empty, Head, Loaded, Loading, Name, State, Words } from "../core/ui.js";
import { layout } from "./graph-layout.js";
import { CONCLUDED, countsOf, historyOf, slim, Subjects, subjectsOf, titled, useSettled, withKinds } from "./steps.js";

const NODES_MOST = 300;
const NEAR = 80; // newest statements that are drawn before more are asked for
const ZOOM_LEAST = 0.7; // smaller its words are hard to read
const ZOOM_FIRST_MOST = 1.2; // larger than the page's own words it need not be
const LABEL = 34; // characters
const LABEL_NARROW = 24;
const NARROW_PX = 500;
const STYLE = "__________cytoscape_stylesheet"; // the id by which cytoscape finds its styles, and adds none of its own, which the policy refuses

/** What is drawn: the newest statements of a subject, or of all, their subjects, and relations with both ends among them. */
function graphOf(steps) {
  const newest = [...steps].sort((one, other) => other.known - one.known || other.from - one.from);
  const nodes = new Map();
  const edges = [];
  const addSubject = (key, name) => nodes.has(`s:${key}`) || nodes.set(`s:${key}`, { id: `s:${key}`, isSubject: true, name });
  let shown = 0;
  for (const one of newest) {
    const more = 1 + [one.subject, ...one.also].filter((key) => !nodes.has(`s:${key}`)).length;
    if (nodes.size + more > NODES_MOST) continue;
    shown += 1;
    nodes.set(one.id, { ...one });
    if (one.subject) {
      addSubject(one.subject, one.name);
      edges.push({ id: `${one.id} of`, source: `s:${one.subject}`, target: one.id, type: "says" });
    }
    for (const key of one.also) {
      addSubject(key, key);
      edges.push({ id: `${one.id} also ${key}`, source: one.id, target: `s:${key}`, type: "says" });
    }
  }
  // A value that is itself a subject here links the two.
  for (const one of newest) {
    const to = `s:${one.value.toLowerCase()}`;
    if (nodes.has(one.id) && one.value && nodes.has(to) && to !== `s:${one.subject}` && !one.also.includes(one.value.toLowerCase())) edges.push({ id: `${one.id} is`, source: one.id, target: to, type: "says" });
  }
  const seen = new Set();
  for (const one of newest) {
    for (const row of one.relations) {
      if (row.undone || seen.has(row.id) || !nodes.has(row.from) || !nodes.has(row.to)) continue;
      seen.add(row.id);
      const isStale = row.type === "derive" && nodes.get(row.to).state === "stale";
      edges.push({ id: row.id, source: row.from, target: row.to, type: row.type, isStale });
    }
  }
  return { nodes: [...nodes.values()], edges, leftOut: newest.length - shown };
}

export default function Graph() {
  const { space, route } = useApp();
  const live = useSettled(useLive());
  const subject = route.arg;
  const [asked, setAsked] = useState({ subject, most: NEAR });
  const most = asked.subject === subject ? asked.most : NEAR;
  const found = useLoad(async (signal) => {
    const [subjects, of] = await Promise.all([subjectsOf(space, signal), subject ? ofSubject(space, subject, most, signal) : ofAll(space, most, signal)]);
    return { subjects, older: of.older, graph: graphOf(of.steps) };
  }, [space, subject, live, most]);
  const more = most < NODES_MOST && (() => setAsked({ subject, most: NODES_MOST }));
  return html`<${Head} title=${subject ? html`<${Name} text=${subject} />` : t("nav.graph")} about=${t("graph.about")}>${subject && html`<span class="eyebrow">${t("nav.graph")}</span>`}<//>
    <${Loaded} from=${found}>${({ subjects, older, graph }) => (graph.nodes.length || subject ? html`
      <${Subjects} view="graph" subjects=${subjects} subject=${subject} />
      ${graph.nodes.length ? html`<${Shown} graph=${graph} older=${older} more=${more} busy=${found.loading} />` : html`<${Empty} title=${t("timeline.nothing.title")}><p class="soft">${t("timeline.nothing.about")}</p><//>`}`
    : html`<${Empty} title=${t("graph.empty.title")}><p class="soft">${t("graph.empty.about")}</p>
      <pre>umi remember "Alice works at Acme." -n ${space}</pre><//>`)}<//>`;
}

async function ofSubject(space, subject, most, signal) {
  const [counts, { steps, loaded }] = await Promise.all([countsOf(space, subject, 1, signal), historyOf(space, subject, { signal, most })]);
  return { steps, older: Math.max(0, counts.count - loaded) };
}

async function ofAll(space, most, signal) {
  const page = await get(spacePath(space, "entities"), { limit: most, order: "newest" }, { signal });
  return { steps: withKinds(page.items.map(slim)), older: page.next === null ? 0 : Infinity };
}

function Shown({ graph, older, more, busy }) {
  const { space, route } = useApp();
  const isTable = route.query.as === "table";
  const set = (next) => replace(link(space, "graph", route.arg, { ...route.query, ...next }));
  const chosen = graph.nodes.find((one) => one.id === route.query.at);
  const left = older + graph.leftOut;
  const told = left === Infinity ? t("graph.older") : left ? t("graph.left", { n: left }) : "";
  return html`
    <div class="row centre"><p class="soft" role="status">${t("graph.shown", { nodes: graph.nodes.length, edges: graph.edges.length })} ${told}${told && !more && ` ${t("graph.most", { most: NODES_MOST })}`}</p>
      ${told && more && html`<button class="button small" disabled=${busy} onClick=${more}>${t("graph.more")}</button>`}
      ${route.arg && html`<a href=${link(space, "graph")}>${t("graph.all")}</a>`}
      <div class="segments end" role="group" aria-label=${t("timeline.form")}>${["", "table"].map((one) => html`<button key=${one} class="button small" aria-pressed=${(one === "table") === isTable ? "true" : "false"} onClick=${() => set({ as: one })}>${t(one ? "timeline.table" : "graph.drawing")}</button>`)}</div></div>
    ${isTable ? html`<${Table} graph=${graph} />` : html`<${Drawing} graph=${graph} chosen=${chosen} choose=${(id) => set({ at: id })} />`}
    <div aria-live="polite">${chosen && html`<${Detail} node=${chosen} graph=${graph} choose=${(id) => set({ at: id })} />`}</div>`;
}

const shown = (text, most) => {
  const clean = text.replace(/\p{C}/gu, "");
  return !isVisible(clean) ? "▯" : clean.length > most ? `${cut(clean, most)}…` : clean;
};
const plain = (node) => (node.isSubject ? node.name : `${node.negated ? `${t("fact.not")} ` : ""}${node.value || node.content}`);

const colour = (name) => {
  // The value of a token as a colour: cytoscape knows no variables and no light-dark().
  const probe = document.createElement("i");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
};

function looks() {
  const [ink, soft, surface, sunken, line, tide, tideSoft, onTide, coral, coralSoft] = ["ink", "ink-soft", "surface", "sunken", "line-strong", "tide", "tide-soft", "on-tide", "coral", "coral-soft"].map(colour);
  const font = getComputedStyle(document.body).fontFamily;
  return [
    { selector: "node", style: { label: "data(label)", color: ink, "font-family": font, "font-size": 13, "min-zoomed-font-size": 6, "text-valign": "center", "text-halign": "center", shape: "round-rectangle", width: "data(width)", height: 26, "background-color": surface, "border-width": 1.5, "border-color": line } },
    { selector: "node.subject", style: { shape: "ellipse", height: 38, "background-color": tide, "border-color": tide, color: onTide, "font-weight": 600, "font-size": 12 } },
    { selector: "node.current", style: { "border-color": tide, "background-color": tideSoft } },
    { selector: "node.superseded", style: { "border-style": "dashed", color: soft, "background-color": sunken } },
    { selector: "node.stale", style: { "border-style": "dotted", "border-width": 3, "border-color": soft, color: soft, "background-color": sunken, shape: "cut-rectangle" } },
    { selector: "node.disputed", style: { "border-color": coral, "border-style": "double", "border-width": 5, "background-color": coralSoft, shape: "hexagon" } },
    { selector: "node.forgotten", style: { "border-style": "dashed", color: soft } },
    { selector: "edge", style: { width: 1.2, "line-color": line, "curve-style": "bezier", "target-arrow-shape": "none" } },
    { selector: "edge.update", style: { "line-color": tide, width: 2.2, "target-arrow-shape": "triangle", "target-arrow-color": tide } },
    { selector: "edge.extend", style: { "line-color": tide, width: 1.6, "line-style": "dashed", "target-arrow-shape": "vee", "target-arrow-color": tide } },
    { selector: "edge.derive", style: { "line-color": ink, width: 1.6, "target-arrow-shape": "circle", "target-arrow-color": ink } },
    { selector: "edge.derive.stale", style: { "line-style": "dashed", "line-dash-pattern": [7, 5], "target-arrow-shape": "circle", "target-arrow-fill": "hollow", "line-color": soft } },
    { selector: "edge.contradict", style: { "line-color": coral, width: 3, "line-style": "dotted", "source-arrow-shape": "tee", "target-arrow-shape": "tee", "target-arrow-color": coral, "source-arrow-color": coral } },
    { selector: "node:selected", style: { "border-color": ink, "border-width": 4, "border-style": "solid" } },
  ];
}

// How wide a label is drawn: in the page's own font.
function measure() {
  const pen = document.createElement("canvas").getContext("2d");
  const { fontFamily } = getComputedStyle(document.body);
  return (label, isSubject) => {
    pen.font = `${isSubject ? 600 : 400} ${isSubject ? 12 : 13}px ${fontFamily}`;
    return pen.measureText(label).width;
  };
}

function elements(graph, { clientWidth, clientHeight }) {
  const most = clientWidth < NARROW_PX ? LABEL_NARROW : LABEL;
  const wide = measure();
  const sized = graph.nodes.map((node) => {
    const label = shown(`${node.isSubject || !node.attribute || node.attribute === CONCLUDED ? "" : `${titled(node.attribute)}: `}${plain(node)}`, most);
    return { ...node, label, width: (node.state === "disputed" ? 56 : 32) + wide(label, node.isSubject) };
  });
  const places = layout(sized, graph.edges, clientWidth / clientHeight);
  const nodes = sized.map((node) => ({ data: { id: node.id, label: node.label, width: node.width }, position: places.get(node.id), classes: node.isSubject ? "subject" : node.state }));
  const edges = graph.edges.map(({ id, source, target, type, isStale }) => ({ data: { id: `e ${id}`, source, target }, classes: `${type}${isStale ? " stale" : ""}` }));
  return { nodes, edges };
}

function Drawing({ graph, chosen, choose }) {
  const box = useRef(null);
  const held = useRef(null);
  const [library, setLibrary] = useState(null);
  const ready = [useStyle("views/steps.css"), useStyle("views/graph.css")].every(Boolean);
  useEffect(() => { import("../vendor/cytoscape.js").then((module) => setLibrary(() => module.default)); }, []);
  useEffect(() => {
    if (!library || !ready) return undefined;
    document.querySelector('link[href="/web/views/graph.css"]').id = STYLE;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const cy = library({ container: box.current, elements: elements(graph, box.current), style: looks(), minZoom: 0.1, maxZoom: 3, layout: { name: "preset", fit: true, padding: 16 } });
    // Too small to read, it begins at its largest subject; "Show all" shows the rest.
    if (cy.zoom() < ZOOM_LEAST) cy.zoom(ZOOM_LEAST).center(cy.nodes(".subject").max((node) => node.degree()).ele?.closedNeighborhood());
    if (cy.zoom() > ZOOM_FIRST_MOST) cy.zoom(ZOOM_FIRST_MOST).center();
    cy.on("tap", "node", (event) => choose(event.target.id()));
    // The wheel scrolls the page; with Ctrl it zooms.
    const wheel = (event) => { if (!event.ctrlKey) event.stopPropagation(); };
    const frame = box.current.parentElement;
    frame.addEventListener("wheel", wheel, { capture: true, passive: true });
    held.current = cy;
    box.current.dataset.nodes = String(cy.nodes().length);
    const recolour = () => cy.style(looks());
    const watch = new MutationObserver(recolour);
    watch.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    // Staleness flows along what a conclusion was drawn from.
    const stale = cy.edges(".derive.stale");
    let offset = 0;
    const flow = calm || !stale.length ? 0 : setInterval(() => { offset = (offset - 2) % 12; stale.style("line-dash-offset", offset); }, 120);
    return () => { clearInterval(flow); watch.disconnect(); frame.removeEventListener("wheel", wheel, { capture: true }); held.current = null; cy.destroy(); };
  }, [library, ready, graph]);
  useEffect(() => {
    const cy = held.current;
    if (!cy) return;
    cy.nodes().unselect();
    const node = chosen && cy.getElementById(chosen.id);
    if (!node?.length) return;
    node.select();
    const { x, y } = node.renderedPosition();
    if (x < 0 || y < 0 || x > cy.width() || y > cy.height()) cy.center(node);
  }, [chosen?.id, library, ready, graph]);
  const key = (event) => {
    const cy = held.current; // none until the library is loaded: one goes from node to node before, too
    const zoom = (by) => cy?.zoom({ level: cy.zoom() * by, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
    const act = {
      "+": () => zoom(1.25),
      "-": () => zoom(1 / 1.25),
      0: () => cy?.fit(undefined, 24),
      ArrowRight: () => choose(stepFrom(graph, chosen, 1)),
      ArrowLeft: () => choose(stepFrom(graph, chosen, -1)),
      ArrowDown: () => choose(along(graph, chosen, 1)),
      ArrowUp: () => choose(along(graph, chosen, -1)),
      Escape: () => choose(""),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
  return html`<section class="card graph" aria-label=${t("nav.graph")}>
    <${Legend} />
    ${!(library && ready) && html`<${Loading} />`}
    <p class="unseen" id="graph-keys">${t("graph.keys")}</p>
    <div class="canvas" ref=${box} tabindex="0" role="application" aria-roledescription=${t("nav.graph")} aria-label=${t("graph.of", { nodes: graph.nodes.length, edges: graph.edges.length })} aria-describedby="graph-keys" onKeyDown=${key}></div>
    <div class="row"><button class="button small" aria-label=${t("graph.closer")} onClick=${() => held.current?.zoom(held.current.zoom() * 1.25)}>+</button>
      <button class="button small" aria-label=${t("graph.further")} onClick=${() => held.current?.zoom(held.current.zoom() / 1.25)}>−</button>
      <button class="button small" onClick=${() => held.current?.fit(undefined, 24)}>${t("graph.fit")}</button></div>
  </section>`;
}

/** The node after one, or before it, in the order of the table. */
const stepFrom = ({ nodes }, chosen, by) => nodes[chosen ? (nodes.indexOf(chosen) + by + nodes.length) % nodes.length : 0].id;
/** The node at the other end of an edge of one: the next one that begins there, or the one before that ends there. */
function along({ edges, nodes }, chosen, by) {
  if (!chosen) return nodes[0].id;
  const found = edges.find((edge) => (by > 0 ? edge.source : edge.target) === chosen.id);
  return found ? (by > 0 ? found.target : found.source) : chosen.id;
}

const LINES = { update: "M2 9h30m-7-4 7 4-7 4", extend: "M2 9h6m4 0h6m4 0h6m-1-4 5 4-5 4", derive: "M2 9h26m0 0a3 3 0 1 0 6 0 3 3 0 1 0-6 0", stale: "M2 9h5m4 0h5m4 0h5m3 0a3 3 0 1 0 6 0 3 3 0 1 0-6 0", contradict: "M4 3v12M32 3v12M8 9h2m4 0h2m4 0h2m4 0h2" };
const Legend = () => html`<ul class="legend" aria-label=${t("timeline.legend")}>
  ${["current", "superseded", "stale", "disputed"].map((one) => html`<li key=${one}><${State} state=${one} /></li>`)}
  ${Object.entries(LINES).map(([one, path]) => html`<li key=${one}><svg class=${`line ${one}`} width="38" height="18" aria-hidden="true"><path d=${path} /></svg>${t(`graph.edge.${one}`)}</li>`)}</ul>`;

function Detail({ node, graph, choose }) {
  const { space } = useApp();
  const near = graph.edges.filter((edge) => edge.source === node.id || edge.target === node.id);
  const byId = new Map(graph.nodes.map((one) => [one.id, one]));
  return html`<section class="card stack" aria-label=${t("timeline.detail")}>
    <div class="row centre"><h2><${Name} text=${plain(node)} first=${200} /></h2>${!node.isSubject && html`<${State} state=${node.state} />`}<button class="button quiet small end" onClick=${() => choose("")}>${t("close")}</button></div>
    ${!node.isSubject && html`<p><${Words} said text=${node.content} /></p>`}
    <ul class="rows">${near.map((edge) => {
      const isFrom = edge.source === node.id;
      const end = byId.get(isFrom ? edge.target : edge.source);
      return html`<li key=${edge.id}>${edge.type === "says" ? titled((end.isSubject ? node : end).attribute || "") : t(`timeline.${edge.type}.${isFrom ? "by" : "of"}`)} <button class="button quiet small" onClick=${() => choose(end.id)}><${Name} text=${plain(end)} /></button>${edge.isStale && html` <span class="tag">${t("state.stale")}</span>`}</li>`;
    })}</ul>
    <div class="row">${node.isSubject ? html`<a class="button" href=${link(space, "graph", node.name)}>${t("graph.only")}</a><a class="button" href=${link(space, "timeline", node.name)}>${t("nav.timeline")}</a>` : html`<a class="button" href=${link(space, "why", node.id)}>${t("why.link")}<span class="unseen">: ${node.content.slice(0, 80)}</span></a>`}</div>
  </section>`;
}

function Table({ graph }) {
  const { space } = useApp();
  const byId = new Map(graph.nodes.map((one) => [one.id, one]));
  const end = (node) => (node.isSubject ? html`<a href=${link(space, "graph", node.name)}><${Name} text=${node.name} /></a>` : html`<a href=${link(space, "why", node.id)}><${Name} text=${plain(node)} /></a> ${node.state !== "current" && html`<${State} state=${node.state} />`}`);
  return html`<div class="table wide card" tabindex="0" role="region" aria-label=${t("timeline.table")}><table><caption class="unseen">${t("timeline.table")}</caption>
    <thead><tr>${["from", "relation", "to"].map((one) => html`<th key=${one} scope="col">${t(`graph.${one}`)}</th>`)}</tr></thead>
    <tbody>${graph.edges.map((edge) => html`<tr key=${edge.id}><td>${end(byId.get(edge.source))}</td><td>${edge.type === "says" ? titled((byId.get(edge.target).isSubject ? byId.get(edge.source) : byId.get(edge.target)).attribute || "") : t(`timeline.${edge.type}.by`)}${edge.isStale && html` <span class="tag">${t("state.stale")}</span>`}</td><td>${end(byId.get(edge.target))}</td></tr>`)}</tbody></table></div>`;
}
