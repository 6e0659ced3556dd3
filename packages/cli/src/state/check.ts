import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { newestRevisionFile } from "@mooring/engine";
import {
  checkStore,
  copyFolder,
  describeBytes,
  isOlder,
  isOutOfInodes,
  listCopies,
  lockFolder,
  type StateCopy,
  StoreOpenError,
  type StoreReport,
  storeFile,
} from "@mooring/store";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";
import { print } from "../output/print.ts";
import { fromOlder } from "../output/report-error.ts";
import { table } from "../output/table.ts";
import { listDamage, NAME_COPY, requireFile, type StateOptions, storeFolder } from "./options.ts";

interface Checked {
  file: string;
  running: boolean;
  report: StoreReport;
}

/**
 * A store that a process writes to is not one moment of itself while it is read: what is checked then is a copy of one
 * moment, which is not kept.
 */
async function checkOwn(folder: string): Promise<Checked> {
  const file = storeFile(folder);
  requireFile(file, `mooring state restore --state-dir ${dirname(folder)} puts back a copy`);
  try {
    const unlock = await lockFolder(folder);
    try {
      return { file, running: false, report: await checkStore(file) };
    } finally {
      await unlock();
    }
  } catch (error) {
    if (!(error instanceof StoreOpenError && error.reason === "Locked")) throw error;
  }
  const copy = join(folder, `checking-${process.pid}.mdb`);
  try {
    return { file, running: true, report: await copyFolder(folder, copy) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOSPC") throw noRoom(copy, error);
    if (!(error instanceof StoreOpenError && error.reason === "Damaged")) throw error;
    const report = { format: undefined, revision: 0, objects: 0, events: 0, bytes: 0, damage: error.damage };
    return { file, running: true, report };
  } finally {
    await rm(copy, { force: true });
  }
}

function noRoom(copy: string, cause: unknown): CommandError {
  const [missing, way] = isOutOfInodes(copy) ? ["inodes", "remove files (df -i)"] : ["space", "make room"];
  return new CommandError(
    `no ${missing} left on the disk of ${copy}: a store in use is checked by a copy of it`,
    {
      next: `${way} there, or stop Mooring: a store that is not in use is read where it is`,
      cause,
    },
  );
}

type CheckedCopy = StateCopy & { damage: StoreReport["damage"] };

async function checkCopies(stateDir: string): Promise<CheckedCopy[]> {
  const copies: CheckedCopy[] = [];
  for (const copy of await listCopies(stateDir))
    copies.push({ ...copy, damage: (await checkStore(copy.path)).damage });
  return copies;
}

function summaryOf({ file, running, report }: Checked): string {
  if (report.damage.length > 0) return `${file} is damaged:${listDamage(report.damage)}`;
  const { format = "none yet", revision, objects, events, bytes } = report;
  const size = describeBytes(bytes);
  const state = running ? ", in use" : "";
  return `${file} is whole: ${objects} objects, ${events} events, revision ${revision}, format ${format}, ${size}${state}`;
}

function copyTable(copies: readonly CheckedCopy[]): string {
  if (copies.length === 0) return "\nno copies";
  const rows = copies.map(({ path, time, bytes, damage }) => [
    ...[path, time, describeBytes(bytes), damage.length === 0 ? "whole" : "damaged"],
  ]);
  return `\n${table(["COPY", "TIME", "SIZE", "STATE"], rows).trimEnd()}`;
}

/** 1 for a store that is whole, and from before. */
async function reportOlder({ file, report }: Checked, stateDir: string): Promise<void> {
  const older = await isOlder(report, newestRevisionFile(stateDir));
  if (older === undefined) return;
  process.exitCode = EXIT.negative;
  process.stderr.write(`error: ${file} ${older}\nnext: ${fromOlder(stateDir)}\n`);
}

/** `mooring state check [FILE]`: 1 when the store, or the file, is damaged, or the store is an older one. */
export async function checkState(file: string | undefined, options: StateOptions): Promise<void> {
  if (file !== undefined) requireFile(file, NAME_COPY);
  const checked =
    file === undefined
      ? await checkOwn(storeFolder(options.stateDir))
      : { file, running: false, report: await checkStore(file) };
  const copies = file === undefined ? await checkCopies(options.stateDir) : undefined;
  const shown = summaryOf(checked) + (copies === undefined ? "" : copyTable(copies));
  print(options, { ...checked, copies }, () => `${shown}\n`);
  if (checked.report.damage.length === 0) {
    if (file === undefined && !checked.running) await reportOlder(checked, options.stateDir);
    return;
  }
  process.exitCode = EXIT.negative;
  if (file !== undefined) return;
  const next = `stop Mooring, and put back the newest copy that is whole: mooring state restore --state-dir ${options.stateDir}`;
  process.stderr.write(`next: ${next}\n`);
}
