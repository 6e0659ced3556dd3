/**
 * What is broken fails most of its files, and fails them alone as well. More than so many are not run again: nobody waits for
 * what is known.
 */
const MOST = 3;
/** Cases made at random are others the second time (fast-check's words): that they pass says nothing. */
const AT_RANDOM = /Property failed after \d+ tests/;

const failed = ({ code }) => code !== 0;

/** Of the results of files that ran beside others those that have a second run, alone: all that failed, or none. */
export function worthAnother(results) {
  const bad = results.filter(failed);
  const mayPass = ({ hung, output }) => hung === undefined && !AT_RANDOM.test(output);
  return bad.length <= MOST && bad.every(mayPass) ? bad : [];
}

/**
 * `results` after the second run of some of their files, by `again(result)`. One that has passed then says by `before` what
 * it was in the first; of one that failed both times the second is shown, as nothing else can have been in its way.
 */
export async function withAnother(results, again) {
  const worth = worthAnother(results);
  const seconds = new Map();
  for (const first of worth) {
    const second = await again(first);
    if (second === undefined) return results;
    seconds.set(first, failed(second) ? second : { ...second, before: first });
  }
  return results.map((first) => seconds.get(first) ?? first);
}
