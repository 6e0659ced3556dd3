import {
  type AttachmentTicket,
  attachVolume,
  detachVolume,
  ticketStatus,
  type Volume,
  type VolumeAttachment,
  VolumeAttachments,
  Volumes,
} from "@mooring/engine";
import { defined, describeBytes, type ObjectStore, waitFor, withTimeLimit } from "@mooring/store";
import { Command } from "commander";
import { type ClientOptions, type NamespacedOptions, openClient } from "../client/client.ts";
import { term, timeoutOption } from "../options/duration.ts";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";
import { type Output, print, withOutput } from "../output/print.ts";
import { age, table } from "../output/table.ts";
import { type ClaimsByHandle, claimsByHandle, withClaim } from "../volume/claims.ts";
import { openVolume } from "../volume/find.ts";
import {
  callerOption,
  currentUser,
  holderOption,
  namespaceOption,
  VOLUME_ARGUMENT,
  withNextStep,
} from "../volume/options.ts";
import { explainVolume } from "../why/explain-volume.ts";
import { contextOf } from "../why/kinds.ts";
import { renderFinding } from "../why/render.ts";

async function list(options: ClientOptions & Output): Promise<void> {
  const store = await openClient(options);
  const { items } = await store.list(Volumes);
  const claims = await claimsByHandle(store);
  print(options, items, (wide) => volumeTable(items, claims, wide));
}

/** `wide`: also what is in the volume, how it is used, and what was made of it. */
function volumeTable(volumes: readonly Volume[], claims: ClaimsByHandle, wide: boolean): string {
  const now = new Date();
  const row = ({ metadata, spec, status }: Volume): string[] => [
    metadata.name,
    status?.state ?? "creating",
    status?.currentNodeID ?? "",
    describeBytes(spec.size),
    spec.pool,
    claims.get(metadata.name) ?? "",
    spec.lastAttachedBy ?? "",
    age(metadata.creationTimestamp, now),
    ...(wide ? more(spec, status) : []),
  ];
  const header = ["NAME", "STATE", "NODE", "SIZE", "POOL", "CLAIM", "HOLDER", "AGE"];
  return table(wide ? [...header, ...MORE] : header, volumes.map(row));
}

const MORE = ["CONTENT", "MODE", "HEALTH", "DEVICE", "SOURCE", "GROUP"];

function more(spec: Volume["spec"], status: Volume["status"]): string[] {
  const { fsType, accessMode, source, group } = spec;
  const from = source === undefined ? "" : `${source.kind} ${source.name}`;
  const { robustness = "unknown", device = "" } = status ?? {};
  return [fsType ?? "block", accessMode, robustness, device, from, group?.name ?? ""];
}

async function show(given: string, options: NamespacedOptions & Output): Promise<void> {
  const { store, volume: name } = await openVolume(options, given);
  const volume = await store.get(Volumes, { name });
  const explained = await explainVolume(contextOf(store), name);
  const subject = withClaim(explained.subject, await claimsByHandle(store));
  print(options, volume, () => renderFinding({ ...explained, subject }));
}

interface AttachOptions extends NamespacedOptions {
  node: string;
  id?: string;
  holder?: string;
  for?: number;
  maintenance?: boolean;
  queue?: boolean;
  timeout: number;
}

async function attach(given: string, options: AttachOptions): Promise<void> {
  const now = new Date();
  const { store, volume } = await openVolume(options, given);
  const { node, id, holder, for: milliseconds, maintenance, queue, timeout } = options;
  const wish = {
    ...{
      volume,
      hostId: node,
      attachedBy: holder ?? currentUser(),
      disableFrontend: maintenance === true,
      queue: queue === true,
    },
    ...defined({ attachmentID: id }),
    ...(milliseconds === undefined ? {} : { expiresAt: new Date(now.getTime() + milliseconds) }),
  };
  const ticket = await withNextStep(attachVolume(store, wish, now));
  await satisfied(store, volume, ticket, timeout);
  const { status } = await store.get(Volumes, { name: volume });
  const device = maintenance === true ? "for maintenance" : `as ${status?.device ?? "no device"}`;
  const named = withClaim(`volume ${volume}`, await claimsByHandle(store));
  process.stdout.write(`${named} is attached to ${node} ${device} (ticket ${ticket.id})\n`);
}

