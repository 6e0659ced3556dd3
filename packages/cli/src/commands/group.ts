import { VolumeGroupRestores } from "@mooring/sidecars";
import { defined, isAlreadyExists, VolumeGroupSnapshots } from "@mooring/store";
import { Command, Option } from "commander";
import { type ClientOptions, openNamespace } from "../client/client.ts";
import { renderGroup, renderList } from "../group/render.ts";
import { listGroups, showGroup } from "../group/report.ts";
import { collectPair, createGroupRestore, renderRestore, untilComplete } from "../group/restore.ts";
import { createGroupRevert, renderRevert, untilReverted } from "../group/revert.ts";
import { createGroupSnapshot, selectorOf, untilGone, untilReady } from "../group/snapshot.ts";
import { timeoutOption } from "../options/duration.ts";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";

interface Shared extends ClientOptions {
  /** Default: that of the kubeconfig's context. */
  namespace?: string;
  json?: boolean;
}
interface Waiting extends Shared {
  wait: boolean;
  /** Milliseconds. */
  timeout: number;
}

function print(options: Shared, value: unknown, text: () => string): void {
  process.stdout.write(options.json === true ? `${JSON.stringify(value, null, 2)}\n` : text());
}

async function list(options: Shared & { allNamespaces?: boolean }): Promise<void> {
  const { store, namespace } = await openNamespace(options);
  const groups = await listGroups(store, options.allNamespaces === true ? undefined : namespace);
  print(options, groups, () => renderList(groups, new Date()));
}

async function show(name: string, options: Shared): Promise<void> {
  const { store, namespace } = await openNamespace(options);
  const group = await showGroup(store, namespace, name);
  print(options, group, () => renderGroup(group));
  if (!group.ready) process.exitCode = EXIT.negative;
}

interface SnapshotOptions extends Waiting {
  selector: string;
  class?: string;
}

async function snapshot(name: string, options: SnapshotOptions): Promise<void> {
  const { class: className, timeout } = options;
  const selector = selectorOf(options.selector);
  const { store, namespace } = await openNamespace(options);
  const wish = { namespace, name, selector, ...defined({ className }) };
  await createGroupSnapshot(store, wish).catch(takenName(`mooring group delete ${name}`));
  if (options.wait) await untilReady(store, namespace, name, timeout / 1000);
  const group = await showGroup(store, namespace, name);
  print(options, group, () => renderGroup(group));
}

interface RestoreOptions extends Waiting {
  from: string;
  template?: string;
  class?: string;
  size: Record<string, string>;
  name: Record<string, string>;
}

async function restore(name: string, options: RestoreOptions): Promise<void> {
  const { class: className, from, template, timeout } = options;
  const { store, namespace } = await openNamespace(options);
  const created = await createGroupRestore(store, {
    ...{ namespace, name, from, sizes: options.size, names: options.name },
    ...defined({ template, className }),
  }).catch(takenName(`mooring group delete ${name} --restore`));
  const done = options.wait ? await untilComplete(store, namespace, name, timeout / 1000) : created;
  const shown = done ?? created;
  print(options, shown, () => renderRestore(shown));
}

async function revert(name: string, options: Waiting & { from: string }): Promise<void> {
  const { from, timeout } = options;
  const { store, namespace } = await openNamespace(options);
  const wish = { namespace, name, from };
  const next = `kubectl delete volumegrouprevert ${name} -n ${namespace}`;
  const created = await createGroupRevert(store, wish).catch(takenName(next));
  const done = options.wait ? await untilReverted(store, namespace, name, timeout / 1000) : created;
  const shown = done ?? created;
  print(options, shown, () => renderRevert(shown));
}

interface WaitOptions extends Shared {
  restore?: boolean;
  /** Milliseconds. */
  timeout: number;
}

/** Of an object that is there: one that nobody has made is not waited for. */
async function wait(name: string, options: WaitOptions): Promise<void> {
  const { timeout } = options;
  const { store, namespace } = await openNamespace(options);
  if (options.restore === true) {
    const present = await store.get(VolumeGroupRestores, { namespace, name });
    const done = (await untilComplete(store, namespace, name, timeout / 1000)) ?? present;
    return print(options, done, () => renderRestore(done));
  }
  await store.get(VolumeGroupSnapshots, { namespace, name });
  await untilReady(store, namespace, name, timeout / 1000);
  const group = await showGroup(store, namespace, name);
  print(options, group, () => renderGroup(group));
}

