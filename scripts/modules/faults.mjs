/**
 * What is wrong with `uses`, a map from each module to the modules that it uses: files that use each
 * other in a circle, folders that do, with each other or with the files beside and above them, a
 * layer that uses one above it or beside it, and a module that is in no layer. `layers` lists the
 * modules of the crate from the top down, if it has layers; those of one line are beside each other.
 */
export function faultsOf(uses, layers) {
  const edges = [...uses].flatMap(([from, others]) => Array.from(others, (to) => [from, to]));
  const folders = foldersOf(uses);
  return [
    ...circlesOf(edges).map((circle) => `a circle: ${circle.join(' -> ')}`),
    ...[...folders].flatMap((folder) => circlesIn(folder, folders, edges)),
    ...(layers === undefined ? [] : layerFaultsOf(uses, edges, layers)),
  ];
}

function layerFaultsOf(uses, edges, layers) {
  return [
    ...edges.flatMap((edge) => climbOf(edge, layers)),
    ...looseOf(uses, layers).map((name) => `${name} is in no layer`),
  ];
}

/** One circle through each edge that is part of any, the shortest, each once. */
function circlesOf(edges) {
  const next = new Map();
  for (const [from, to] of edges) next.set(from, [...(next.get(from) ?? []), to]);
  const found = new Map();
  for (const [from, to] of edges) {
    const back = pathFrom(to, from, next);
    if (back !== undefined) found.set(back.toSorted().join(), [from, ...back]);
  }
  return [...found.values()];
}

/** The shortest path between two modules, both included. */
function pathFrom(start, end, next) {
  const before = new Map([[start, undefined]]);
  for (const at of before.keys()) {
    if (at === end) {
      const path = [];
      for (let step = end; step !== undefined; step = before.get(step)) path.unshift(step);
      return path;
    }
    for (const to of next.get(at) ?? []) if (!before.has(to)) before.set(to, at);
  }
  return undefined;
}

function foldersOf(uses) {
  const paths = Array.from(uses.keys(), (name) => name.split('::'));
  const folders = paths.flatMap((path) => path.map((_, at) => path.slice(0, at).join('::')));
  return new Set(folders);
}

/**
 * Circles among what lies in a folder, each folder in it taken as one, and its own file, which is
 * above it elsewhere, as one of them. Circles of files alone are found without their folder.
 */
function circlesIn(folder, folders, edges) {
  const reasons = new Map();
  for (const [from, to] of edges) {
    const ends = [childOf(folder, from), childOf(folder, to)];
    if (ends.some((end) => end === undefined) || ends[0] === ends[1]) continue;
    reasons.set(ends.join(), { ends, reason: `${from} -> ${to}` });
  }
  const between = Array.from(reasons.values(), ({ ends }) => ends);
  const isFolder = (child) => folders.has(folder === '' ? child : `${folder}::${child}`);
  const circles = circlesOf(between).filter((circle) => circle.some(isFolder));
  return circles.map((circle) => {
    const steps = circle.slice(1).map((to, at) => reasons.get([circle[at], to].join()).reason);
    return `a circle in '${folder}': ${circle.join(' -> ')} (${steps.join(', ')})`;
  });
}

/** What of a folder a module is in: a folder in it, a file, or the folder's own file. */
function childOf(folder, name) {
  if (name === folder) return folder === '' ? 'the root' : 'mod.rs';
  if (folder === '') return name.split('::')[0];
  return name.startsWith(`${folder}::`) ? name.split('::')[folder.split('::').length] : undefined;
}

function climbOf([from, to], layers) {
  const heightOf = (name) => layers.findIndex((layer) => layer.includes(name.split('::')[0]));
  const isWithin = from.split('::')[0] === to.split('::')[0];
  if (from === '' || isWithin || heightOf(to) > heightOf(from)) return [];
  return [`${from} -> ${to}, which is no layer below it`];
}

function looseOf(uses, layers) {
  const known = new Set(['', ...layers.flat()]);
  return [...uses.keys()].filter((name) => !known.has(name.split('::')[0]));
}
