import { Command } from "commander";
import { EXIT } from "./output/exit-codes.ts";
import { reportError } from "./output/report-error.ts";
import { unprintable } from "./output/unprintable.ts";
import { VERSION } from "./process/version.ts";

/** Also for the commands of a command: their wrong arguments end with the same code. */
function inherit(parent: Command, command: Command, path: string): void {
  command.copyInheritedSettings(parent).showHelpAfterError(`(see ${path} --help)`);
  for (const child of command.commands) inherit(command, child, `${path} ${child.name()}`);
}

/**
 * A reader that has seen enough (`| head`) ends nothing, and what is under way least of all. Nor does a stderr that cannot be
 * written, on a full disk say: there is nowhere left to report that.
 */
function outliveReaders(): void {
  process.stderr.on("error", () => {});
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // Who serves goes on, and listens as well.
    if (error.code === "EPIPE" || process.stdout.listenerCount("error") > 1) return;
    process.exitCode = reportError(unprintable(error));
  });
}

/** Reports an error with the classes of the bundle that has thrown it: the commands that serve have their own. */
let report = reportError;

async function serving() {
  const commands = await import("./commands/serving.ts");
  report = commands.reportError;
  await commands.serveSleepers();
  commands.saveMemory();
  return commands;
}

/** What makes each command. Loaded when it is asked for: most are small, and need nothing of what `up` needs. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  up: async () => (await serving()).upCommand(),
  node: async () => (await serving()).nodeCommand(),
  controller: async () => (await serving()).controllerCommand(),
  driver: async () => (await serving()).driverCommand(),
  demo: async () => (await import("./commands/demo.ts")).demoCommand(),
  status: async () => (await import("./commands/status.ts")).statusCommand(),
  why: async () => (await import("./commands/why.ts")).whyCommand(),
  doctor: async () => (await import("./commands/doctor.ts")).doctorCommand(),
  volume: async () => (await import("./commands/volume.ts")).volumeCommand(),
  ticket: async () => (await import("./commands/ticket.ts")).ticketCommand(),
  group: async () => (await import("./commands/group/index.ts")).groupCommand(),
  import: async () => (await import("./commands/import.ts")).importCommand(),
  state: async () => (await import("./commands/state.ts")).stateCommand(),
  version: async () => (await import("./commands/version.ts")).versionCommand(),
  token: async () => (await serving()).tokenCommand(),
  completion: async () => (await import("./commands/completion.ts")).completionCommand(),
};

/** Those of which anything may be printed or run: all of them, unless the first argument is the name of one. */
function asked([first = ""]: readonly string[]): (() => Promise<Command>)[] {
  const needsAll = first === "completion" || !Object.hasOwn(COMMANDS, first);
  return needsAll ? Object.values(COMMANDS) : [COMMANDS[first] as () => Promise<Command>];
}

/** Help was printed, or what is wrong with the arguments. No exit at once: whether that could be written shows a moment later. */
class Ended extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super("ended");
    this.exitCode = exitCode;
  }
}

async function program(): Promise<Command> {
  const root = new Command("mooring")
    .description("Container storage from one process")
    .version(VERSION)
    .showHelpAfterError("(see mooring --help)")
    .exitOverride(({ exitCode }) => {
      throw new Ended(exitCode === 0 ? EXIT.ok : EXIT.usage);
    });
  for (const make of asked(process.argv.slice(2))) {
    const command = await make();
    inherit(root, command, `mooring ${command.name()}`);
    root.addCommand(command);
  }
  return root;
}

outliveReaders();
try {
  await (await program()).parseAsync();
} catch (error) {
  process.exitCode = error instanceof Ended ? error.exitCode : report(error);
}
