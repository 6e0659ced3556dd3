import { realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { defined } from "@mooring/store";
import { EngineError } from "../errors.ts";
import { commandFailed } from "./exec.ts";
import type { BindOptions, Clock, Exec, ExecResult, MountEntry, MountRequest, Mounts } from "./host.ts";
import { mountinfoReader } from "./mountinfo.ts";

/** A probe of udev, a process on its way out, or the freeze of a copy can keep a mount busy for a moment. */
const BUSY_RETRIES = 40;
const BUSY_WAIT_MS = 50;

/** What is mounted, and the programs that change it. */
interface MountContext {
  exec: Exec;
  clock: Clock;
  list: Mounts["list"];
}

/** Mounts of this process's mount namespace. After every command mountinfo is read again and decides. */
export function createMounts(exec: Exec, clock: Clock): Mounts {
  const context: MountContext = { exec, clock, list: mountinfoReader() };
  return {
    list: context.list,
    at: (target) => mountsAt(context, target),
    mount: (request, signal) => mount(context, request, signal),
    bind: (source, target, options, signal) => bind(context, { source, target }, options, signal),
    unmount: (target, signal) => unmount(context, target, signal),
  };
}

async function mountsAt({ list }: MountContext, target: string): Promise<MountEntry[]> {
  const entries = await list();
  const on = (path: string) => entries.filter((entry) => entry.target === path);
  const found = on(await inParent(target));
  return stackOrder(found.length > 0 ? found : on(await canonical(target)));
}

/** What hides the others. */
async function topAt(context: MountContext, target: string): Promise<MountEntry | undefined> {
  return (await mountsAt(context, target)).at(-1);
}

async function mount(context: MountContext, request: MountRequest, signal?: AbortSignal): Promise<void> {
  const source = await canonical(request.source);
  const before = await topAt(context, request.target);
  if (before?.source === source) return;
  if (before !== undefined) throw occupied(request.target, before);
  const result = await context.exec.try("mount", mountArgs({ ...request, source }), withSignal(signal));
  if ((await topAt(context, request.target))?.source === source) return;
  throw mountFailed(request, result);
}

async function bind(
  context: MountContext,
  { source, target }: { source: string; target: string },
  { readOnly, flags = [] }: BindOptions,
  signal?: AbortSignal,
): Promise<void> {
  let top = await topAt(context, target);
  if (top !== undefined && !(await sameFile(source, target))) throw occupied(target, top);
  if (top === undefined) {
    const result = await context.exec.try("mount", ["--bind", source, target], withSignal(signal));
    top = await topAt(context, target);
    if (top === undefined) throw mountFailed({ source, target }, result);
  }
  // A kill between bind and remount leaves a mount without flags; the next call comes through here and ends it.
  const asWished = (entry: MountEntry): boolean =>
    readOnly === isReadOnly(entry) && flags.every((flag) => entry.options.includes(flag));
  if (asWished(top)) return;
  const wish = ["remount", "bind", readOnly ? "ro" : "rw", ...flags].join(",");
  const result = await context.exec.try("mount", ["-o", wish, target], withSignal(signal));
  const after = await topAt(context, target);
  if (after === undefined || !asWished(after)) throw mountFailed({ source, target }, result);
}

async function unmount(context: MountContext, target: string, signal?: AbortSignal): Promise<void> {
  let layers = (await mountsAt(context, target)).length;
  for (let refusals = 0; layers > 0; ) {
    const result = await context.exec.try("umount", [target], withSignal(signal));
    const left = (await mountsAt(context, target)).length;
    if (left >= layers) {
      refusals += 1;
      if (refusals > BUSY_RETRIES) throw stillMounted(target, result);
      await context.clock.sleep(BUSY_WAIT_MS, signal);
    }
    layers = left;
  }
}

/** True when nothing can be written through this mount. */
export function isReadOnly(entry: MountEntry): boolean {
  return entry.options.includes("ro") || entry.superOptions.includes("ro");
}

/** mountinfo names targets without symbolic links. Only the parent has to exist. */
async function canonical(path: string): Promise<string> {
  if (!path.startsWith("/")) return path;
  return realpath(path).catch(() => inParent(path));
}

/**
 * The same without reading the path itself: what is mounted there may be a file system that does not respond. A mount
 * point is never a symbolic link, so where something is mounted this is its name.
 */
async function inParent(path: string): Promise<string> {
  if (!path.startsWith("/")) return path;
  return realpath(dirname(path)).then(
    (parent) => join(parent, basename(path)),
    () => path,
  );
}

/** The mount that others sit on comes first: each layer's parent is the layer below it. */
function stackOrder(entries: MountEntry[]): MountEntry[] {
  const ids = new Set(entries.map((entry) => entry.id));
  const ordered: MountEntry[] = [];
  let next = entries.find((entry) => !ids.has(entry.parentId));
  while (next !== undefined && ordered.length < entries.length) {
    ordered.push(next);
    const { id } = next;
    next = entries.find((entry) => entry.parentId === id);
  }
  return ordered.length === entries.length ? ordered : entries;
}

/** After a bind mount source and target are one file; this also distinguishes a device node from its look-alike. */
async function sameFile(a: string, b: string): Promise<boolean> {
  const [x, y] = await Promise.all([stat(a), stat(b)]);
  return x.dev === y.dev && x.ino === y.ino;
}

function mountArgs(request: MountRequest): string[] {
  const options = request.options ?? [];
  return [
    ...(request.fsType === undefined ? [] : ["-t", request.fsType]),
    ...(options.length === 0 ? [] : ["-o", options.join(",")]),
    request.source,
    request.target,
  ];
}

function withSignal(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return defined({ signal });
}

function occupied(target: string, entry: MountEntry): EngineError {
  return new EngineError(
    "FAILED_PRECONDITION",
    `${target} already has ${entry.source} (${entry.fsType}) mounted`,
    {
      hint: `unmount ${target} first`,
    },
  );
}

function mountFailed(request: MountRequest, result: ExecResult): EngineError {
  const cause = commandFailed("mount", [], result);
  const output = result.stderr.trim().replaceAll("\n", "; ");
  return new EngineError("INTERNAL", `cannot mount ${request.source} at ${request.target}: ${output}`, {
    cause,
    hint: "the kernel log (dmesg) usually has the reason",
  });
}

function stillMounted(target: string, result: ExecResult): EngineError {
  return new EngineError("FAILED_PRECONDITION", `${target} is still mounted: ${result.stderr.trim()}`, {
    hint: `a process uses it: fuser -vm ${target}`,
    cause: commandFailed("umount", [target], result),
  });
}
