import { describeBytes } from "@mooring/store";
import { colored } from "../output/color.ts";
import { table } from "../output/table.ts";
import type { Count, PoolReport, StatusReport } from "./report.ts";

const used = ({ totalBytes, freeBytes }: PoolReport): string =>
  totalBytes === undefined || freeBytes === undefined || totalBytes === 0
    ? "?"
    : `${Math.round(((totalBytes - freeBytes) / totalBytes) * 100)} %`;
const size = (value: number | undefined): string => (value === undefined ? "?" : describeBytes(value));

const POOL_COLUMNS = ["POOL", "TYPE", "NODE", "STATE", "SIZE", "FREE", "USED", "PROMISED"];
const WIDE_POOL_COLUMNS = [...POOL_COLUMNS, "THICK", "OVERCOMMIT", "PATH"];

function poolRow(pool: PoolReport, wide: boolean): string[] {
  const { name, type, node = "shared", ready, totalBytes, freeBytes, promisedBytes } = pool;
  const sizes = [size(totalBytes), size(freeBytes), used(pool), size(promisedBytes)];
  const more = wide ? [size(pool.thickBytes), String(pool.overcommit), pool.path] : [];
  return [name, type, node, ready ? "ready" : "NOT READY", ...sizes, ...more];
}

const countRow = ({ kind, total, states }: Count): string[] => [
  kind,
  String(total),
  Object.entries(states)
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([state, number]) => `${number} ${state}`)
    .join(", "),
];

/** Without `wide`, one screen: machines, pools, what there is, and what is wrong with it. */
export function renderStatus({ nodes, pools, counts, troubles }: StatusReport, wide = false): string {
  const sections = [
    table(
      ["NODE", "AGENT"],
      nodes.map(({ name, state }) => [name, state]),
    ),
    table(
      wide ? WIDE_POOL_COLUMNS : POOL_COLUMNS,
      pools.map((pool) => poolRow(pool, wide)),
    ),
    table(["KIND", "ALL", "STATES"], counts.filter(({ total }) => total > 0).map(countRow)),
  ];
  if (troubles.length === 0) return `${sections.join("\n")}\nall is well\n`;
  const found = table(
    ["TROUBLE", "STATE", "DETAIL"],
    troubles.map((entry) => [entry.check, entry.state, entry.detail]),
    (line, row) => colored(troubles[row]?.state ?? "ok", line),
  );
  const steps = troubles.flatMap((entry) =>
    entry.next === undefined ? [] : [`next: ${entry.check}: ${entry.next}\n`],
  );
  return [...sections, found].join("\n") + steps.join("");
}
