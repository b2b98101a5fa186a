// Where statements stand in the timeline: a group for each attribute, in it lanes in which no two overlap, and narrow neighbours as one.

const NARROW_PX = 7; // a bar below it is drawn together with its neighbours
export const SIGN_PX = 20; // that a sign takes, and so the least width of a bar

/** The time that a statement takes on an axis, "held" or "known": [from, to], with null for an end that is open. */
export const spanOn = (axis, one) => (axis === "held" ? [one.from, one.to] : [one.known, one.dropped]);

/**
 * Rows from top to bottom: {attribute, isFirst, bars: [steps in order of their beginning]}; attributes with few rows come first. With
 * `headed` the name of an attribute has a row of its own, without bars.
 */
export function lanesOf(steps, axis, headed) {
  const groups = new Map();
  for (const one of steps) {
    if (!groups.has(one.attribute)) groups.set(one.attribute, []);
    groups.get(one.attribute).push(one);
  }
  const packed = [...groups].map(([attribute, members]) => [attribute, pack(members, axis)]);
  packed.sort(([, one], [, other]) => one.length - other.length);
  return packed.flatMap(([attribute, lanes]) => [
    ...(headed ? [{ attribute, isFirst: true, bars: [] }] : []),
    ...lanes.map((bars, at) => ({ attribute, isFirst: !headed && at === 0, bars })),
  ]);
}

// Each into the lane that is free the longest; one whose end is open takes its lane to the end.
function pack(members, axis) {
  const sorted = [...members].sort((one, other) => spanOn(axis, one)[0] - spanOn(axis, other)[0]);
  const lanes = [];
  const free = []; // heap of [end, lane]
  for (const one of sorted) {
    const [from, to] = spanOn(axis, one);
    let lane;
    if (free.length && free[0][0] <= from) lane = take(free)[1];
    else lane = lanes.push([]) - 1;
    lanes[lane].push(one);
    put(free, [Math.max(to ?? Infinity, from + 1), lane]);
  }
  return lanes;
}

const less = (one, other) => one[0] < other[0] || (one[0] === other[0] && one[1] < other[1]);

function put(heap, item) {
  let at = heap.push(item) - 1;
  while (at > 0) {
    const above = (at - 1) >> 1;
    if (!less(heap[at], heap[above])) break;
    [heap[at], heap[above]] = [heap[above], heap[at]];
    at = above;
  }
}

function take(heap) {
  const top = heap[0];
  const last = heap.pop();
  if (!heap.length) return top;
  heap[0] = last;
  for (let at = 0; ;) {
    let least = at;
    for (const below of [2 * at + 1, 2 * at + 2]) if (below < heap.length && less(heap[below], heap[least])) least = below;
    if (least === at) return top;
    [heap[at], heap[least]] = [heap[least], heap[at]];
    at = least;
  }
}

/**
 * What is drawn of a lane: {x, width, steps}; one of several steps stands for all of them; of `under` px it is covered by the one before. The narrow come last. What is outside of the scale is left out. An open
 * end is drawn to now, or to the end of the scale where it begins later. */
export function drawn(bars, axis, scale, now) {
  const found = [];
  for (const one of bars) {
    const [from, to] = spanOn(axis, one);
    const x = Math.max(-8, scale.x(from));
    const end = Math.min(scale.width + 8, to === null ? (from <= now ? scale.x(now) : scale.width) : scale.x(to));
    if (end < 0 || x > scale.width) continue;
    const width = Math.max(1, end - x);
    const before = found.at(-1);
    const isNarrow = width < NARROW_PX && to !== null && to > from;
    if (before && isNarrow && before.isNarrow && x - before.x < 6 * NARROW_PX) {
      before.width = x + width - before.x;
      before.steps.push(one);
    } else found.push({ x, width, steps: [one], isNarrow, under: before ? Math.max(0, before.x + Math.max(before.width, SIGN_PX) - x) : 0 });
  }
  return found.sort((one, other) => other.width - one.width);
}

/** How many statements begin in each of `count` parts of [from, to] on an axis. */
export function histogram(steps, axis, from, to, count) {
  const bins = new Array(count).fill(0);
  const length = Math.max(1, to - from);
  for (const one of steps) bins[Math.min(count - 1, Math.max(0, Math.floor(((spanOn(axis, one)[0] - from) / length) * count)))] += 1;
  return bins;
}

/** What a strip shows of an axis where all statements are there: see Brush. */
export function binsOf(steps, chosen, axis, [from, to], count) {
  return { from, to, all: histogram(steps, axis, from, to, count), some: chosen && histogram(chosen, axis, from, to, count) };
}

/** The same where the server has counted them: `chosen` are those of the range that are there, `brushed` is the range where it is of this axis. */
export function binsOfCounts(counts, chosen, brushed, axis, most) {
  const [from, last] = [Date.parse(counts.first), Date.parse(counts.last)];
  const to = Math.max(last, from + 1);
  let all = counts.counts;
  while (all.length > most) all = Array.from({ length: Math.ceil(all.length / 2) }, (_, at) => all[2 * at] + (all[2 * at + 1] || 0));
  const middle = (at) => from + ((at + 0.5) / all.length) * (to - from);
  const some = brushed ? all.map((n, at) => (middle(at) >= brushed[0] && middle(at) <= brushed[1] ? n : 0)) : chosen && histogram(chosen, axis, from, to, all.length);
  return { from, to, all, some };
}

/** The range of an axis of which the server has counted what begins: to now, and a little wider. */
export function extentOfCounts(counts, now) {
  const [from, last] = [Date.parse(counts.first), Date.parse(counts.last)];
  return widened(from, Math.max(last, now));
}

/** The range of an axis that statements take, a little wider: [from, to]. */
export function extent(steps, axis, now) {
  let from = Infinity;
  let to = -Infinity;
  for (const one of steps) {
    const [begin, end] = spanOn(axis, one);
    from = Math.min(from, begin);
    to = Math.max(to, end ?? now, begin);
  }
  if (from > to) return [now - 86_400_000, now];
  return widened(from, to);
}

function widened(from, to) {
  const margin = Math.max(3_600_000, (to - from) * 0.02);
  return [from - margin, to + margin];
}
