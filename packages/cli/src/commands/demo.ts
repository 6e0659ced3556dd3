import { Command, Option } from "commander";
import { Progress, seconds } from "../demo/progress.ts";
import { runDemo } from "../demo/run-demo.ts";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";
import { reportError } from "../output/report-error.ts";
import { table } from "../output/table.ts";
import { stopSignal } from "../process/foreground.ts";

interface DemoOptions {
  pool: string;
  keep?: boolean;
  json?: boolean;
}

function summary(progress: Progress): string {
  const steps = table(
    ["STEP", "TIME", "RESULT"],
    progress.steps.map((entry) => [entry.step, seconds(entry.milliseconds), entry.detail]),
  );
  const proofs = table(
    ["PROOF", "", "SEEN"],
    progress.proofs.map((entry) => [entry.proof, entry.ok ? "ok" : "FAILED", entry.detail]),
  );
  const failed = progress.proofs.filter((entry) => !entry.ok).length;
  const result =
    failed === 0
      ? `${progress.proofs.length} proofs, all ok`
      : `${failed} of ${progress.proofs.length} proofs FAILED`;
  return `\n${steps}\n${proofs}\n${result}\n`;
}

async function demo(options: DemoOptions): Promise<void> {
  if (process.getuid?.() !== 0) {
    throw new CommandError("the demo makes loop devices and mounts, which needs root", {
      next: "sudo mooring demo",
    });
  }
  const out = options.json ? process.stderr : process.stdout;
  const signal = stopSignal();
  const progress = new Progress((line) => out.write(`${line}\n`), signal);
  let failure: unknown;
  try {
    const daemon = await runDemo(progress, { pool: options.pool, keep: options.keep === true, signal });
    if (options.keep) {
      out.write(`\nkept: export KUBECONFIG=${daemon.kubeconfig}; stop it with: kill ${daemon.pid}\n`);
    }
  } catch (error) {
    failure = error;
  }
  if (signal.aborted) interrupted(failure);
  const { steps, proofs, passed } = progress;
  process.stdout.write(
    options.json ? `${JSON.stringify({ passed, steps, proofs }, null, 2)}\n` : summary(progress),
  );
  if (failure !== undefined) throw failure;
  if (!passed) process.exitCode = EXIT.negative;
}

/** What the demo waited for when it was interrupted keeps this process no longer. */
function interrupted(failure: unknown): never {
  if (failure instanceof Error && failure.name !== "AbortError") reportError(failure);
  else process.stderr.write("interrupted: the demo's server has ended, and its folder is removed\n");
  process.exit(EXIT.interrupted);
}

/** `mooring demo`: the main job on real input, proved, and cleaned up. */
export function demoCommand(): Command {
  return new Command("demo")
    .description("show the main job on real storage, prove it, and clean up")
    .addOption(new Option("--pool <type>", "kind of pool").choices(["xfs", "btrfs"]).default("xfs"))
    .option("--keep", "leave everything running, for inspection")
    .option("--json", "print steps and proofs as JSON on stdout; progress goes to stderr")
    .action(demo);
}