/** Rethrows; what a person does about a name that is taken depends on what has it. */
const takenName =
  (command: string) =>
  (error: unknown): never => {
    if (!isAlreadyExists(error)) throw error;
    throw new CommandError((error as Error).message, {
      next: `choose another name, or take that one away: ${command}`,
      exitCode: EXIT.negative,
    });
  };

async function remove(name: string, options: Waiting & { restore?: boolean }): Promise<void> {
  const { timeout } = options;
  const { store, namespace } = await openNamespace(options);
  if (options.restore === true) {
    const left = await store.delete(VolumeGroupRestores, { namespace, name });
    return print(options, left, () => `${namespace}/${name} deleted; claims that it has made stay\n`);
  }
  const left = await store.delete(VolumeGroupSnapshots, { namespace, name });
  if (options.wait) await untilGone(store, namespace, name, timeout / 1000);
  const what = options.wait ? "deleted" : "is being deleted";
  print(options, left, () => `${namespace}/${name} ${what}; claims that were restored from it stay\n`);
}

const shared = (command: Command): Command =>
  command
    .option("-n, --namespace <name>", "namespace of the objects (default: the kubeconfig's)")
    .option("--kubeconfig <file>", "how to reach the API server")
    .option("--json", "print the answer as JSON");

const patient = (command: Command): Command => shared(command).addOption(timeoutOption("5m"));

const waiting = (command: Command): Command =>
  patient(command).option("--no-wait", "return when the wish is stored");

/** `CLAIM=VALUE`, as often as there are claims. */
const pairsOption = (flags: string, text: string, example: string): Option =>
  new Option(flags, `${text}; repeatable`)
    .argParser((pair: string, before: Record<string, string>) => collectPair(pair, before, example))
    .default({}, "none");

/** `mooring group ...`: snapshots of several claims at one moment, and all of them back at once. */
export function groupCommand(): Command {
  const group = new Command("group").description(
    "snapshots of several claims at one moment, and their restore",
  );
  shared(group.command("list").alias("ls").description("list group snapshots"))
    .option("-A, --all-namespaces", "of all namespaces")
    .action(list);
  shared(
    group.command("show").alias("describe").description("one group snapshot: members, barrier, restores"),
  )
    .argument("<name>", "the group snapshot")
    .action(show);
  const snapshots = group.command("snapshot").description("group snapshots");
  waiting(snapshots.command("create").description("cut all claims with these labels at one moment"))
    .argument("<name>", "name of the new group snapshot")
    .requiredOption("-l, --selector <labels>", "which claims: 'app=db,tier in (a,b)'")
    .option("--class <name>", "VolumeGroupSnapshotClass (default: the driver's default class)")
    .action(snapshot);
  waiting(group.command("restore").description("make one claim per member of a group snapshot"))
    .argument("<name>", "name of the new restore")
    .requiredOption("--from <name>", "the group snapshot")
    .option("--template <text>", "names of the claims (default: {{claim}}-{{restore}})")
    .option("--class <name>", "StorageClass of all claims (default: that of each source claim)")
    .addOption(
      pairsOption("--size <claim=size>", "a larger size for the claim restored from this one", "data=10Gi"),
    )
    .addOption(
      pairsOption("--name <claim=name>", "another name for the claim restored from this one", "data=copy"),
    )
    .action(restore);
  waiting(
    group
      .command("revert")
      .description("put all members of a group snapshot back in place, or none; newer writes are lost"),
  )
    .argument("<name>", "name of the new revert")
    .requiredOption("--from <name>", "the group snapshot")
    .action(revert);
  patient(group.command("wait").description("wait until a group snapshot is ready, or a restore complete"))
    .argument("<name>", "the group snapshot, or with --restore the restore")
    .option("--restore", "wait for the VolumeGroupRestore of this name")
    .action(wait);
  waiting(group.command("delete").alias("rm").description("delete a group snapshot and its members"))
    .argument("<name>", "the group snapshot, or with --restore the restore")
    .option("--restore", "delete the VolumeGroupRestore of this name; its claims stay")
    .action(remove);
  return group;
}