/** Until the arbiter satisfies the ticket; the ticket stays when the time is over. */
async function satisfied(
  store: ObjectStore,
  volume: string,
  { id, parameters }: AttachmentTicket,
  timeout: number,
): Promise<void> {
  let last: VolumeAttachment | undefined;
  const isSatisfied = (attachment: VolumeAttachment | undefined): boolean => {
    last = attachment;
    return attachment !== undefined && ticketStatus(attachment, id)?.satisfied === true;
  };
  const signal = withTimeLimit(timeout);
  try {
    await waitFor(store, { resource: VolumeAttachments, key: { name: volume } }, isSatisfied, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    const why = last === undefined ? undefined : ticketStatus(last, id)?.conditions[0]?.message;
    throw new CommandError(`ticket ${id} still waits: ${why ?? "the arbiter has not evaluated it yet"}`, {
      exitCode: EXIT.negative,
      next: `it keeps its place; give it up with: mooring volume detach ${volume} --id ${id}${holderFlag(parameters)}`,
    });
  }
}

/** What makes a command that of the ticket's owner, when that is not who runs it. */
function holderFlag({ lastAttachedBy = "" }: AttachmentTicket["parameters"] = {}): string {
  if (lastAttachedBy === currentUser()) return "";
  const bare = /^[\w.@-]+$/.test(lastAttachedBy);
  return ` --holder ${bare ? lastAttachedBy : `'${lastAttachedBy.replaceAll("'", "'\\''")}'`}`;
}

interface DetachOptions extends NamespacedOptions {
  id?: string;
  holder?: string;
  force?: boolean;
  all?: boolean;
}

async function detach(given: string, options: DetachOptions): Promise<void> {
  const { id, holder, force, all } = options;
  const { store, volume } = await openVolume(options, given);
  const wish = {
    ...{ volume, attachedBy: holder ?? currentUser(), forceDetach: force === true || all === true },
    ...(all === true ? { scope: "all" as const } : {}),
    ...defined({ attachmentID: id }),
  };
  const ended = await withNextStep(detachVolume(store, wish));
  process.stdout.write(ended.length === 0 ? "no ticket had to end\n" : `ended: ${ended.join(", ")}\n`);
}

/** `mooring volume list|show|attach|detach`. */
export function volumeCommand(): Command {
  const root = new Command("volume").description("show, attach and detach Mooring's own volumes");
  const kubeconfig = ["--kubeconfig <file>", "how to reach the API server"] as const;
  const all = root.command("list").description("all volumes and where they are");
  withOutput(all.option(...kubeconfig), { what: "the objects", wide: true }).action(list);
  const one = root.command("show").description("one volume and every ticket on it");
  withOutput(
    one
      .argument("<volume>", VOLUME_ARGUMENT)
      .addOption(namespaceOption())
      .option(...kubeconfig),
    {
      what: "the object",
    },
  ).action(show);
  root
    .command("attach")
    .description("open a volume on a node, and wait for it")
    .argument("<volume>", VOLUME_ARGUMENT)
    .addOption(namespaceOption())
    .requiredOption("--node <id>", "node that shall have it")
    .option("--id <id>", "id of the ticket (default: longhorn-ui)")
    .addOption(holderOption())
    .option("--for <time>", "give it back after 30m, 2h, 7d", term)
    .option("--maintenance", "without the device: no workload may use it")
    .option("--queue", "wait for those who have it elsewhere")
    .addOption(timeoutOption("2m"))
    .option(...kubeconfig)
    .action(attach);
  root
    .command("detach")
    .description("give a volume back")
    .argument("<volume>", VOLUME_ARGUMENT)
    .addOption(namespaceOption())
    .option("--id <id>", "id of the ticket (default: longhorn-ui)")
    .addOption(callerOption().conflicts("all"))
    .option("--force", "end those of others: of the --id, else of all operators and workloads")
    .option("--all", "end those of jobs, too")
    .option(...kubeconfig)
    .action(detach);
  return root;
}
