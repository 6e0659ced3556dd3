import { type Pool, Pools, poolNodes } from "@mooring/engine";
import { getIfAny, type ObjectStore } from "@mooring/store";

/** Which of these pools cannot be used on a node, and why: the process runs on without them, and tries again. */
export async function poolTrouble(
  store: ObjectStore,
  nodeName: string,
  names: readonly string[],
): Promise<{ name: string; why: string }[]> {
  const reading = Promise.all(names.map((name) => getIfAny(store, Pools, { name })));
  // The process may be asked to stop meanwhile: it must not fail for what it only wants to report.
  const pools = await reading.catch(() => []);
  return pools.flatMap((pool, index) => {
    if (pool?.status?.ready === true && poolNodes(pool).includes(nodeName)) return [];
    return [{ name: names[index] ?? "", why: reasonOf(pool) }];
  });
}

function reasonOf(pool: Pool | undefined): string {
  const { message, reason, status } = pool?.status?.conditions?.find(({ type }) => type === "Ready") ?? {};
  // Open elsewhere; what failed here is in this process's log.
  if (status !== "False" || reason === undefined)
    return "it is not open on this node; the log has the reason";
  return `${reason}: ${message}`;
}

/** What follows "... is up" when something is missing; the reasons go to stderr. */
export function describePoolTrouble(trouble: readonly { name: string; why: string }[]): string {
  if (trouble.length === 0) return "";
  for (const { name, why } of trouble) {
    process.stderr.write(`warning: pool ${name} is not ready: ${why}\n`);
    process.stderr.write("next: put that right; the pool is tried again by itself\n");
  }
  return `, without pool ${trouble.map(({ name }) => name).join(", ")}`;
}
