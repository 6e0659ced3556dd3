import { sample } from "@mooring/store/testing";
import { type Ask, askAccess, askPodSecurity, askRequest } from "./ask.ts";
import { askStorage } from "./ask-storage.ts";
import type { Connection } from "./connection.ts";
import { type Case, readTable, writeTable } from "./table.ts";

/** Each table, and how its requests are made. */
export const TABLES: Readonly<Record<string, Ask>> = {
  access: askAccess,
  requests: askRequest,
  nodes: askRequest,
  "pod-security": askPodSecurity,
  storage: askStorage,
};

/** Requests on the way at the same time. */
const AT_ONCE = 6;

async function responsesOf(server: Connection, ask: Ask, cases: readonly Case[]): Promise<string[]> {
  const responses: string[] = [];
  const left = [...cases.entries()];
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift())
      responses[next[0]] = await ask(server, next[1].request);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return responses;
}

/** Lines of each table that ours is asked every day; the others are the rest's. */
const EVERY_DAY = 100;

/** The lines of a table that have another response. Ours may differ where the line has it, and only in that way. */
export async function differences(server: Connection, name: string, whose: "ours" | "theirs") {
  const table = await readTable(name);
  const cases = whose === "ours" ? sample(table.cases, { everyday: EVERY_DAY }) : table.cases;
  const responses = await responsesOf(server, askOf(name), cases);
  return cases.flatMap(({ request, response, ours }, index) => {
    const expected = whose === "ours" && ours !== undefined ? (ours.split(", ")[0] ?? "") : response;
    const got = responses[index] ?? "";
    return got === expected ? [] : [`${request.join(" | ")}\n  expected: ${expected}\n  response: ${got}`];
  });
}

/** Writes down what a Kubernetes API server returns. */
export async function record(server: Connection, name: string): Promise<void> {
  const table = await readTable(name);
  const responses = await responsesOf(server, askOf(name), table.cases);
  await writeTable({
    ...table,
    cases: table.cases.map((each, index) => ({ ...each, response: responses[index] ?? "" })),
  });
}

function askOf(name: string): Ask {
  const ask = TABLES[name];
  if (ask === undefined) throw new Error(`there is no table ${name}`);
  return ask;
}
