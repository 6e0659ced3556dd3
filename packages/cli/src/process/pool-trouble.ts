import { type Pool, Pools, poolNodes } from "@mooring/engine";
import { listAll, type ObjectStore } from "@mooring/store";

/**
 * Which pools cannot be used on a node, and why: those that it was started with, and those that are its own. The process runs on
 * without them, and tries again.
 */
export async function poolTrouble(
  store: ObjectStore,
  nodeName: string,
  asked: readonly string[],
): Promise<{ name: string; why: string }[]> {
  // The process may be asked to stop meanwhile: it must not fail for what it only wants to report.
  const list = await listAll(store, Pools).catch(() => undefined);
  if (list === undefined) return [];
  const pools = new Map(list.items.map((pool) => [pool.metadata.name, pool]));
  const own = list.items.filter(({ spec }) => spec.nodeID === nodeName).map(({ metadata }) => metadata.name);
  return [...new Set([...asked, ...own])].flatMap((name) => {
    const pool = pools.get(name);
    if (pool?.status?.ready === true && poolNodes(pool).includes(nodeName)) return [];
    return [{ name, why: reasonOf(pool) }];
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
    process.stderr.write("next: do what it says; the pool is tried again by itself\n");
  }
  return `, without pool ${trouble.map(({ name }) => name).join(", ")}`;
}
