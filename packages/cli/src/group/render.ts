import { age, table } from "../output/table.ts";
import type { GroupReport } from "./report.ts";

const yes = (value: boolean): string => (value ? "yes" : "no");

/** The table of `group list`. */
export function renderList(groups: readonly GroupReport[], now: Date, wide = false): string {
  const header = ["NAMESPACE", "NAME", "READY", "MEMBERS", "PAUSE", "RESTORES", "AGE", "ERROR"];
  const more = ({ driver = "", creationTime = "", members }: GroupReport) => [
    ...[driver, creationTime],
    members.map(({ claim }) => claim).join(","),
  ];
  return table(
    wide ? [...header, "DRIVER", "CREATED", "CLAIMS"] : header,
    groups.map((group) => [
      group.namespace,
      group.name,
      yes(group.ready),
      String(group.members.length),
      group.barrier === undefined ? "" : `${Math.ceil(group.barrier.pauseMilliseconds)} ms`,
      String(group.restores.length),
      age(group.askedAt, now),
      group.error ?? "",
      ...(wide ? more(group) : []),
    ]),
  );
}

/** What `group show` prints: the group, its members, its restores. */
export function renderGroup(group: GroupReport): string {
  const { barrier } = group;
  const lines = [
    `${group.namespace}/${group.name}: ${group.ready ? "ready" : (group.error ?? "not ready yet")}`,
    ...(group.creationTime === undefined ? [] : [`created at ${group.creationTime} by ${group.driver}`]),
    ...(barrier === undefined
      ? []
      : [
          `barrier ${barrier.startTime} to ${barrier.endTime}, method ${barrier.method}, writers waited ${barrier.pauseMilliseconds.toFixed(1)} ms`,
        ]),
    "\n",
  ];
  const members = table(
    ["CLAIM", "SNAPSHOT", "READY", "SIZE"],
    group.members.map(({ claim, snapshot, ready, restoreSize }) => [
      claim,
      snapshot,
      yes(ready),
      restoreSize,
    ]),
  );
  const restores =
    group.restores.length === 0
      ? ""
      : `\n${table(
          ["RESTORE", "PHASE", "MESSAGE"],
          group.restores.map(({ name, phase, message }) => [name, phase, message]),
        )}`;
  return `${lines.join("\n")}${members}${restores}`;
}
