import type { ObjectStore } from "@mooring/store";
import { Command } from "commander";
import { type ClientOptions, openNamespace } from "../client/client.ts";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";
import { type Output, print, withOutput } from "../output/print.ts";
import { claimsByHandle, withClaim } from "../volume/claims.ts";
import { handleOf } from "../volume/find.ts";
import { type Finding, result } from "../why/finding.ts";
import { contextOf, explainerOf, explainNamed, SHOWN } from "../why/kinds.ts";
import { renderFinding } from "../why/render.ts";
import { withUnready } from "../why/unready.ts";

interface WhyOptions extends ClientOptions, Output {
  namespace?: string;
}

/** `KIND/NAME`, `KIND/NAMESPACE/NAME`, or without a kind: then everything that is called so. */
async function explain(target: string, store: ObjectStore, namespace: string): Promise<Finding[]> {
  const [first = "", second, third] = target.split("/");
  const context = contextOf(store);
  if (second === undefined) {
    const found = await explainNamed(context, namespace, first);
    if (found.length > 0) return found;
    throw new CommandError(`nothing in namespace ${namespace} is called ${JSON.stringify(first)}`, {
      next: `name another namespace (-n), or its kind as KIND/NAME with one of: ${SHOWN.join(", ")}`,
      exitCode: EXIT.negative,
    });
  }
  const explainer = explainerOf(first);
  if (explainer === undefined) {
    const found = third === undefined ? await explainNamed(context, first, second) : [];
    if (found.length > 0) return found;
    throw unclear(target);
  }
  const [within, name] = third === undefined ? [namespace, second] : [second, third];
  if (!NAMED_BY_HANDLE.has(explainer)) return [await explainer(context, within, name)];
  const handle = await handleOf(store, within, third === undefined ? name : `${within}/${name}`).catch(
    // That it is missing is what the explainer says.
    (error: unknown) => {
      if (error instanceof CommandError) return name;
      throw error;
    },
  );
  return [await explainer(context, within, handle)];
}

/** Kinds whose objects have the handle of a volume as their name: a claim leads to them, too. */
const NAMED_BY_HANDLE = new Set(["volume", "volumeattachment"].map(explainerOf));

function unclear(target: string): CommandError {
  return new CommandError(`cannot explain ${JSON.stringify(target)}`, {
    next: `name it as KIND/NAME or KIND/NAMESPACE/NAME with one of: ${SHOWN.join(", ")}; or give just the name`,
  });
}

async function why(target: string, options: WhyOptions): Promise<void> {
  const parts = target.split("/");
  if (parts.includes("") || parts.length > 3) throw unclear(target);
  const { store, namespace } = await openNamespace(options);
  const plain = await withUnready(store, await explain(target, store, namespace));
  const claims = await claimsByHandle(store);
  const found = plain.map((root) => ({ ...root, subject: withClaim(root.subject, claims) }));
  const [only] = found;
  const shown = found.length === 1 ? only : found;
  print(options, shown, () => found.map(renderFinding).join("\n"));
  if (found.some((root) => result(root) !== "ok")) process.exitCode = EXIT.negative;
}

/** `mooring why [KIND/]NAME`: what an object waits for, down to the ticket or the error. */
export function whyCommand(): Command {
  const command = new Command("why")
    .description("say what an object waits for, down to the ticket or the error")
    .argument(
      "<[kind/]name>",
      `an object by its name, or as KIND/NAME or KIND/NAMESPACE/NAME with one of: ${SHOWN.join(", ")}`,
    )
    .option("-n, --namespace <name>", "namespace of the object (default: the kubeconfig's)")
    .option("--kubeconfig <file>", "how to reach the API server");
  return withOutput(command, { what: "the tree" }).action(why);
}
