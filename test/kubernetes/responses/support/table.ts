import { readFile, rename, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { defined } from "@mooring/store";

const FOLDER = fileURLToPath(new URL("..", import.meta.url));

/** One line: the request in its columns, the response of a Kubernetes API server, and ours where it differs on purpose. */
export interface Case {
  request: readonly string[];
  response: string;
  /** `422: hostPID cannot be honoured` */
  ours?: string;
}

export interface Table {
  name: string;
  /** Lines before the first case. */
  head: readonly string[];
  cases: readonly Case[];
}

/** The columns of a table are a request, `=`, the response, and perhaps `ours: RESPONSE, WHY`. */
export async function readTable(name: string): Promise<Table> {
  const lines = (await readFile(`${FOLDER}/${name}.tsv`, "utf8")).trimEnd().split("\n");
  const head = lines.filter((line) => line.startsWith("#"));
  const cases = lines.filter((line) => !line.startsWith("#") && line !== "").map(parseCase);
  return { name, head, cases };
}

function parseCase(line: string): Case {
  const cells = line.split("\t");
  const at = cells.indexOf("=");
  const ours = cells.slice(at + 2).find((cell) => cell.startsWith("ours: "));
  return {
    request: cells.slice(0, at),
    response: cells[at + 1] ?? "",
    ...defined({ ours: ours?.slice("ours: ".length) }),
  };
}

export async function writeTable({ name, head, cases }: Table): Promise<void> {
  const lines = cases.map(({ request, response, ours }) =>
    [...request, "=", response, ...(ours === undefined ? [] : [`ours: ${ours}`])].join("\t"),
  );
  const path = `${FOLDER}/${name}.tsv`;
  await writeFile(`${path}.new`, `${[...head, ...lines].join("\n")}\n`);
  await rename(`${path}.new`, path);
}
