import { ATTACHER_RULES, attachVolume, detachVolume } from "@mooring/engine";
import { defined } from "@mooring/store";
import { Command } from "commander";
import { type NamespacedOptions, openNamespace } from "../client/client.ts";
import { term } from "../options/duration.ts";
import { type Output, print, withOutput } from "../output/print.ts";
import { age, table } from "../output/table.ts";
import { claimsByHandle, withClaim } from "../volume/claims.ts";
import { handleOf, openVolume } from "../volume/find.ts";
import {
  callerOption,
  currentUser,
  holderOption,
  namespaceOption,
  VOLUME_ARGUMENT,
  withNextStep,
} from "../volume/options.ts";
import { listTickets, type TicketRow } from "../volume/tickets.ts";

const priorityOf = (type: string): number =>
  Object.entries(ATTACHER_RULES).find(([name]) => name === type)?.[1].priority ?? 0;

async function list(given: string | undefined, options: NamespacedOptions & Output): Promise<void> {
  const { store, namespace } = await openNamespace(options);
  // No tickets and no volume look alike.
  const volume = given === undefined ? undefined : await handleOf(store, namespace, given);
  const rows = await listTickets(store, volume, priorityOf);
  print(options, rows, (wide) => ticketTable(rows, wide));
}

/** The tickets as `mooring ticket list` prints them; `wide`: also who made each, and the arbiter's sentence. */
function ticketTable(rows: readonly TicketRow[], wide = false): string {
  const now = new Date();
  const header = [
    "VOLUME",
    "CLAIM",
    "ID",
    "TYPE",
    "PRIORITY",
    "NODE",
    "HOLDER",
    "SATISFIED",
    "REASON",
    "SINCE",
    "ENDS",
  ];
  const more = ({ owner, message }: TicketRow) => [
    owner === undefined ? "" : `${owner.kind} ${owner.name}`,
    message,
  ];
  return table(
    wide ? [...header, "OWNER", "MESSAGE"] : header,
    rows.map((row) => [
      ...[row.volume, row.claim ?? "", row.id, row.type, String(row.priority), row.node, row.holder],
      ...[row.satisfied ? "yes" : "no", row.reason, age(row.since, now), row.expiresAt ?? ""],
      ...(wide ? more(row) : []),
    ]),
  );
}

interface AddOptions extends NamespacedOptions, Output {
  node: string;
  id?: string;
  holder?: string;
  for?: number;
  maintenance?: boolean;
}

async function add(given: string, options: AddOptions): Promise<void> {
  const now = new Date();
  const { node, id, holder, for: milliseconds, maintenance } = options;
  const { store, volume } = await openVolume(options, given);
  const wish = {
    ...{
      volume,
      hostId: node,
      attachedBy: holder ?? currentUser(),
      disableFrontend: maintenance === true,
      queue: true,
    },
    ...defined({ attachmentID: id }),
    ...(milliseconds === undefined ? {} : { expiresAt: new Date(now.getTime() + milliseconds) }),
  };
  const ticket = await withNextStep(attachVolume(store, wish, now));
  const end = ticket.expiresAt === undefined ? "" : `, until ${ticket.expiresAt}`;
  const named = withClaim(`volume ${volume}`, await claimsByHandle(store));
  print(options, ticket, () => `ticket ${ticket.id} of ${named} for node ${node}${end}\n`);
}

interface RemoveOptions extends NamespacedOptions {
  holder?: string;
  force?: boolean;
}

async function remove(given: string, id: string, options: RemoveOptions): Promise<void> {
  const { holder, force } = options;
  const { store, volume } = await openVolume(options, given);
  const wish = { volume, attachmentID: id, attachedBy: holder ?? currentUser(), forceDetach: force === true };
  const ended = await withNextStep(detachVolume(store, wish));
  process.stdout.write(
    ended.length === 0 ? `there is no ticket ${id}\n` : `ticket ${ended.join(", ")} ended\n`,
  );
}

/** `mooring ticket add|rm|list`: where volumes are attached, and for whom. */
export function ticketCommand(): Command {
  const root = new Command("ticket").description("show and change where a volume is attached");
  const kubeconfig = ["--kubeconfig <file>", "how to reach the API server"] as const;
  const all = root.command("list").description("all tickets, or those of one volume");
  withOutput(
    all
      .argument("[volume]", VOLUME_ARGUMENT)
      .addOption(namespaceOption())
      .option(...kubeconfig),
    {
      what: "them",
      wide: true,
    },
  ).action(list);
  const one = root
    .command("add")
    .description("ask for a volume on a node; waits its turn behind other tickets")
    .argument("<volume>", VOLUME_ARGUMENT)
    .addOption(namespaceOption())
    .requiredOption("--node <id>", "node that shall have it")
    .option("--id <id>", "id of the ticket (default: longhorn-ui)")
    .addOption(holderOption())
    .option("--for <time>", "end it by itself after 30m, 2h, 7d", term)
    .option("--maintenance", "without the device: no workload may use it")
    .option(...kubeconfig);
  withOutput(one, { what: "the ticket" }).action(add);
  root
    .command("rm")
    .description("end a ticket")
    .argument("<volume>", VOLUME_ARGUMENT)
    .addOption(namespaceOption())
    .argument("<id>", "id of the ticket")
    .addOption(callerOption())
    .option("--force", "also one of another operator, or of a controller")
    .option(...kubeconfig)
    .action(remove);
  return root;
}
