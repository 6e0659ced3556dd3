import assert from "node:assert/strict";

/**
 * All states that can be reached from any of these, as one graph, for most ways lead through the same ones: each must
 * have a way to one where nothing is left to do, and none a way back to itself. Returns how many there are.
 */
export function explore<S>(
  starts: readonly S[],
  keyOf: (state: S) => string,
  nextStates: (state: S) => S[],
): number {
  const before = new Map<string, Set<string>>(starts.map((start) => [keyOf(start), new Set()]));
  const rests: string[] = [];
  const todo = [...starts];
  for (let state = todo.pop(); state !== undefined; state = todo.pop()) {
    const from = keyOf(state);
    const nexts = nextStates(state);
    if (nexts.length === 0) rests.push(from);
    for (const next of nexts) {
      const key = keyOf(next);
      if (!before.has(key)) todo.push(next);
      before.set(key, (before.get(key) ?? new Set()).add(from));
    }
  }
  assert.equal(afterSources(before), before.size, "there is a circle of states: it could go on for ever");
  const calm = new Set(rests);
  for (const key of calm) for (const earlier of before.get(key) ?? []) calm.add(earlier);
  assert.equal(calm.size, before.size, "a state is reached that never comes to rest");
  return before.size;
}

/**
 * How many states are left when those that nothing leads to any more are taken away, again and again: all, without a
 * circle.
 */
function afterSources(before: ReadonlyMap<string, ReadonlySet<string>>): number {
  const after = new Map<string, string[]>();
  const waits = new Map([...before].map(([key, earlier]) => [key, earlier.size]));
  for (const [key, earlier] of before)
    for (const from of earlier) after.set(from, [...(after.get(from) ?? []), key]);
  const free = [...before.keys()].filter((key) => waits.get(key) === 0);
  let taken = 0;
  for (let key = free.pop(); key !== undefined; key = free.pop()) {
    taken += 1;
    for (const next of after.get(key) ?? []) {
      const left = (waits.get(next) ?? 0) - 1;
      waits.set(next, left);
      if (left === 0) free.push(next);
    }
  }
  return taken;
}
