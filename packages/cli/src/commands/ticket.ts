import { ATTACHER_RULES, attachVolume, detachVolume } from "@mooring/engine";
import { defined } from "@mooring/store";
import { Command } from "commander";
import { type ClientOptions, openClient } from "../client/client.ts";
import { term } from "../options/duration.ts";
import { type Output, print, withOutput } from "../output/print.ts";
import { age, table } from "../output/table.ts";
import { findVolume } from "../volume/find.ts";
import { callerOption, currentUser, holderOption, withNextStep } from "../volume/options.ts";
import { listTickets, type TicketRow } from "../volume/tickets.ts";

const priorityOf = (type: string): number =>
  Object.entries(ATTACHER_RULES).find(([name]) => name === type)?.[1].priority ?? 0;

async function list(volume: string | undefined, options: ClientOptions & Output): Promise<void> {
  const store = await openClient(options);
  const rows = await listTickets(store, volume, priorityOf);
  // No tickets and no volume look alike.
  if (rows.length === 0 && volume !== undefined) await findVolume(store, volume);
  print(options, rows, (wide) => ticketTable(rows, wide));
}

/** The tickets as `mooring ticket list` prints them; `wide`: also who made each, and the arbiter's sentence. */
function ticketTable(rows: readonly TicketRow[], wide = false): string {
  const now = new Date();
  const header = [
    "VOLUME",
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
      ...[row.volume, row.id, row.type, String(row.priority), row.node, row.holder],
      ...[row.satisfied ? "yes" : "no", row.reason, age(row.since, now), row.expiresAt ?? ""],
      ...(wide ? more(row) : []),
    ]),
  );
}

interface AddOptions extends ClientOptions, Output {
  node: string;
  id?: string;
  holder?: string;
  for?: number;
  maintenance?: boolean;
}

async function add(volume: string, options: AddOptions): Promise<void> {
  const now = new Date();
  const { node, id, holder, for: milliseconds, maintenance } = options;
  const store = await openClient(options);
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
  print(options, ticket, () => `ticket ${ticket.id} of volume ${volume} for node ${node}${end}\n`);
}

interface RemoveOptions extends ClientOptions {
  holder?: string;
  force?: boolean;
}

async function remove(volume: string, id: string, options: RemoveOptions): Promise<void> {
  const { holder, force } = options;
  const wish = { volume, attachmentID: id, attachedBy: holder ?? currentUser(), forceDetach: force === true };
  const ended = await withNextStep(detachVolume(await openClient(options), wish));
  process.stdout.write(
    ended.length === 0 ? `there is no ticket ${id}\n` : `ticket ${ended.join(", ")} ended\n`,
  );
}

/** `mooring ticket add|rm|list`: where volumes are attached, and for whom. */
export function ticketCommand(): Command {
  const root = new Command("ticket").description("show and change where a volume is attached");
  const kubeconfig = ["--kubeconfig <file>", "how to reach the API server"] as const;
  const all = root.command("list").description("all tickets, or those of one volume");
  withOutput(all.argument("[volume]", "name of the Volume").option(...kubeconfig), {
    what: "them",
    wide: true,
  }).action(list);
  const one = root
    .command("add")
    .description("ask for a volume on a node; waits its turn behind other tickets")
    .argument("<volume>", "name of the Volume")
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
    .argument("<volume>", "name of the Volume")
    .argument("<id>", "id of the ticket")
    .addOption(callerOption())
    .option("--force", "also one of another operator, or of a controller")
    .option(...kubeconfig)
    .action(remove);
  return root;
}
