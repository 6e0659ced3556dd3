import { setImmediate as nextTurn } from "node:timers/promises";
import { bufferToKeyValue } from "lmdb";
import { decodeSeal, FORMAT, type Seal, sealOf } from "../seal.ts";
import { type Damage, DamageError } from "./damage.ts";
import { FREE_LIST, takeFree } from "./free-pages.ts";
import { newestMeta, readTree, TREE_BYTES, type TreeRecord } from "./meta-pages.ts";
import { PageFile } from "./page-file.ts";
import { SUBTREE, type TreeKind, type Walk, walkTree } from "./tree.ts";

declare module "lmdb" {
  /** Exported by the package, and missing in its types. */
  export function bufferToKeyValue(key: Uint8Array): unknown;
}

/** What is in the file of a store, and what of it is damaged. */
export interface StoreReport {
  /** Layout of the values; undefined where nothing was ever written, or where it cannot be read. */
  format: number | undefined;
  revision: number;
  objects: number;
  events: number;
  bytes: number;
  damage: Damage[];
}

/** Damages reported; who has more has lost the file. */
const MOST_DAMAGES = 50;
/** Entries, or milliseconds, between two breaths. */
const SLICE_MS = 10;
const SLICE_ENTRIES = 64;

interface Checking {
  walk: Walk;
  report: StoreReport;
  yieldTurn(): Promise<void>;
}

/**
 * Reads the file of a store from its first page to its last entry, and never maps it. Nothing is opened, locked or
 * written; no process may write meanwhile. A format of the future is reported and not read.
 */
export async function checkStore(path: string): Promise<StoreReport> {
  const report: StoreReport = {
    ...{ format: undefined, revision: 1, objects: 0, events: 0, bytes: 0, damage: [] },
  };
  const file = new PageFile(path);
  try {
    report.bytes = file.size;
    const meta = newestMeta(file);
    const used = new Uint8Array(meta.lastPage + 1);
    const walk: Walk = { file, meta, used, damage: report.damage };
    await checkTrees({ walk, report, yieldTurn: yieldToEventLoop() });
  } catch (error) {
    if (!(error instanceof DamageError)) throw error;
    report.damage.push({ where: "the file", what: error.message });
  } finally {
    file.close();
  }
  report.damage.splice(MOST_DAMAGES);
  return report;
}

function yieldToEventLoop(): () => Promise<void> {
  let since = performance.now();
  let entries = 0;
  return async () => {
    if (++entries % SLICE_ENTRIES !== 0 || performance.now() - since < SLICE_MS) return;
    await nextTurn();
    since = performance.now();
  };
}

async function checkTrees(checking: Checking): Promise<void> {
  const { walk, report } = checking;
  const trees = new Map<string, TreeRecord>();
  for (const { key, value, flags } of walkTree(walk, walk.meta.main, kindOf("the list of tables"))) {
    const name = key.toString("latin1").replace(/\0$/, "");
    if (flags !== SUBTREE || value.length !== TREE_BYTES || !TABLES.has(name))
      throw new DamageError(`it has a table ${JSON.stringify(name)}, which is not ours`);
    const record = readTree(value, 0);
    if (record.flags !== 0) throw new DamageError(`its table ${name} is of another kind`);
    trees.set(name, record);
  }
  // Made together in the first moments of a store; one that was killed in them has no objects.
  const [objects, events, meta] = ["objects", "events", "meta"].map((name) => trees.get(name));
  const seal = meta && (await checkMeta(checking, meta));
  if (report.format !== undefined && report.format > FORMAT) return;
  const checked = report.format === FORMAT;
  if (report.format !== undefined && (objects === undefined || events === undefined || meta === undefined))
    throw new DamageError("it has lost a table");
  const sum = objects && (await checkObjects(checking, objects, checked));
  if (events) await checkEvents(checking, events, checked);
  if (seal !== undefined && report.damage.length === 0) compare(report, seal, sum ?? 0);
  await checkFree(checking);
}

const TABLES = new Set(["objects", "events", "meta"]);

function kindOf(what: string): TreeKind {
  return {
    range: (from, to) =>
      from === undefined && to === undefined
        ? what
        : `${what} ${betweenKeys(from, to, (key) => key.toString())}`,
  };
}

