// Where the nodes of the graph stand: each subject with what is said of it around, in a wide spiral, in order of attribute and time, so that what
// replaces each other is near and nothing covers anything. The same graph is always drawn alike.

const GAP = 14;
const HEIGHT = 46;
const TURN = 0.06; // of the angle between two tries, in radians
const ROUND = 2 * Math.PI;
const WIDE_MOST = 2.1; // width to height of a spiral
const MARGIN = 70; // between subjects

/** Positions by id of nodes: {id, isSubject, subject, attribute, from, width}, linked by edges, on an area of that width to height. */
export function layout(nodes, edges, aspect) {
  const groups = new Map();
  for (const node of ordered(nodes, edges)) {
    const key = node.isSubject ? node.id.slice(2) : node.group;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(node);
  }
  const parts = [...groups.values()].map((group) => around(group, Math.min(WIDE_MOST, Math.max(0.45, aspect)))).sort((one, other) => other.width * other.height - one.width * one.height);
  const area = parts.reduce((total, one) => total + (one.width + MARGIN) * (one.height + MARGIN), 0);
  const most = Math.max(Math.sqrt(area * aspect), ...parts.map((one) => one.width));
  const found = new Map();
  let [x, y, tall] = [0, 0, 0];
  for (const part of parts) {
    if (x > 0 && x + part.width > most) [x, y, tall] = [0, y + tall + MARGIN, 0];
    for (const [id, place] of part.places) found.set(id, { x: x + place.x - part.left, y: y + place.y - part.top });
    x += part.width + MARGIN;
    tall = Math.max(tall, part.height);
  }
  return found;
}

/** Nodes in order of attribute and time, those that replace or dispute each other together, a conclusion behind what it rests on. */
function ordered(nodes, edges) {
  const byId = new Map(nodes.map((one) => [one.id, one]));
  const first = new Map(nodes.map((one) => [one.id, one.id]));
  const root = (id) => { while (first.get(id) !== id) id = first.get(id); return id; };
  for (const { source, target, type } of edges) {
    if (type === "says") continue;
    const [one, other] = [root(source), root(target)];
    if (one !== other) first.set(...(byId.get(one).from <= byId.get(other).from ? [other, one] : [one, other]));
  }
  const keyed = nodes.map((node) => ({ ...node, lead: byId.get(root(node.id)) })).map((node) => ({ ...node, group: node.subject || node.lead.subject || "" }));
  return keyed.sort((one, other) => (one.lead.attribute || "~").localeCompare(other.lead.attribute || "~") || one.lead.from - other.lead.from || one.lead.id.localeCompare(other.lead.id) || one.from - other.from);
}

/** One subject and its statements around the origin. */
function around(nodes, wide) {
  const boxes = [];
  const places = new Map();
  const put = (node, x, y) => {
    boxes.push({ x, y, width: node.width });
    places.set(node.id, { x, y });
  };
  const hub = nodes.find((node) => node.isSubject);
  if (hub) put({ ...hub, width: hub.width + 40 }, 0, 0);
  let angle = -ROUND / 4;
  for (const node of nodes.filter((one) => !one.isSubject)) {
    for (; ; angle += TURN) {
      const out = hub ? 62 + ((angle + ROUND / 4) / ROUND) * (HEIGHT + GAP) : ((angle + ROUND / 4) / ROUND) * (HEIGHT + GAP);
      const [x, y] = [Math.cos(angle) * out * wide, Math.sin(angle) * out];
      if (boxes.every((box) => Math.abs(box.x - x) >= (box.width + node.width) / 2 + GAP || Math.abs(box.y - y) >= HEIGHT)) {
        put(node, x, y);
        break;
      }
    }
  }
  const left = Math.min(...boxes.map((box) => box.x - box.width / 2));
  const top = Math.min(...boxes.map((box) => box.y)) - HEIGHT / 2;
  return {
    places, left, top,
    width: Math.max(...boxes.map((box) => box.x + box.width / 2)) - left,
    height: Math.max(...boxes.map((box) => box.y)) + HEIGHT / 2 - top,
  };
}
