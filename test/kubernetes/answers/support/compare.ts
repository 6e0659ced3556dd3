import { sample } from "@mooring/store/testing";
import { type Ask, askAccess, askPodSecurity, askRequest } from "./ask.ts";
import type { Connection } from "./connection.ts";
import { type Case, readTable, writeTable } from "./table.ts";

/** Each table, and how its questions are asked. */
export const TABLES: Readonly<Record<string, Ask>> = {
  access: askAccess,
  requests: askRequest,
  nodes: askRequest,
  "pod-security": askPodSecurity,
};

/** Questions on the way at the same time. */
const AT_ONCE = 6;

async function answersOf(server: Connection, ask: Ask, cases: readonly Case[]): Promise<string[]> {
  const answers: string[] = [];
  const left = [...cases.entries()];
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift())
      answers[next[0]] = await ask(server, next[1].question);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return answers;
}

/** Lines of each table that ours is asked every day; the others are the rest's. */
const EVERY_DAY = 100;

/** The lines of a table that are answered otherwise. Ours may differ where the line says so, and only as it says. */
export async function differences(server: Connection, name: string, whose: "ours" | "theirs") {
  const table = await readTable(name);
  const cases = whose === "ours" ? sample(table.cases, { everyday: EVERY_DAY }) : table.cases;
  const answers = await answersOf(server, askOf(name), cases);
  return cases.flatMap(({ question, answer, ours }, index) => {
    const expected = whose === "ours" && ours !== undefined ? (ours.split(", ")[0] ?? "") : answer;
    const got = answers[index] ?? "";
    return got === expected ? [] : [`${question.join(" | ")}\n  expected: ${expected}\n  answered: ${got}`];
  });
}

/** Writes down what a Kubernetes API server answers. */
export async function record(server: Connection, name: string): Promise<void> {
  const table = await readTable(name);
  const answers = await answersOf(server, askOf(name), table.cases);
  await writeTable({
    ...table,
    cases: table.cases.map((each, index) => ({ ...each, answer: answers[index] ?? "" })),
  });
}

function askOf(name: string): Ask {
  const ask = TABLES[name];
  if (ask === undefined) throw new Error(`there is no table ${name}`);
  return ask;
}