function betweenKeys(
  from: Buffer | undefined,
  to: Buffer | undefined,
  name: (key: Buffer) => string,
): string {
  if (from !== undefined && from === to) return name(from);
  const parts = [from && `from ${name(from)}`, to && `before ${name(to)}`];
  return parts.filter((part) => part !== undefined).join(" ");
}

const OBJECTS: TreeKind = {
  range: (from, to) =>
    from !== undefined && from === to
      ? objectName(from.toString())
      : `objects ${betweenKeys(from, to, (key) => objectName(key.toString())) || "(all)"}`,
};

/** `pods default/web` of `pods/default/web`. */
function objectName(path: string): string {
  const [collection = "", namespace = "", name = ""] = path.split("/");
  return `${collection} ${namespace === "" ? "" : `${namespace}/`}${name}`;
}

/** Which format it is, and what it records of the whole. */
async function checkMeta({ walk, report }: Checking, record: TreeRecord): Promise<Seal | undefined> {
  const rows = new Map<string, string>();
  for (const { key, value } of walkTree(walk, record, kindOf("the store's own record")))
    rows.set(key.toString("latin1"), value.toString("utf8"));
  const [format, revision, seal] = ["format", "revision", "seal"].map((name) => rows.get(name));
  if (rows.size === 0) return undefined;
  const number = Number(format);
  if (!Number.isSafeInteger(number) || number < 1)
    throw new DamageError("it does not say which format it has");
  report.format = number;
  // A format of the future may have other rows, but never loses its seal or an older one's revision.
  const decoded = seal === undefined ? undefined : decodeSeal(parsed(seal));
  if (number === 1 && rows.size === 2 && /^\d+$/.test(revision ?? "")) {
    report.revision = Number(revision);
    return undefined;
  }
  if (number > FORMAT && decoded?.format !== FORMAT) return undefined;
  if (number !== FORMAT || rows.size !== 2 || decoded === undefined)
    throw new DamageError("the store's own record is not what was written");
  report.revision = decoded.revision;
  return decoded;
}

function parsed(json: string): string {
  try {
    return String(JSON.parse(json));
  } catch {
    return "";
  }
}

/** The sum of the objects' checksums. Those of the first format have none: that they can be read is all there is. */
async function checkObjects({ walk, report, yieldTurn }: Checking, record: TreeRecord, checked: boolean) {
  let total = 0;
  for (const { key, value } of walkTree(walk, record, OBJECTS)) {
    const path = key.toString();
    const { sum, whole } = checked ? sealOf(path, value) : { sum: 0, whole: isObject(value) };
    if (!whole) report.damage.push({ where: objectName(path), what: "its value is not what was written" });
    total += sum;
    report.objects++;
    await yieldTurn();
  }
  return total;
}

function isObject(value: Buffer): boolean {
  try {
    return typeof JSON.parse(value.toString()) === "object";
  } catch {
    return false;
  }
}

/** Events are of successive revisions, up to the store's. */
async function checkEvents({ walk, report, yieldTurn }: Checking, record: TreeRecord, checked: boolean) {
  let before: number | undefined;
  for (const { key, value } of walkTree(walk, record, kindOf("the history"))) {
    const revision = Number(bufferToKeyValue(key));
    const whole = !checked || sealOf(revision, value).whole;
    if (!whole) report.damage.push({ where: `the history at ${revision}`, what: "is not what was written" });
    if (before !== undefined && revision !== before + 1)
      report.damage.push({ where: "the history", what: `goes from ${before} to ${revision}` });
    before = revision;
    report.events++;
    await yieldTurn();
  }
  if (before !== undefined && before !== report.revision)
    report.damage.push({
      where: "the history",
      what: `ends at ${before}, the objects at ${report.revision}`,
    });
}

function compare(report: StoreReport, seal: Seal, sum: number): void {
  if (report.objects === seal.objects && sum === seal.sum) return;
  const what = `${report.objects} objects are there, and ${seal.objects} were written, or an older state of one has come back`;
  report.damage.push({ where: "the objects", what });
}

async function checkFree({ walk, report, yieldTurn }: Checking): Promise<void> {
  try {
    for (const entry of walkTree(walk, walk.meta.free, FREE_LIST)) {
      takeFree(walk, entry);
      await yieldTurn();
    }
  } catch (error) {
    if (!(error instanceof DamageError)) throw error;
    report.damage.push({ where: "the list of free pages", what: error.message });
  }
}
