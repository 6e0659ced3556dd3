import { Command } from "commander";
import { type ClientOptions, openNamespace } from "../client/client.ts";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";
import { type Output, print, withOutput } from "../output/print.ts";
import { type Finding, result } from "../why/finding.ts";
import { contextOf, explainerOf, explainNamed, SHOWN } from "../why/kinds.ts";
import { renderFinding } from "../why/render.ts";
import { withUnready } from "../why/unready.ts";

interface WhyOptions extends ClientOptions, Output {
  namespace?: string;
}

/** `KIND/NAME`, or just a name: then everything that is called so. */
async function explain(target: string, options: WhyOptions): Promise<Finding[]> {
  const [first = "", second, ...rest] = target.split("/");
  const explainer = explainerOf(first);
  const isWrong =
    second === undefined ? first === "" : explainer === undefined || second === "" || rest.length > 0;
  if (isWrong) {
    throw new CommandError(`cannot explain ${JSON.stringify(target)}`, {
      next: `name it as KIND/NAME with one of: ${SHOWN.join(", ")}; or give just the name`,
    });
  }
  const { store, namespace } = await openNamespace(options);
  if (second !== undefined && explainer !== undefined)
    return withUnready(store, [await explainer(contextOf(store), namespace, second)]);
  const found = await explainNamed(contextOf(store), namespace, first);
  if (found.length > 0) return withUnready(store, found);
  throw new CommandError(`nothing in namespace ${namespace} is called ${JSON.stringify(first)}`, {
    next: `name another namespace (-n), or its kind as KIND/NAME with one of: ${SHOWN.join(", ")}`,
    exitCode: EXIT.negative,
  });
}

async function why(target: string, options: WhyOptions): Promise<void> {
  const found = await explain(target, options);
  const [only] = found;
  const shown = found.length === 1 ? only : found;
  print(options, shown, () => found.map(renderFinding).join("\n"));
  if (found.some((root) => result(root) !== "ok")) process.exitCode = EXIT.negative;
}

/** `mooring why [KIND/]NAME`: what an object waits for, down to the ticket or the error. */
export function whyCommand(): Command {
  const command = new Command("why")
    .description("say what an object waits for, down to the ticket or the error")
    .argument("<[kind/]name>", `an object by its name, or as KIND/NAME with one of: ${SHOWN.join(", ")}`)
    .option("-n, --namespace <name>", "namespace of the object (default: the kubeconfig's)")
    .option("--kubeconfig <file>", "how to reach the API server");
  return withOutput(command, { what: "the tree" }).action(why);
}
