import { table } from "../../packages/cli/src/output/table.ts";
import { type Measurement, requireFigures, SHORT } from "./measure.ts";

interface Subject {
  run(): Promise<Measurement[]>;
  /** Why it is left out when everything is measured, and what to do about it. */
  missing?(): string | undefined;
}

/** One module per subject. */
const SUBJECTS: Record<string, () => Promise<Subject>> = {
  store: () => import("../../packages/store/bench/local-store.bench.ts"),
  csi: async () => (await import("./csi.bench.ts")).calls,
  "csi-list": async () => (await import("./csi.bench.ts")).list,
  "csi-memory": async () => (await import("./csi.bench.ts")).rest,
  "csi-data": async () => (await import("./csi.bench.ts")).data,
  "group-snapshot": () => import("./group-snapshot.bench.ts"),
  rbd: () => import("./rbd.bench.ts"),
  group: () => import("./group.bench.ts"),
  attachment: () => import("./attachment.bench.ts"),
  up: () => import("./up.bench.ts"),
  memory: () => import("./memory.bench.ts"),
  kubernetes: () => import("./kubernetes.bench.ts"),
};

const USAGE = `npm run bench -- [SUBJECT] [--short] [--json]
Subjects: ${Object.keys(SUBJECTS).join(", ")}; without one, all of them: about an hour.
--short shows that everything can still be measured; --json prints data instead of a table.
`;

function end(text: string, code: 0 | 2): never {
  (code === 0 ? process.stdout : process.stderr).write(text);
  process.exit(code);
}

const given = process.argv.slice(2);
if (given.includes("--help")) end(USAGE, 0);
const unknown = given.find((each) => each.startsWith("-") && !["--short", "--json"].includes(each));
if (unknown !== undefined) end(`there is no flag ${unknown}\n${USAGE}`, 2);
const [only] = given.filter((argument) => !argument.startsWith("--"));
if (only !== undefined && SUBJECTS[only] === undefined) end(`there is no subject "${only}"\n${USAGE}`, 2);
const all: Measurement[] = [];
for (const [subject, load] of Object.entries(SUBJECTS)) {
  if (only !== undefined && only !== subject) continue;
  const measured = await load();
  const missing = only === undefined ? measured.missing?.() : undefined;
  if (missing !== undefined) {
    process.stderr.write(`not measuring ${subject}: ${missing}\n`);
    continue;
  }
  process.stderr.write(`measuring ${subject} ...\n`);
  const taken = await measured.run();
  requireFigures(subject, taken);
  all.push(...taken);
}

function ratio({ value, baseline }: Measurement): number | undefined {
  return baseline === undefined || baseline === 0 ? undefined : value / baseline;
}

function row(entry: Measurement): string[] {
  const times = ratio(entry);
  const against =
    entry.baseline === undefined ? "" : `${entry.baseline.toFixed(2)} (${entry.baselineName ?? "raw"})`;
  const limit =
    entry.limit === undefined || SHORT
      ? ""
      : `${entry.limit} ${entry.value <= entry.limit ? "met" : "MISSED"}`;
  return [
    entry.name,
    entry.value.toFixed(2),
    entry.unit,
    against,
    times === undefined ? "" : `${times.toFixed(2)} x`,
    limit,
  ];
}

if (given.includes("--json")) {
  process.stdout.write(
    `${JSON.stringify(
      all.map((entry) => ({ ...entry, ratio: ratio(entry) })),
      null,
      2,
    )}\n`,
  );
} else {
  process.stdout.write(table(["WHAT", "VALUE", "UNIT", "BASELINE", "RATIO", "LIMIT"], all.map(row)));
}
